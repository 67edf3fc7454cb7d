"""What is wrong with a training, told from figures; each function gives ``None`` while nothing is."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["covered", "fall", "shortfall", "vanishing"]

_CURE = "train longer, use wider networks, or loss=relativistic with r1_gamma and r2_gamma"


def covered(figures: Mapping[str, float], floor: Mapping[str, float]) -> float:
    """How much of the data the samples cover, 0 to 1: of a mixture, the share of modes times that of good samples."""
    if "modes" in figures:
        return figures["high_quality"] * figures["modes"] / floor["modes"]
    return figures["coverage"]


def fall(best: float, latest: float) -> str | None:
    """Coverage was better before.

    Args:
        best: the highest :func:`covered` so far.
        latest: the present one.
    """
    if best <= 0.2 or latest >= best / 2:
        return None
    return (
        f"coverage fell from {best:.2f} to {latest:.2f}: the generator is collapsing; raise the penalty (r1_gamma, "
        "r2_gamma), lower learning_rate, or go back to an earlier checkpoint"
    )


def vanishing(accuracy: tuple[float, float], gradient_norm: float) -> str | None:
    """The generator has nothing to learn from.

    Args:
        accuracy: the discriminator's, on real and on generated samples.
        gradient_norm: of the generator's latest gradient.
    """
    if not (min(accuracy) > 0.999 and gradient_norm < 1e-4):
        return None
    return (
        "the discriminator is always right and the generator's gradient has vanished: use loss=relativistic or "
        "non_saturating, or a penalty on the discriminator"
    )


def shortfall(figures: Mapping[str, float], floor: Mapping[str, float]) -> str | None:
    """A finished generator is far from the data.

    Args:
        figures: of its samples.
        floor: the same figures of real data.

    Example:
        >>> shortfall({"modes": 1, "high_quality": 0.9, "reverse_kl": 2.08}, {"modes": 8, "high_quality": 0.989})
        '7 of 8 modes are missing: train longer, use wider networks, or loss=relativistic with r1_gamma and r2_gamma'
    """
    found = []
    if "modes" in figures:
        if missing := round(floor["modes"] - figures["modes"]):
            found.append(f"{missing} of {floor['modes']:.0f} modes are missing")
        elif figures["reverse_kl"] > 0.1:
            found.append(f"the modes get uneven shares (reverse KL {figures['reverse_kl']:.2f})")
    for name in ("high_quality", "coverage", "recall", "class_fidelity"):
        if name in figures and figures[name] < floor[name] / 2:
            found.append(f"{name} is {figures[name]:.2f}, and {floor[name]:.2f} for real data")
    return f"{'; '.join(found)}: {_CURE}" if found else None
