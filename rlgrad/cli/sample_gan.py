"""``rlgrad sample``: pictures or arrays from a trained generator."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rlgrad.cli.app import EXIT_USAGE, UsageError, checkpoint_path, fail, mistakes_of_the_user
from rlgrad.cli.assignments import plain_settings
from rlgrad.training import encode_png

USAGE = """usage: sample checkpoint=FILE [n=64] [out=samples.png] [seed=0] [label=CLASS]

checkpoint  a run's folder, or the checkpoint in it
n           how many samples
out         .png for a picture, .npy for the array of samples
seed        of the latents: equal seeds give equal samples
label       what a conditional generator shall make; each class in turn when not given
"""


def sample(arguments: Sequence[str]) -> int:
    """Write samples of a checkpoint's generator as ``name=value`` arguments say; returns the exit code."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(USAGE, end="")
        return 0 if arguments else EXIT_USAGE
    try:
        _sample(_settings(arguments))
    except UsageError as error:
        return fail(str(error), EXIT_USAGE)
    return 0


def _settings(arguments: Sequence[str]) -> dict[str, str]:
    defaults = {"checkpoint": "", "n": "64", "out": "samples.png", "seed": "0", "label": ""}
    settings = plain_settings(arguments, defaults, whole=["n", "seed", "label"])
    if not settings["checkpoint"]:
        raise UsageError("which checkpoint? Give checkpoint=FILE, a run's folder or the checkpoint in it.")
    if Path(settings["out"]).suffix not in (".png", ".npy"):
        raise UsageError(f"out={settings['out']}: the file must end in .png (a picture) or .npy (the samples).")
    return settings


def _sample(settings: dict[str, str]) -> None:
    from rlgrad.gan import GANTrainer, picture_grid, scatter_points

    n, out = int(settings["n"]), Path(settings["out"])
    with mistakes_of_the_user():
        checkpoint = checkpoint_path(settings["checkpoint"], "checkpoint")
        trainer = GANTrainer.load(checkpoint, to_train=False)
        latent = np.random.default_rng(int(settings["seed"])).standard_normal((n, trainer.config.latent_dim))
        labels = np.full(n, int(settings["label"])) if settings["label"] else None
        if labels is not None and trainer.config.conditional == "none":
            raise ValueError("label= is for conditional generators, and this one was trained without labels.")
        if labels is not None and labels[0] >= trainer.data.num_classes:
            raise ValueError(f"label={labels[0]}: the classes are 0 to {trainer.data.num_classes - 1}.")
        samples = trainer.sample(n, labels, latent.astype(np.float32))
        if out.suffix == ".png" and samples.ndim == 2 and samples.shape[1] != 2:
            raise ValueError(f"samples of {samples.shape[1]} numbers cannot be drawn: write them with out=FILE.npy.")
        real = None
        if out.suffix == ".png" and samples.ndim == 2:
            data = GANTrainer.load(checkpoint).data
            real = data.restore(data.batch(2500)[0])
    try:
        if out.suffix == ".npy":
            np.save(out, samples)
        else:
            picture = picture_grid(samples) if real is None else scatter_points(samples, real)
            out.write_bytes(encode_png(picture))
    except OSError as error:
        raise UsageError(f"out={out} cannot be written: {error.strerror or error}.") from error
    print(f"{n} samples: {out}")
