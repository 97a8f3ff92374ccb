"""What makes traffic, a module per kind of queue. Workers note what they are told, and may be killed at any moment."""
