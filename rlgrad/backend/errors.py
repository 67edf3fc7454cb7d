"""Wording that every error message shares."""

from collections.abc import Iterable


def nearest(name: str, choices: Iterable[str]) -> str:
    """Suggest the closest of ``choices`` as a sentence to append to an error, or nothing when none is close.

    Example:
        >>> nearest("lerning_rate", ["gamma", "learning_rate"])
        " Did you mean 'learning_rate'?"
    """
    import difflib

    matches = difflib.get_close_matches(str(name), [str(choice) for choice in choices], n=1, cutoff=0.5)
    return f" Did you mean {matches[0]!r}?" if matches else ""
