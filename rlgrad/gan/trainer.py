"""The adversarial training loop, its phases named: ``step_d``, then ``step_g``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

import numpy as np

import rlgrad
from rlgrad import Tensor, optim
from rlgrad.gan.config import DEFAULT_OPTIMIZER, GANConfig
from rlgrad.gan.data import GaussianMixture, make_data
from rlgrad.gan.losses import make_loss, r1_penalty
from rlgrad.gan.metrics import EVALUATION_SAMPLES, mode_coverage
from rlgrad.gan.networks import MLPDiscriminator, MLPGenerator, frozen
from rlgrad.gan.viz import scatter
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
        rngs = spawn_generators(seed, "parameters", "latent", "data", "evaluation")
        self.rngs = {name: rngs[name] for name in ("latent", "evaluation")}
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
        self.optimizer_g, self.optimizer_d = (
            optim.make(params=network.parameters(), lr=config.learning_rate, **self.optimizer_options)
            for network in (self.generator, self.discriminator)
        )
        self.iteration = 0

    def step_d(self, real: Tensor, fake: Tensor) -> dict[str, float]:
        """Move the discriminator towards telling ``real`` from ``fake``; the generator is left alone.

        Args:
            real: (batch_size, features).
            fake: (batch_size, features), with the generator's graph behind it; that graph is neither walked
                nor freed.

        Returns:
            The losses by name.
        """
        if self.config.r1_gamma > 0:
            real.requires_grad_()
        real_logits = self.discriminator(real)
        # Without detach(), this backward would fill the generator's gradients and free step_g's graph.
        fake_logits = self.discriminator(fake.detach())
        loss = self.loss.discriminator(real_logits, fake_logits)
        losses = {"discriminator": loss}
        if self.config.r1_gamma > 0:
            losses["r1_penalty"] = penalty = r1_penalty(real_logits, real, self.config.r1_gamma)
            loss = loss + penalty
        return self._update("discriminator", self.optimizer_d, loss, losses)

    def step_g(self, fake: Tensor) -> dict[str, float]:
        """Move the generator towards samples that the discriminator, as it is now, takes for real.

        ``D(fake)`` is computed here again: the discriminator's step changed its weights in place, so logits
        from before it belong to a discriminator that no longer exists, and differentiating them raises.

        Args:
            fake: (batch_size, features), with the generator's graph behind it.

        Returns:
            The losses by name.
        """
        with frozen(self.discriminator):
            loss = self.loss.generator(self.discriminator(fake))
            return self._update("generator", self.optimizer_g, loss, {"generator": loss})

    def train_step(self) -> dict[str, float]:
        """One iteration: learning rates, one batch of each kind, :meth:`step_d`, :meth:`step_g`.

        Returns:
            The losses by name.

        Raises:
            NonFiniteError: a loss or gradient is not finite; the network concerned keeps its parameters.
        """
        for optimizer in (self.optimizer_g, self.optimizer_d):
            for group in optimizer.param_groups:
                group["lr"] = self.learning_rate
        real = self._tensor(self.data.sample(self.config.batch_size) / np.float32(self.data.scale))
        fake = self.generator(self._latent(self.config.batch_size, self.rngs["latent"]))
        losses = self.step_d(real, fake) | self.step_g(fake)
        self.iteration += 1
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
        with rlgrad.no_grad():
            fake = self.generator(self._latent(n, self.rngs["evaluation"]))
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
        self.iteration = int(state["iteration"])

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

    def _update(
        self, player: str, optimizer: optim.Optimizer, loss: Tensor, losses: dict[str, Tensor]
    ) -> dict[str, float]:
        optimizer.zero_grad()
        loss.backward()
        values = {key: value.item() for key, value in losses.items()}
        check_finite(self.iteration, values, self._named_parameters[player])
        optimizer.step()
        return values

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
