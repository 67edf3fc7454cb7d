"""Side-by-side speed against peers, in one run, printed as ratios: ``python -m benchmarks.<name>``."""
