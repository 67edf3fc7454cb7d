"""What a trainer is at one moment, to one file and back."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

from rlgrad.data.mixtures import GaussianMixture
from rlgrad.gan.config import GANConfig
from rlgrad.gan.data import make_data
from rlgrad.gan.sources import RememberedSource, Source
from rlgrad.training.checkpoint import CheckpointError, load_checkpoint

if TYPE_CHECKING:
    from rlgrad.gan.trainer import GANTrainer

_PARTS = ("data", "generator", "discriminator", "optimizer_g", "optimizer_d", "augmentation", "evaluator")


def state_of(self: GANTrainer) -> dict[str, Any]:
    """All that decides the rest of the run: settings, parameters, optimizers, generators, position."""
    return {
        "algorithm": "gan",
        "config": asdict(self.config),
        "optimizer": self.optimizer_options,
        "iteration": self.iteration,
        "d_steps": self.d_steps,
        "average": None if self.average is None else self.average.state_dict(),
        "rngs": {name: rng.bit_generator.state for name, rng in self.rngs.items()},
        **{part: getattr(self, part).state_dict() for part in _PARTS},
    }


def restore_state(self: GANTrainer, state: Mapping[str, Any]) -> None:
    """Continue from what :meth:`state_dict` gave.

    Raises:
        ValueError: the state was saved with other settings; the message names the first that differs.
    """
    saved = GANConfig(**state["config"])
    for field in fields(GANConfig):
        given, own = getattr(saved, field.name), getattr(self.config, field.name)
        if given != own:
            raise ValueError(
                f"the state was saved with {field.name}={given!r} and this trainer has {own!r}; "
                "make the trainer with the saved settings, or use GANTrainer.load(path)"
            )
    for part in _PARTS:
        getattr(self, part).load_state_dict(state[part])
    for name, rng in self.rngs.items():
        rng.bit_generator.state = state["rngs"][name]
    if self.average is not None:
        self.average.load_state_dict(state["average"])
    self.iteration, self.d_steps = int(state["iteration"]), int(state["d_steps"])


def load_trainer(
    cls: type[GANTrainer],
    path: str | os.PathLike[str],
    data: Source | None = None,
    device: str = "cpu",
    to_train: bool = True,
) -> GANTrainer:
    """The trainer that :meth:`save` wrote, ready to continue.

    Args:
        path: a file written by :meth:`save`; reading it never runs code.
        data: needed only to train on where the data was made from arrays, which a checkpoint does not hold.
        device: where the networks shall live.
        to_train: ``False`` to draw samples alone: then no data is read, and it need not be there any more.

    Raises:
        CheckpointError: no such file, or it is no checkpoint of a GAN.
        ValueError: the data is needed, or is not what was trained on.
    """
    state = load_checkpoint(path)
    if state.get("algorithm") != "gan":
        raise CheckpointError(
            f"{path} holds a checkpoint of {state.get('algorithm')!r} and one of 'gan' was expected; "
            "load it with the class that saved it"
        )
    saved = state["data"]
    source: Source | GaussianMixture
    if data is not None:
        source = data
    elif saved["kind"] == "mixture":
        source = GaussianMixture(saved["centers"], saved["sigma"])
    elif not to_train:
        source = RememberedSource(saved)
    elif saved["name"] is None:
        raise ValueError(f"the GAN in {path} was trained on arrays, which a checkpoint does not hold: pass data=")
    else:
        source = make_data(saved["name"], **saved["options"])
    trainer = cls(GANConfig(**state["config"]), source, device=device, optimizer=state["optimizer"])
    trainer.load_state_dict(state)
    return trainer
