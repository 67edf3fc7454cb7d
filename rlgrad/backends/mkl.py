"""Intel's MKL: NumPy may use it, rlgrad does not know."""


def is_available() -> bool:
    """Whether it is there for rlgrad to use: never."""
    return False
