"""What came of the traffic, a module per kind of queue: was anything lost, or doubled beyond the promise."""
