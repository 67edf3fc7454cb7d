"""The adversarial training loop, its phases named: ``step_d``, then ``step_g``."""

from __future__ import annotations

import copy
import functools
import operator
import os
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

import numpy as np

import rlgrad
from rlgrad import Tensor, nn, optim
from rlgrad.gan.config import DEFAULT_OPTIMIZER, GANConfig
from rlgrad.gan.data import GaussianMixture, make_data
from rlgrad.gan.losses import make_loss
from rlgrad.gan.metrics import EVALUATION_SAMPLES, mode_coverage
from rlgrad.gan.networks import MLPDiscriminator, MLPGenerator, frozen
from rlgrad.gan.penalties import dragan_penalty, gradient_penalty, zero_centred_penalty
from rlgrad.gan.viz import scatter
from rlgrad.optim.targets import polyak_update
from rlgrad.training.checkpoint import CheckpointError, load_checkpoint, save_checkpoint
from rlgrad.training.guards import check_finite
from rlgrad.training.metrics import MetricLogger
from rlgrad.training.progress import Progress
from rlgrad.training.run import Interrupt
from rlgrad.training.seeding import spawn_generators


class GANTrainer:
    """A generator and a discriminator trained against each other on a mixture of Gaussians.

    Networks see samples divided by the mixture's ``scale``; :meth:`sample` and everything reported is in
    the mixture's own units. Everything that decides the next iteration is in :meth:`state_dict`, so a run
    that is saved and resumed is bit for bit the run that was not.

    Args:
        config: settings.
        data: a name for :func:`rlgrad.gan.data.make_data`, or a mixture of your own. A mixture keeps its
            own generator; a named one draws from ``seed``.
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
        data: str | GaussianMixture = "ring",
        seed: int = 0,
        device: str = "cpu",
        optimizer: Mapping[str, Any] | None = None,
    ) -> None:
        self.config = config = config if config is not None else GANConfig()
        rngs = spawn_generators(seed, "parameters", "latent", "data", "evaluation", "penalty")
        self.rngs = {name: rngs[name] for name in ("latent", "evaluation", "penalty")}
        self.data = data if isinstance(data, GaussianMixture) else make_data(data, seed=rngs["data"])
        self.loss = make_loss(config.loss)
        self.device = rlgrad.device(device)
        with rlgrad.random.fork_rng(int(rngs["parameters"].integers(2**63))):
            generator = MLPGenerator(config.latent_dim, self.data.features, config.hidden_sizes)
            discriminator = MLPDiscriminator(self.data.features, config.hidden_sizes)
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
        self.iteration = self.d_steps = 0

    def step_d(self, real: Tensor, fake: Tensor) -> dict[str, float]:
        """Move the discriminator towards telling ``real`` from ``fake``; the generator is left alone.

        Args:
            real: (batch_size, features).
            fake: (batch_size, features), perhaps with the generator's graph behind it; that graph is neither walked
                nor freed.

        Returns:
            The losses by name.
        """
        config = self.config
        weight = 0 if self.d_steps % config.penalty_every else config.penalty_every
        # Without detach(), this backward would fill the generator's gradients and free step_g's graph.
        real, fake = real.detach(), fake.detach()
        real.requires_grad_(weight * config.r1_gamma > 0)
        fake.requires_grad_(weight * config.r2_gamma > 0)
        real_logits, fake_logits = self.discriminator(real), self.discriminator(fake)
        losses = {"discriminator": self.loss.discriminator(real_logits, fake_logits)}
        if weight * config.r1_gamma > 0:
            losses["r1_penalty"] = zero_centred_penalty(real_logits, real, weight * config.r1_gamma)
        if weight * config.r2_gamma > 0:
            losses["r2_penalty"] = zero_centred_penalty(fake_logits, fake, weight * config.r2_gamma)
        if weight * config.gradient_penalty > 0:
            losses["gradient_penalty"] = gradient_penalty(
                self.discriminator, real, fake, weight * config.gradient_penalty, self.rngs["penalty"]
            )
        if weight * config.dragan_penalty > 0:
            losses["dragan_penalty"] = dragan_penalty(
                self.discriminator, real, weight * config.dragan_penalty, self.rngs["penalty"]
            )
        figures = self._update("discriminator", self.optimizer_d, losses)
        if config.clip_weights:
            with rlgrad.no_grad():
                for parameter in self.discriminator.parameters():
                    parameter.clamp_(-config.clip_weights, config.clip_weights)
        self.d_steps += 1
        return figures

    def step_g(self, fake: Tensor, real: Tensor | None = None) -> dict[str, float]:
        """Move the generator towards samples that the discriminator, as it is now, takes for real.

        ``D(fake)`` is computed here again: the discriminator's step changed its weights in place, so logits
        from before it belong to a discriminator that no longer exists, and differentiating them raises.

        Args:
            fake: (batch_size, features), with the generator's graph behind it.
            real: (batch_size, features), which a relativistic loss compares with.

        Returns:
            The losses by name.
        """
        with frozen(self.discriminator):
            real_logits = self.discriminator(real) if real is not None and self.loss.relativistic else None
            loss = self.loss.generator(real_logits, self.discriminator(fake))
            return self._update("generator", self.optimizer_g, {"generator": loss})

    def train_step(self) -> dict[str, float]:
        """One iteration: learning rates, then :meth:`step_d` ``n_critic`` times and :meth:`step_g` once.

        Returns:
            The losses by name.

        Raises:
            NonFiniteError: a loss or gradient is not finite; the network concerned keeps its parameters.
        """
        self._set_learning_rates()
        for critic_step in range(1, self.config.n_critic + 1):
            real = self._tensor(self.data.sample(self.config.batch_size) / np.float32(self.data.scale))
            with rlgrad.set_grad_enabled(critic_step == self.config.n_critic):
                fake = self.generator(self._latent(self.config.batch_size, self.rngs["latent"]))
            losses = self.step_d(real, fake)
        losses |= self.step_g(fake, real)
        self.iteration += 1
        if self.average is not None:
            self._update_average(self.average)
        return losses

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
            logger: receives losses, mode coverage and a picture of samples, tagged with the iteration.
            progress: show the progress line.
            checkpoint_path: written at every evaluation, at the end, and when interrupted.
            interrupt: asked before every iteration whether to save and return.

        Raises:
            ValueError: fewer than ``iterations`` remain.
            NonFiniteError: training diverged; the last checkpoint stays as it was.
        """
        remaining = self.config.iterations - self.iteration
        if iterations is None:
            iterations = remaining
        if not 0 <= iterations <= remaining:
            raise ValueError(
                f"asked to train for {iterations} iterations with {remaining} left of config.iterations="
                f"{self.config.iterations}; the learning rate's decay rests on that total"
            )
        start, end = self.iteration, self.iteration + iterations
        with Progress(end, unit="iterations", enabled=progress, completed=start) as bar:
            while self.iteration < end and not (interrupt is not None and interrupt.requested):
                losses = self.train_step()
                bar.update(self.iteration, loss_d=losses["discriminator"], loss_g=losses["generator"])
                if logger is not None and self.iteration % self.config.log_every == 0:
                    rows = {f"loss/{name}": value for name, value in losses.items()}
                    rows["optimizer/learning_rate"] = self.learning_rate
                    rows["time/iterations_per_second"] = bar.rate
                    logger.scalars(rows, self.iteration)
                if self.iteration % self.config.evaluate_every == 0 or self.iteration == self.config.iterations:
                    self._report(bar, logger)
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

    def sample(self, n: int) -> np.ndarray:
        """Draw ``n`` samples from the generator, without disturbing training's own randomness.

        Returns:
            (n, features), float32, in the data's units.

        Raises:
            ValueError: ``n`` is below 1.
        """
        if n < 1:
            raise ValueError(f"n must be at least 1; got {n}")
        generator = self.generator if self.average is None else self.average
        was_training = generator.training
        generator.eval()
        with rlgrad.no_grad():
            fake = generator(self._latent(n, self.rngs["evaluation"]))
        generator.train(was_training)
        return fake.cpu().numpy() * np.float32(self.data.scale)

    def evaluate(self, n: int = EVALUATION_SAMPLES) -> dict[str, float]:
        """Mode coverage of ``n`` fresh samples: ``modes``, ``high_quality`` (a share) and ``reverse_kl``."""
        coverage = mode_coverage(self.sample(n), self.data.centers, self.data.sigma)
        return {name: getattr(coverage, name) for name in ("modes", "high_quality", "reverse_kl")}

    def picture(self, n: int = EVALUATION_SAMPLES) -> np.ndarray:
        """A picture of ``n`` fresh samples over the density of the data: (512, 512, 3), uint8."""
        return scatter(self.sample(n), self.data)

    def state_dict(self) -> dict[str, Any]:
        """All that decides the rest of the run: settings, parameters, optimizers, generators, position."""
        return {
            "algorithm": "gan",
            "config": asdict(self.config),
            "optimizer": self.optimizer_options,
            "iteration": self.iteration,
            "d_steps": self.d_steps,
            "average": None if self.average is None else self.average.state_dict(),
            "generator": self.generator.state_dict(),
            "discriminator": self.discriminator.state_dict(),
            "optimizer_g": self.optimizer_g.state_dict(),
            "optimizer_d": self.optimizer_d.state_dict(),
            "data": self.data.state_dict(),
            "rngs": {name: rng.bit_generator.state for name, rng in self.rngs.items()},
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
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
        for part in ("data", "generator", "discriminator", "optimizer_g", "optimizer_d"):
            getattr(self, part).load_state_dict(state[part])
        for name, rng in self.rngs.items():
            rng.bit_generator.state = state["rngs"][name]
        if self.average is not None:
            self.average.load_state_dict(state["average"])
        self.iteration, self.d_steps = int(state["iteration"]), int(state["d_steps"])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write :meth:`state_dict` to one file, atomically."""
        save_checkpoint(path, self.state_dict())

    @classmethod
    def load(cls, path: str | os.PathLike[str], device: str = "cpu") -> GANTrainer:
        """The trainer that :meth:`save` wrote, ready to continue.

        Raises:
            CheckpointError: no such file, or it is no checkpoint of a GAN.
        """
        state = load_checkpoint(path)
        if state.get("algorithm") != "gan":
            raise CheckpointError(
                f"{path} holds a checkpoint of {state.get('algorithm')!r} and one of 'gan' was expected; "
                "load it with the class that saved it"
            )
        data = GaussianMixture(state["data"]["centers"], state["data"]["sigma"])
        trainer = cls(GANConfig(**state["config"]), data, device=device, optimizer=state["optimizer"])
        trainer.load_state_dict(state)
        return trainer

    def _update(self, player: str, optimizer: optim.Optimizer, losses: dict[str, Tensor]) -> dict[str, float]:
        """One step down the sum of the losses."""
        optimizer.zero_grad()
        total = functools.reduce(operator.add, losses.values())
        total.backward()
        figures = {key: value.item() for key, value in losses.items()}
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
        seen = self.iteration * self.config.batch_size
        half_life = min(self.config.ema_half_life, 0.05 * seen)
        polyak_update(self.generator, average, 1 - 0.5 ** (self.config.batch_size / half_life))
        for mine, trained in zip(average.buffers(), self.generator.buffers(), strict=True):
            mine.copy_(trained)

    def _report(self, bar: Progress, logger: MetricLogger | None) -> None:
        figures = self.evaluate()
        modes, share = f"{figures['modes']}/{self.data.modes}", f"{100 * figures['high_quality']:.1f}%"
        bar.update(self.iteration, modes=modes, high_quality=share)
        if logger is not None:
            logger.scalars({f"coverage/{name}": value for name, value in figures.items()}, self.iteration)
            if self.data.features == 2:
                logger.image("samples", self.picture(), self.iteration)

    def _latent(self, n: int, rng: np.random.Generator) -> Tensor:
        return self._tensor(rng.standard_normal((n, self.config.latent_dim), dtype=np.float32))

    def _tensor(self, array: np.ndarray) -> Tensor:
        return rlgrad.from_numpy(array).to(self.device)


def _lazy(options: dict[str, Any], every: int) -> dict[str, Any]:
    """An optimizer's options with betas for steps of which only one in ``every`` has the penalty."""
    if every == 1 or "betas" not in options:
        return options
    return options | {"betas": tuple(beta ** (every / (every + 1)) for beta in options["betas"])}
