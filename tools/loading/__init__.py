"""The bounded load test: `make load`.

`server` injects faults, `plan` says which queues there are and who works on them, `workers` make traffic and note in
journals what they were told, `verdicts` say what came of it.
"""
