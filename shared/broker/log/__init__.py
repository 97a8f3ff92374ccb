"""queue/v1: a partitioned log. Enqueue, poll, commit; ordered within a partition, parallel across."""
