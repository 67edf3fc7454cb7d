"""TRPO: trust region policy optimization with natural gradients.

Source: Schulman et al., Trust Region Policy Optimization (2015), section 6 and appendix C.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import rlgrad
from rlgrad import Tensor, optim
from rlgrad.agents.config import require
from rlgrad.agents.on_policy import OnPolicyAgent, OnPolicyConfig
from rlgrad.agents.rollout import Minibatch, Rollout
from rlgrad.nn import functional as F
from rlgrad.nn.utils import parameters_to_vector, vector_to_parameters
from rlgrad.training import check_finite

__all__ = ["TRPO", "TRPOConfig", "conjugate_gradient"]


@dataclass
class TRPOConfig(OnPolicyConfig):
    """Settings of `TRPO`, beside those of every agent that learns from rollouts.

    `learning_rate` is that of the value network; `value_coef` has no effect, since the networks learn apart.

    Args:
        max_kl: how far, in nats of KL(old || new), an update may move the policy.
        conjugate_gradient_steps: iterations in solving for the natural gradient.
        damping: multiple of the identity added to the Fisher matrix.
        line_search_steps: how often a step that is too long or no improvement is shortened before it is given up.
        line_search_shrink: factor by which it is shortened.
        value_epochs: passes over each rollout in which the value network is fitted.
        batch_size: rows per step of that fit.
    """

    n_steps: int = 256
    learning_rate: float = 1e-3
    max_kl: float = 0.01
    conjugate_gradient_steps: int = 10
    damping: float = 0.1
    line_search_steps: int = 10
    line_search_shrink: float = 0.8
    value_epochs: int = 10
    batch_size: int = 128

    def __post_init__(self) -> None:
        super().__post_init__()
        require(
            self,
            positive=["max_kl", "line_search_shrink"],
            fractions=["line_search_shrink"],
            at_least={
                "conjugate_gradient_steps": 1,
                "damping": 0,
                "line_search_steps": 1,
                "value_epochs": 1,
                "batch_size": 1,
            },
        )


class TRPO(OnPolicyAgent):
    """Trust region policy optimization: the largest natural-gradient step within a KL ball that improves.

    The Fisher matrix is never formed: its product with a vector is the gradient of the directional derivative of
    the KL divergence, by differentiating twice.

    Args:
        env, config, seed, num_envs, env_options, device, policy, value: see `OnPolicyAgent`.

    Example:
        >>> from rlgrad.agents import TRPO
        >>> TRPO("CartPole-v1", seed=0).learn(2_000).num_updates
        1
    """

    config_class = TRPOConfig
    config: TRPOConfig

    def build_optimizer(self) -> Any:
        return optim.Adam(self.value.parameters(), lr=self.config.learning_rate)

    def update(self, rollout: Rollout) -> dict[str, float]:
        """One step of the policy within the trust region, and a fit of the value network.

        Returns:
            Figures for the logger, under "group/name".
        """
        config = self.config
        (batch,) = self.minibatches(rollout, len(rollout.obs))
        parameters = list(self.policy.parameters())
        objective, output = self._objective(batch)
        gradient = _flat(rlgrad.autograd.grad(objective, parameters, retain_graph=True))

        old = self.head.parameters_of(output)
        kl = self.head.kl_from(old, output, batch.masks).mean()
        slopes = _flat(rlgrad.autograd.grad(kl, parameters, create_graph=True))

        def fisher_vector_product(vector: Tensor) -> Tensor:
            product = rlgrad.autograd.grad((slopes * vector).sum(), parameters, retain_graph=True)
            return _flat(product) + config.damping * vector

        direction = conjugate_gradient(fisher_vector_product, gradient, config.conjugate_gradient_steps)
        curvature = float((direction * fisher_vector_product(direction)).sum())
        check_finite(self.num_timesteps, {"policy": -objective.item(), "curvature": curvature}, [])
        step = direction * math.sqrt(2.0 * config.max_kl / max(curvature, 1e-12))

        start, shrink, moved = parameters_to_vector(parameters).detach(), 1.0, 0.0
        with rlgrad.no_grad():
            for _ in range(config.line_search_steps):
                vector_to_parameters(start + shrink * step, parameters)
                reached, output = self._objective(batch)
                moved = self.head.kl_from(old, output, batch.masks).mean().item()
                if moved <= config.max_kl and reached.item() > objective.item():
                    break
                shrink *= config.line_search_shrink
            else:
                vector_to_parameters(start, parameters)
                shrink, moved = 0.0, 0.0

        losses = []
        for part in self.minibatches(rollout, config.batch_size, config.value_epochs):
            value_loss = F.mse_loss(self.values_of(part), part.returns)
            self.descend(self.optimizer, {"value": value_loss})
            losses.append(value_loss.item())
        names = ("loss/policy", "loss/value", "policy/kl", "policy/step_fraction")
        return self.summary(rollout, names, [(-objective.item(), float(np.mean(losses)), moved, shrink)])

    def _objective(self, batch: Minibatch) -> tuple[Tensor, Tensor]:
        """The surrogate that is to grow (equation 14), and the network's outputs."""
        head, output = self.head, self.policy(batch.obs, batch.sequences.get("policy"))
        ratio = (head.log_prob(output, batch.actions, batch.masks) - batch.log_probs).exp()
        objective = (ratio * batch.advantages).mean()
        if self.config.entropy_coef:
            objective = objective + self.config.entropy_coef * head.entropy(output, batch.masks).mean()
        return objective, output


def conjugate_gradient(product: Callable[[Tensor], Tensor], b: Tensor, steps: int, tolerance: float = 1e-10) -> Tensor:
    """Solves `A x = b` for a symmetric positive definite matrix that is known by its products with vectors.

    Args:
        product: `v: (n,)` to `A v`.
        b: (n,).
        steps: iterations at most; n suffice without rounding.
        tolerance: squared length of the residual at which it stops before.

    Example:
        >>> import rlgrad
        >>> conjugate_gradient(lambda v: 4.0 * v, rlgrad.tensor([8.0, 2.0]), steps=1)
        tensor([2.0000, 0.5000])

    Source: Nocedal and Wright, Numerical Optimization (2006), algorithm 5.2.
    """
    x, residual = rlgrad.zeros_like(b), b.clone()
    direction, size = b.clone(), float((b * b).sum())
    for _ in range(steps):
        if size < tolerance:
            break
        along = product(direction)
        length = size / float((direction * along).sum())
        x = x + length * direction
        residual = residual - length * along
        size, previous = float((residual * residual).sum()), size
        direction = residual + (size / previous) * direction
    return x


def _flat(tensors: Any) -> Tensor:
    return rlgrad.cat([tensor.reshape(-1) for tensor in tensors])
