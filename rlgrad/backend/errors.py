"""Wording that every error message shares."""

from collections.abc import Iterable


def nearest(name: str, choices: Iterable[str]) -> str:
    """Suggest the closest of ``choices`` as a sentence to append to an error, or nothing when none is close.

    What dotted names have in common before their last dot does not count, and initials stand for words.

    Example:
        >>> nearest("lerning_rate", ["gamma", "learning_rate"])
        " Did you mean 'learning_rate'?"
        >>> nearest("agent.lr", ["agent.name", "agent.learning_rate"])
        " Did you mean 'agent.learning_rate'?"
    """
    import difflib

    stem, dot, last = str(name).rpartition(".")
    known = {str(choice).removeprefix(stem + dot): str(choice) for choice in choices}
    matches = [other for other in known if "_" in other and "".join(word[:1] for word in other.split("_")) == last]
    matches += difflib.get_close_matches(last, known, n=1, cutoff=0.5)
    return f" Did you mean {known[matches[0]]!r}?" if matches else ""
