"""Kernels on raw arrays for operations that take more than a few calls of the array library."""
