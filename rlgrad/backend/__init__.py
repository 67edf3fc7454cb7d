"""Arrays, dtypes, devices and random generators: what the tape computes with."""
