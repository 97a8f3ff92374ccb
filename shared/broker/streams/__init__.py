"""To-many queues: one stored message, any number of consumers, each at its own place in the stream."""
