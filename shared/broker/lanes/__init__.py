"""To-one queues: messages in lanes, one of a lane in flight at a time."""
