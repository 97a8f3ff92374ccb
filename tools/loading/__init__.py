"""The bounded load test: `make load`. server injects faults, workers make traffic, verdict says what came of it."""
