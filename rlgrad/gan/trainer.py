"""The adversarial training loop, its phases named: ``step_d``, then ``step_g``."""

from __future__ import annotations

import functools
import operator
import os
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

import rlgrad
from rlgrad import Tensor, optim
from rlgrad.data.mixtures import GaussianMixture
from rlgrad.gan.augment import Augmentation
from rlgrad.gan.average import make_average, update_average
from rlgrad.gan.batch import Batch
from rlgrad.gan.config import DEFAULT_OPTIMIZER, GANConfig
from rlgrad.gan.data import as_source
from rlgrad.gan.evaluation import Evaluator
from rlgrad.gan.layers import frozen
from rlgrad.gan.losses import make_loss
from rlgrad.gan.networks import class_labels, generate, make_networks
from rlgrad.gan.penalties import Penalties
from rlgrad.gan.schedule import correct_lazy_betas, learning_rate_at, set_learning_rates
from rlgrad.gan.sources import Source
from rlgrad.gan.state import load_trainer, restore_state, state_of
from rlgrad.nn import functional as F
from rlgrad.training.checkpoint import save_checkpoint
from rlgrad.training.guards import check_finite
from rlgrad.training.metrics import MetricLogger
from rlgrad.training.progress import Progress
from rlgrad.training.run import Interrupt
from rlgrad.training.seeding import spawn_generators


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
        self.data = as_source(data, rngs["data"])
        self.loss = make_loss(config.loss)
        self.device = rlgrad.device(device)
        self.augmentation = Augmentation(config.augment, config.augment_target, rngs["augment"])
        with rlgrad.random.fork_rng(int(rngs["parameters"].integers(2**63))):
            self.generator, self.discriminator = (net.to(self.device) for net in make_networks(config, self.data))
        self._named_parameters = {
            player: [(f"{player}.{name}", parameter) for name, parameter in network.named_parameters()]
            for player, network in (("generator", self.generator), ("discriminator", self.discriminator))
        }
        self.optimizer_options = dict(optimizer if optimizer is not None else DEFAULT_OPTIMIZER)
        self.average = make_average(self.generator) if config.ema_half_life else None
        self.optimizer_g, self.optimizer_d = (
            optim.make(params=network.parameters(), lr=config.learning_rate, **self.optimizer_options)
            for network in (self.generator, self.discriminator)
        )
        correct_lazy_betas(self.optimizer_d, config.penalty_every)
        self.penalties = Penalties(config, self.rngs["penalty"])
        self.evaluator = Evaluator(self.data, config.conditional != "none")
        self.iteration = self.d_steps = 0

    def step_d(self, *batches: Batch) -> dict[str, float]:
        """Move the discriminator towards telling real from generated; the generator is left alone.

        Args:
            batches: their gradients are averaged into one step. The generator's graph behind ``fake`` is neither walked
                nor freed.

        Returns:
            The losses and penalties by name.
        """
        self.penalties.weigh(self.d_steps)
        figures = self._update("discriminator", self.optimizer_d, map(self._losses_d, batches), len(batches))
        if self.config.clip_weights:
            with rlgrad.no_grad():
                for parameter in self.discriminator.parameters():
                    parameter.clamp_(-self.config.clip_weights, self.config.clip_weights)
        self.d_steps += 1
        return figures

    def _losses_d(self, batch: Batch) -> dict[str, Tensor]:
        # Without detach(), this backward would fill the generator's gradients and free step_g's graph.
        real, fake = self.penalties.watched(batch.real.detach(), batch.fake.detach())
        real_logits, real_classes = self._judge(real, batch.labels)
        fake_logits, _ = self._judge(fake, batch.labels)
        losses = {"discriminator": self.loss.discriminator(real_logits, fake_logits)}
        if real_classes is not None and batch.labels is not None:
            losses["class_real"] = F.cross_entropy(real_classes, batch.labels)
        losses |= self.penalties(
            lambda samples: self._judge(samples, batch.labels)[0], real, real_logits, fake, fake_logits
        )
        if self.config.augment_target:
            self.augmentation.adapt(real_logits, self.loss.border(real_logits, fake_logits))
        self.evaluator.watch(real_logits, fake_logits, self.loss)
        return losses

    def _judge(self, samples: Tensor, labels: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """The discriminator's logits, and its class logits if it has any, of samples as it is shown them."""
        return self.discriminator.judge(self.augmentation(samples), labels)

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
            return self._update("generator", self.optimizer_g, map(self._losses_g, batches), len(batches))

    def _losses_g(self, batch: Batch) -> dict[str, Tensor]:
        logits, classes = self._judge(batch.fake, batch.labels)
        real_logits = self._judge(batch.real, batch.labels)[0] if self.loss.relativistic else None
        losses = {"generator": self.loss.generator(real_logits, logits)}
        if classes is not None and batch.labels is not None:
            losses["class_fake"] = F.cross_entropy(classes, batch.labels)
        return losses

    def train_step(self) -> dict[str, float]:
        """One iteration: learning rates, then :meth:`step_d` ``n_critic`` times and :meth:`step_g` once.

        Returns:
            The losses by name.

        Raises:
            NonFiniteError: a loss or gradient is not finite; the network concerned keeps its parameters.
        """
        set_learning_rates(self.optimizer_g, self.optimizer_d, self.learning_rate, self.config.penalty_every)
        for critic_step in range(1, self.config.n_critic + 1):
            with rlgrad.set_grad_enabled(critic_step == self.config.n_critic):
                batches = [self._batch() for _ in range(self.config.accumulate)]
            with rlgrad.enable_grad():
                losses = self.step_d(*batches)
        losses |= self.step_g(*batches)
        self.iteration += 1
        if self.average is not None:
            samples = self.config.batch_size * self.config.accumulate
            update_average(self.average, self.generator, samples, samples * self.iteration, self.config.ema_half_life)
        return losses

    def _batch(self) -> Batch:
        samples, classes = self.data.batch(self.config.batch_size)
        labels = None if classes is None or self.config.conditional == "none" else self._tensor(classes)
        latent = self.rngs["latent"].standard_normal((len(samples), self.config.latent_dim), dtype=np.float32)
        fake = self.generator(self._tensor(latent), labels)
        return Batch(self._tensor(samples), fake, labels)

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
                    self._log(logger, losses, bar.rate)
                if self.iteration % config.evaluate_every == 0 or self.iteration == config.iterations:
                    self.evaluator.report(self, logger, bar)
                    if checkpoint_path is not None and self.iteration < end:
                        self.save(checkpoint_path)
        if checkpoint_path is not None:
            self.save(checkpoint_path)
        return self

    def _log(self, logger: MetricLogger, losses: dict[str, float], rate: float) -> None:
        rows = {f"loss/{name}": value for name, value in losses.items()}
        rows |= self.evaluator.figures(self.generator, self.discriminator)
        if self.config.augment_target:
            rows["augmentation/probability"] = self.augmentation.probability
        rows |= {"optimizer/learning_rate": self.learning_rate, "time/iterations_per_second": rate}
        logger.scalars(rows, self.iteration)

    @property
    def learning_rate(self) -> float:
        """The learning rate of the coming iteration."""
        return learning_rate_at(self.config, self.iteration)

    def sample(self, n: int, labels: np.ndarray | None = None, latent: np.ndarray | None = None) -> np.ndarray:
        """Draw samples from the generator, or its average if there is one, without disturbing training's randomness.

        Args:
            n: how many.
            labels: (n,), what they shall be; a conditional generator goes through the classes in turn when not given.
            latent: (n, latent_dim), where they shall come from; drawn when not given.

        Returns:
            (n, *shape), float32, in the data's units.

        Raises:
            ValueError: ``n`` is below 1, or latents or labels do not fit.
        """
        latent_dim, generator = self.config.latent_dim, self.generator if self.average is None else self.average
        if n < 1:
            raise ValueError(f"n must be at least 1; got {n}")
        if latent is None:
            latent = self.rngs["evaluation"].standard_normal((n, latent_dim), dtype=np.float32)
        if np.shape(latent) != (n, latent_dim):
            raise ValueError(f"latent must have shape (n, latent_dim) = {(n, latent_dim)}; got {np.shape(latent)}")
        wanted = class_labels(n, labels, generator.num_classes)
        return self.data.restore(generate(generator, latent, wanted, self.device))

    def evaluate(self, n: int | None = None) -> dict[str, float]:
        """Figures of ``n`` fresh samples, which depend on the data: see :class:`~rlgrad.gan.evaluation.Evaluator`."""
        return self.evaluator.evaluate(self, n)

    def picture(self, n: int | None = None) -> np.ndarray:
        """A picture of samples from fixed latents: over the density of a mixture, or images side by side; uint8."""
        return self.evaluator.picture(self, n)

    state_dict = state_of
    load_state_dict = restore_state
    load = classmethod(load_trainer)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write :meth:`state_dict` to one file, atomically."""
        save_checkpoint(path, self.state_dict())

    def _update(
        self, player: str, optimizer: optim.Optimizer, pieces: Iterable[dict[str, Tensor]], count: int
    ) -> dict[str, float]:
        """One step down the mean over ``count`` pieces of the sum of their losses, one piece's graph at a time."""
        optimizer.zero_grad()
        figures: dict[str, float] = {}
        for losses in pieces:
            total = functools.reduce(operator.add, losses.values())
            (total if count == 1 else total / count).backward()
            for key, value in losses.items():
                figures[key] = figures.get(key, 0.0) + value.item() / count
        check_finite(self.iteration, figures, self._named_parameters[player])
        optimizer.step()
        return figures

    def _tensor(self, array: np.ndarray) -> Tensor:
        return rlgrad.from_numpy(array).to(self.device)
