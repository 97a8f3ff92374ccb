"""What operations cost in time, as ratios inside one run: `make bench`, or `python -m bench log cold`."""
