"""Apple's GPUs, which are not used."""


def is_available() -> bool:
    """Whether it is there for rlgrad to use: never."""
    return False


def is_built() -> bool:
    """Whether rlgrad is made for it: no."""
    return False


def is_macos_or_newer(major: int, minor: int) -> bool:
    """Whether this is a macOS whose GPU could be used: never."""
    return False
