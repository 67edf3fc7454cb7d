"""OpenMP, which rlgrad's own code does not use."""


def is_available() -> bool:
    """Whether it is there for rlgrad to use: never."""
    return False
