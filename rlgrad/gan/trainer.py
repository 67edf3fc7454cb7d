"""The adversarial training loop, its phases named: ``step_d``, then ``step_g``."""

from __future__ import annotations

import copy
import functools
import operator
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import rlgrad
from rlgrad import Tensor, nn, optim
from rlgrad.gan.augment import Augmentation
from rlgrad.gan.config import DEFAULT_OPTIMIZER, GANConfig
from rlgrad.gan.data import GaussianMixture, MixtureSource, Source, make_data
from rlgrad.gan.evaluation import Evaluator
from rlgrad.gan.layers import frozen
from rlgrad.gan.losses import make_loss
from rlgrad.gan.networks import make_networks
from rlgrad.gan.penalties import dragan_penalty, gradient_penalty, zero_centred_penalty
from rlgrad.gan.state import load_trainer, restore_state, state_of
from rlgrad.nn import functional as F
from rlgrad.optim.targets import polyak_update
from rlgrad.training.checkpoint import save_checkpoint
from rlgrad.training.guards import check_finite
from rlgrad.training.metrics import MetricLogger
from rlgrad.training.progress import Progress
from rlgrad.training.run import Interrupt
from rlgrad.training.seeding import spawn_generators


@dataclass
class Batch:
    """Real and generated samples of one step.

    Attributes:
        real: (n, *shape).
        fake: (n, *shape), perhaps with the generator's graph behind it.
        real_labels, fake_labels: (n,), where training is conditional.
    """

    real: Tensor
    fake: Tensor
    real_labels: Tensor | None = None
    fake_labels: Tensor | None = None


class GANTrainer:
    """A generator and a discriminator trained against each other.

    Networks see samples in the units of the :class:`~rlgrad.gan.data.Source`; :meth:`sample` and everything reported is
    in the data's own. Everything that decides the next iteration is in :meth:`state_dict`, so a run that is saved and
    resumed is bit for bit the run that was not.

    Args:
        config: settings.
        data: a name for :func:`rlgrad.gan.data.make_data`, a source, or a mixture. What you made yourself keeps its own
            generator; a named one draws from ``seed``.
        seed: of the parameters, the latents and the data, each with a stream of its own.
        device: ``"cpu"`` or ``"cuda"``.
        optimizer: ``name`` and options for :func:`rlgrad.optim.make`, used for both networks; Adam with
            betas (0, 0.99) when not given.

    Example:
        >>> trainer = GANTrainer(GANConfig(iterations=2, hidden_sizes=(8,)), seed=0).train()
        >>> trainer.sample(4).shape
        (4, 2)
    """

    def __init__(
        self,
        config: GANConfig | None = None,
        data: str | Source | GaussianMixture = "ring",
        seed: int = 0,
        device: str = "cpu",
        optimizer: Mapping[str, Any] | None = None,
    ) -> None:
        self.config = config = config if config is not None else GANConfig()
        rngs = spawn_generators(seed, "parameters", "latent", "data", "evaluation", "penalty", "augment")
        self.rngs = {name: rngs[name] for name in ("latent", "evaluation", "penalty")}
        if isinstance(data, str):
            data = make_data(data, seed=rngs["data"])
        self.data = MixtureSource(data) if isinstance(data, GaussianMixture) else data
        self.loss = make_loss(config.loss)
        self.device = rlgrad.device(device)
        self.augmentation = Augmentation(config.augment, config.augment_target, rngs["augment"])
        if config.augment and len(self.data.shape) != 3:
            raise ValueError(f"augment={list(config.augment)} is for images; samples have the shape {self.data.shape}")
        with rlgrad.random.fork_rng(int(rngs["parameters"].integers(2**63))):
            generator, discriminator = make_networks(config, self.data)
        self.generator = generator.to(self.device)
        self.discriminator = discriminator.to(self.device)
        self._named_parameters = {
            player: [(f"{player}.{name}", parameter) for name, parameter in network.named_parameters()]
            for player, network in (("generator", self.generator), ("discriminator", self.discriminator))
        }
        self.optimizer_options = dict(optimizer if optimizer is not None else DEFAULT_OPTIMIZER)
        self.average = copy.deepcopy(self.generator).requires_grad_(False) if config.ema_half_life else None
        self.optimizer_g, self.optimizer_d = (
            optim.make(params=network.parameters(), lr=config.learning_rate, **options)
            for network, options in (
                (self.generator, self.optimizer_options),
                (self.discriminator, _lazy(self.optimizer_options, config.penalty_every)),
            )
        )
        self.evaluator = Evaluator(self.data, config.conditional != "none")
        self.iteration = self.d_steps = 0

    def step_d(self, *batches: Batch) -> dict[str, float]:
        """Move the discriminator towards telling real from generated; the generator is left alone.

        Args:
            batches: their gradients are averaged into one step. The generator's graph behind ``fake`` is neither walked
                nor freed.

        Returns:
            The losses by name, and the shares of real and generated samples that the discriminator told right.
        """
        weight = 0 if self.d_steps % self.config.penalty_every else self.config.penalty_every
        figures = self._update("discriminator", self.optimizer_d, [self._losses_d(b, weight) for b in batches])
        if self.config.clip_weights:
            with rlgrad.no_grad():
                for parameter in self.discriminator.parameters():
                    parameter.clamp_(-self.config.clip_weights, self.config.clip_weights)
        self.d_steps += 1
        return figures

    def _losses_d(self, batch: Batch, weight: int) -> dict[str, Tensor]:
        config, judge = self.config, self.discriminator.judge
        # Without detach(), this backward would fill the generator's gradients and free step_g's graph.
        real, fake = batch.real.detach(), batch.fake.detach()
        real.requires_grad_(weight * config.r1_gamma > 0)
        fake.requires_grad_(weight * config.r2_gamma > 0)
        real_logits, real_classes = judge(self.augmentation(real), batch.real_labels)
        fake_logits, _ = judge(self.augmentation(fake), batch.fake_labels)
        self.augmentation.adapt(real_logits)
        losses = {"discriminator": self.loss.discriminator(real_logits, fake_logits)}
        if real_classes is not None and batch.real_labels is not None:
            losses["class_real"] = F.cross_entropy(real_classes, batch.real_labels)
        if weight * config.r1_gamma > 0:
            losses["r1_penalty"] = zero_centred_penalty(real_logits, real, weight * config.r1_gamma)
        if weight * config.r2_gamma > 0:
            losses["r2_penalty"] = zero_centred_penalty(fake_logits, fake, weight * config.r2_gamma)

        def logit(samples: Tensor) -> Tensor:
            return self.discriminator(samples, batch.real_labels)

        if weight * config.gradient_penalty > 0:
            losses["gradient_penalty"] = gradient_penalty(
                logit, real, fake, weight * config.gradient_penalty, self.rngs["penalty"]
            )
        if weight * config.dragan_penalty > 0:
            losses["dragan_penalty"] = dragan_penalty(logit, real, weight * config.dragan_penalty, self.rngs["penalty"])
        self.evaluator.watch(real_logits, fake_logits, self.loss.critic or self.loss.relativistic)
        return losses

    def step_g(self, *batches: Batch) -> dict[str, float]:
        """Move the generator towards samples that the discriminator, as it is now, takes for real.

        ``D(fake)`` is computed here again: the discriminator's step changed its weights in place, so logits
        from before it belong to a discriminator that no longer exists, and differentiating them raises.

        Args:
            batches: with the generator's graph behind ``fake``; their gradients are averaged into one step.

        Returns:
            The losses by name.
        """
        with frozen(self.discriminator):
            return self._update("generator", self.optimizer_g, [self._losses_g(batch) for batch in batches])

    def _losses_g(self, batch: Batch) -> dict[str, Tensor]:
        logits, classes = self.discriminator.judge(self.augmentation(batch.fake), batch.fake_labels)
        real_logits = None
        if self.loss.relativistic:
            real_logits = self.discriminator(self.augmentation(batch.real), batch.real_labels)
        losses = {"generator": self.loss.generator(real_logits, logits)}
        if classes is not None and batch.fake_labels is not None:
            losses["class_fake"] = F.cross_entropy(classes, batch.fake_labels)
        return losses

    def train_step(self) -> dict[str, float]:
        """One iteration: learning rates, then :meth:`step_d` ``n_critic`` times and :meth:`step_g` once.

        Returns:
            The losses by name.

        Raises:
            NonFiniteError: a loss or gradient is not finite; the network concerned keeps its parameters.
        """
        self._set_learning_rates()
        for critic_step in range(1, self.config.n_critic + 1):
            with rlgrad.set_grad_enabled(critic_step == self.config.n_critic):
                batches = [self._batch() for _ in range(self.config.accumulate)]
            with rlgrad.enable_grad():
                losses = self.step_d(*batches)
        losses |= self.step_g(*batches)
        self.iteration += 1
        if self.average is not None:
            self._update_average(self.average)
        return losses

    def _batch(self) -> Batch:
        real, labels = self.data.batch(self.config.batch_size)
        if self.config.conditional == "none":
            labels = None
        fake_labels = None if labels is None else self.rngs["latent"].integers(self.data.num_classes, size=len(labels))
        wanted = None if fake_labels is None else self._tensor(fake_labels)
        fake = self.generator(self._latent(len(real), self.rngs["latent"]), wanted)
        return Batch(self._tensor(real), fake, None if labels is None else self._tensor(labels), wanted)

    def train(
        self,
        iterations: int | None = None,
        logger: MetricLogger | None = None,
        progress: bool = False,
        checkpoint_path: str | os.PathLike[str] | None = None,
        interrupt: Interrupt | None = None,
    ) -> GANTrainer:
        """Train for some more iterations, logging, evaluating and saving on the way.

        Args:
            iterations: how many more; to the end of ``config.iterations`` when not given.
            logger: receives losses, coverage and pictures of samples, tagged with the iteration.
            progress: show the progress line.
            checkpoint_path: written at every evaluation, at the end, and when interrupted.
            interrupt: asked before every iteration whether to save and return.

        Raises:
            ValueError: fewer than ``iterations`` remain.
            NonFiniteError: training diverged; the last checkpoint stays as it was.
        """
        config = self.config
        remaining = config.iterations - self.iteration
        if iterations is None:
            iterations = remaining
        if not 0 <= iterations <= remaining:
            raise ValueError(
                f"asked to train for {iterations} iterations with {remaining} left of config.iterations="
                f"{config.iterations}; the learning rate's decay rests on that total"
            )
        start, end = self.iteration, self.iteration + iterations
        with Progress(end, unit="iterations", enabled=progress, completed=start) as bar:
            while self.iteration < end and not (interrupt is not None and interrupt.requested):
                losses = self.train_step()
                bar.update(self.iteration, loss_d=losses["discriminator"], loss_g=losses["generator"])
                if logger is not None and self.iteration % config.log_every == 0:
                    rows = {f"loss/{name}": value for name, value in losses.items()}
                    rows |= self.evaluator.figures(self.generator, self.discriminator)
                    rows["optimizer/learning_rate"] = self.learning_rate
                    rows["time/iterations_per_second"] = bar.rate
                    logger.scalars(rows, self.iteration)
                if self.iteration % config.evaluate_every == 0 or self.iteration == config.iterations:
                    bar.update(self.iteration, **self.evaluator.report(self, logger, self.iteration))
                    if checkpoint_path is not None and self.iteration < end:
                        self.save(checkpoint_path)
        if checkpoint_path is not None:
            self.save(checkpoint_path)
        return self

    @property
    def learning_rate(self) -> float:
        """The learning rate of the coming iteration."""
        if self.config.learning_rate_decay == "none":
            return self.config.learning_rate
        return self.config.learning_rate * (1 - self.iteration / self.config.iterations)

    def sample(self, n: int, labels: np.ndarray | None = None, latent: np.ndarray | None = None) -> np.ndarray:
        """Draw samples from the generator, or its average if there is one, without disturbing training's randomness.

        Args:
            n: how many.
            labels: (n,), what they shall be; a conditional generator goes through the classes in turn when not given.
            latent: (n, latent_dim), where they shall come from; drawn when not given.

        Returns:
            (n, *shape), float32, in the data's units.

        Raises:
            ValueError: ``n`` is below 1.
        """
        if n < 1:
            raise ValueError(f"n must be at least 1; got {n}")
        generator = self.generator if self.average is None else self.average
        source = self._latent(n, self.rngs["evaluation"]) if latent is None else self._tensor(latent)
        if labels is None and self.config.conditional != "none":
            labels = np.arange(n) % self.data.num_classes
        was_training = generator.training
        generator.eval()
        with rlgrad.no_grad():
            fake = generator(source, None if labels is None else self._tensor(np.asarray(labels, np.int64)))
        generator.train(was_training)
        return self.data.restore(fake.cpu().numpy())

    def evaluate(self, n: int | None = None) -> dict[str, float]:
        """Figures of ``n`` fresh samples, which depend on the data: see :class:`~rlgrad.gan.evaluation.Evaluator`."""
        return self.evaluator.evaluate(self, n)

    def picture(self, n: int | None = None) -> np.ndarray:
        """A picture of fresh samples: over the density of a mixture, or images side by side; uint8."""
        return self.evaluator.picture(self, n)

    state_dict = state_of
    load_state_dict = restore_state
    load = classmethod(load_trainer)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write :meth:`state_dict` to one file, atomically."""
        save_checkpoint(path, self.state_dict())

    def _update(self, player: str, optimizer: optim.Optimizer, pieces: list[dict[str, Tensor]]) -> dict[str, float]:
        """One step down the mean over the pieces of the sum of their losses."""
        optimizer.zero_grad()
        figures: dict[str, float] = {}
        for losses in pieces:
            total = functools.reduce(operator.add, losses.values())
            (total if len(pieces) == 1 else total / len(pieces)).backward()
            for key, value in losses.items():
                figures[key] = figures.get(key, 0.0) + value.item() / len(pieces)
        check_finite(self.iteration, figures, self._named_parameters[player])
        optimizer.step()
        return figures

    def _set_learning_rates(self) -> None:
        # What is penalised only every k steps takes k/(k+1) of the steps it would take with a penalty in each.
        lazy = self.config.penalty_every
        correction = lazy / (lazy + 1) if lazy > 1 else 1.0
        for optimizer, share in ((self.optimizer_g, 1.0), (self.optimizer_d, correction)):
            for group in optimizer.param_groups:
                group["lr"] = self.learning_rate * share

    def _update_average(self, average: nn.Module) -> None:
        """Move the averaged generator after the trained one; the half-life grows with the samples seen at first."""
        samples = self.config.batch_size * self.config.accumulate
        half_life = min(self.config.ema_half_life, 0.05 * self.iteration * samples)
        polyak_update(self.generator, average, 1 - 0.5 ** (samples / half_life))
        for mine, trained in zip(average.buffers(), self.generator.buffers(), strict=True):
            mine.copy_(trained)

    def _latent(self, n: int, rng: np.random.Generator) -> Tensor:
        return self._tensor(rng.standard_normal((n, self.config.latent_dim), dtype=np.float32))

    def _tensor(self, array: np.ndarray) -> Tensor:
        return rlgrad.from_numpy(array).to(self.device)


def _lazy(options: dict[str, Any], every: int) -> dict[str, Any]:
    """An optimizer's options with betas for steps of which only one in ``every`` has the penalty."""
    if every == 1 or "betas" not in options:
        return options
    return options | {"betas": tuple(beta ** (every / (every + 1)) for beta in options["betas"])}
