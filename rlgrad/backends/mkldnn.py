"""Intel's oneDNN, which is not used."""

enabled = True
deterministic = False


def is_available() -> bool:
    """Whether it is there for rlgrad to use: never."""
    return False
