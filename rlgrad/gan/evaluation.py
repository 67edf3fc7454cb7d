"""How good a generator is, how the game stands, and what is wrong when it goes wrong."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from rlgrad import Tensor, nn
from rlgrad.gan.diagnosis import covered, fall, shortfall, vanishing
from rlgrad.gan.judge import Judge, frechet_distance
from rlgrad.gan.losses import GANLoss
from rlgrad.gan.metrics import EVALUATION_SAMPLES, mode_coverage
from rlgrad.gan.neighbours import COPIES_OF_NEW, neighbourhood_figures, share_of_copies
from rlgrad.gan.sources import ArraySource, MixtureSource, Source
from rlgrad.gan.viz import picture_grid, scatter, scatter_points
from rlgrad.nn.utils import get_total_norm
from rlgrad.training.metrics import MetricLogger
from rlgrad.training.progress import Progress

if TYPE_CHECKING:
    from rlgrad.gan.trainer import GANTrainer

_MOST = 2500
"""How many samples are compared at most: distances between all pairs are in memory at once."""
_FEWEST = 8
_STEPS = 8
"""Rows of pictures, and samples on the way from one latent to another."""
_MOST_COLUMNS = 20


class Evaluator:
    """Figures and pictures of a trainer's samples, which depend on what the data is.

    A mixture's known modes are counted: ``modes``, ``high_quality``, ``reverse_kl``. Samples of anything else are
    compared with held-out data, or with half of the data where none is held out, by nearest neighbours: ``precision``,
    ``recall``, ``density``, ``coverage``, ``copies``; where there are labels, a classifier trained here adds
    ``feature_fid`` and, for a conditional generator, ``class_fidelity``. :meth:`floor` gives the same figures of real
    data against real data, the best that can be asked for.

    Args:
        source: the data.
        conditional: whether the generator is told what to make.

    Raises:
        ValueError: there is too little data to compare with.
    """

    def __init__(self, source: Source, conditional: bool) -> None:
        self.source, self.conditional = source, conditional
        if isinstance(source, ArraySource):
            self._reference, self._others = _apart(source)
        self._judge: Judge | None = None
        self._best = self._latest = 0.0
        self._floor: dict[str, float] | None = None
        self._ill = False
        self._latest_logits: tuple[Tensor, Tensor, GANLoss] | None = None
        self._right = (math.nan, math.nan)
        self._norm = math.nan

    def watch(self, real_logits: Tensor, fake_logits: Tensor, loss: GANLoss) -> None:
        """Note what the discriminator said of the latest batch."""
        self._latest_logits = real_logits.detach(), fake_logits.detach(), loss

    def figures(self, generator: nn.Module, discriminator: nn.Module) -> dict[str, float]:
        """How the game stands: the discriminator's accuracy, and the norms of the latest gradients."""
        if self._latest_logits is not None:
            real, fake, loss = self._latest_logits
            border = loss.border(real, fake)
            self._right = float((real > border).float().mean()), float((fake < border).float().mean())
        self._norm, other = (
            float(get_total_norm([p.grad for p in net.parameters() if p.grad is not None]))
            for net in (generator, discriminator)
        )
        return {
            "discriminator/accuracy_real": self._right[0],
            "discriminator/accuracy_fake": self._right[1],
            "gradient_norm/generator": self._norm,
            "gradient_norm/discriminator": other,
        }

    def evaluate(self, trainer: GANTrainer, n: int | None = None) -> dict[str, float]:
        """The figures of ``n`` fresh samples; by default as many as published figures, or the held-out data, have."""
        source = self.source
        if isinstance(source, MixtureSource):
            mixture = source.mixture
            found = mode_coverage(trainer.sample(n or EVALUATION_SAMPLES), mixture.centers, mixture.sigma)
            return {"modes": found.modes, "high_quality": found.high_quality, "reverse_kl": found.reverse_kl}
        n = n or len(self._reference)
        labels = np.arange(n) % source.num_classes if self.conditional else None
        return self.compare(trainer.sample(n, labels), labels)

    def floor(self) -> dict[str, float]:
        """The figures of real data: as many training samples as are compared with, none of them among those."""
        source = self.source
        if self._floor is None and isinstance(source, MixtureSource):
            self._floor = {"modes": source.mixture.modes, "high_quality": 1 - math.exp(-4.5), "reverse_kl": 0.0}
        elif self._floor is None:
            assert isinstance(source, ArraySource)
            labels = source.labels[self._others] if self.conditional and source.labels is not None else None
            self._floor = self.compare(source.samples[self._others], labels)
            if "copies" in self._floor:  # training samples copy themselves; of held-out ones these do by definition
                self._floor["copies"] = COPIES_OF_NEW
        return dict(self._floor)

    def compare(self, samples: np.ndarray, labels: np.ndarray | None = None) -> dict[str, float]:
        """The figures of any samples against those that are compared with.

        Args:
            samples: (n, *shape), in the data's units.
            labels: (n,), what they were meant to show.
        """
        source = self.source
        assert isinstance(source, ArraySource)
        figures = dict(vars(neighbourhood_figures(samples, self._reference)))
        if source.held_out is not None:
            figures["copies"] = share_of_copies(samples, source.samples, source.held_out)
        if source.labels is not None and source.is_image:
            if self._judge is None:
                self._judge = Judge(source.samples, source.labels)
            features, real = self._judge.features(samples), self._judge.features(self._reference)
            figures["feature_fid"] = frechet_distance(features, real)
            if labels is not None:
                figures["class_fidelity"] = float((self._judge.classify(samples) == labels).mean())
        return figures

    def summary(self, figures: dict[str, float]) -> str:
        """Figures in words, with real data's beside them."""
        if isinstance(self.source, MixtureSource):
            return (
                f"Evaluation: {figures['modes']:.0f} of {self.source.mixture.modes} modes, "
                f"{100 * figures['high_quality']:.1f} % high quality, reverse KL {figures['reverse_kl']:.4f}"
            )
        floor = self.floor()
        lines = [
            f"  {name}: {value:.4g}" + (f" ({floor[name]:.4g})" if name in floor else "")
            for name, value in figures.items()
        ]
        return "\n".join(["Evaluation (and what real data get):", *lines])

    def picture(self, trainer: GANTrainer, n: int | None = None) -> np.ndarray:
        """A picture of samples from latents that are the same at every call, (height, width, 3), uint8.

        A conditional generator's classes stand in columns.

        Raises:
            ValueError: samples are neither images nor points in the plane.
        """
        source = self.source
        columns = source.num_classes if self.conditional and source.num_classes <= _MOST_COLUMNS else _STEPS
        n = n or (EVALUATION_SAMPLES if len(source.shape) == 1 else _STEPS * columns)
        latent = np.random.default_rng(0).standard_normal((n, trainer.config.latent_dim), dtype=np.float32)
        samples = trainer.sample(n, latent=latent)
        if isinstance(source, MixtureSource):
            return scatter(samples, source.mixture)
        assert isinstance(source, ArraySource)
        return picture_grid(samples, min(columns, n)) if source.is_image else scatter_points(samples, source.samples)

    def report(self, trainer: GANTrainer, logger: MetricLogger | None, progress: Progress) -> None:
        """Evaluate, log figures and pictures, and show what matters most, a new diagnosis on a line of its own."""
        found, step = trainer.evaluate(), trainer.iteration
        self._latest = covered(found, self.floor())
        self._best = max(self._best, self._latest)
        if logger is not None:
            logger.scalars({f"coverage/{key}": value for key, value in found.items()}, step)
            if self.source.shape == (2,) or len(self.source.shape) == 3:
                logger.image("samples", trainer.picture(), step)
            if len(self.source.shape) == 3:
                logger.image("interpolation", self._interpolation(trainer), step)
        shown = {"coverage": f"{100 * self._latest:.1f}%"}
        if isinstance(self.source, MixtureSource):
            modes, quality = f"{found['modes']}/{self.source.mixture.modes}", f"{100 * found['high_quality']:.1f}%"
            shown = {"modes": modes, "high_quality": quality}
        progress.update(step, **shown)
        diagnosis = self.diagnosis()
        if diagnosis and not self._ill:
            progress.note(f"iteration {step:,}: {diagnosis}")
        self._ill = diagnosis is not None

    def diagnosis(self, finished: Mapping[str, float] | None = None) -> str | None:
        """What is wrong with the training, in words; ``None`` while nothing is.

        Args:
            finished: figures of the generator when training is over, which are then held against real data's.
        """
        found = [fall(self._best, self._latest), vanishing(self._right, self._norm)]
        if finished is not None:
            found.append(shortfall(finished, self.floor()))
        return "; ".join(filter(None, found)) or None

    def state_dict(self) -> dict[str, float]:
        """The best coverage so far and the latest."""
        return {"best": self._best, "latest": self._latest}

    def load_state_dict(self, state: Mapping[str, float]) -> None:
        """Continue from what :meth:`state_dict` gave."""
        self._best, self._latest = float(state["best"]), float(state["latest"])

    def _interpolation(self, trainer: GANTrainer) -> np.ndarray:
        """Rows of samples on great circles between two latents each, the same at every evaluation."""
        rng = np.random.default_rng(0)
        ends = rng.standard_normal((2, _STEPS, trainer.config.latent_dim))
        share = np.linspace(0, np.pi / 2, _STEPS)[None, :, None]
        path = np.cos(share) * ends[0][:, None] + np.sin(share) * ends[1][:, None]
        labels = np.repeat(np.arange(_STEPS) % self.source.num_classes, _STEPS) if self.conditional else None
        latent = path.reshape(_STEPS * _STEPS, -1).astype(np.float32)
        return picture_grid(trainer.sample(len(latent), labels, latent), columns=_STEPS)


def _apart(source: ArraySource) -> tuple[np.ndarray, np.ndarray]:
    """Real samples to compare with, and the rows of as many training samples that are not among them."""
    rng = np.random.default_rng(0)
    rows = rng.permutation(len(source.samples))
    if source.held_out is None:
        half = len(rows) // 2
        reference, rows = source.samples[rows[:half][:_MOST]], rows[half:]
    elif len(source.held_out) > _MOST:
        reference = source.held_out[rng.permutation(len(source.held_out))[:_MOST]]
    else:
        reference = source.held_out
    if min(len(reference), len(rows)) < _FEWEST // 2:
        raise ValueError(
            f"there are too few samples to train on and to compare with, {len(source.samples)}: at least {_FEWEST} are "
            f"needed, or {_FEWEST // 2} and as many held out"
        )
    return reference, rows[: len(reference)]
