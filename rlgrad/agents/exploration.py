"""Noise that makes an agent try things: added to actions, or inside the network."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import rlgrad
from rlgrad import Tensor, nn

__all__ = ["GaussianNoise", "NoisyLinear", "OrnsteinUhlenbeckNoise", "make_noise"]


class GaussianNoise:
    """Independent normal noise for continuous actions, in units in which their bounds are -1 and 1.

    Args:
        num_envs: copies of the environment.
        dim: components of an action.
        std: standard deviation of what is drawn in one step.

    Example:
        >>> import numpy as np
        >>> GaussianNoise(num_envs=2, dim=3, std=0.1).draw(np.random.default_rng(0)).shape
        (2, 3)
    """

    def __init__(self, num_envs: int, dim: int, std: float) -> None:
        self.shape, self.std = (num_envs, dim), std

    def draw(self, generator: np.random.Generator) -> np.ndarray:
        """The noise of the next step, (num_envs, dim) float32."""
        return generator.standard_normal(self.shape, np.float32) * np.float32(self.std)

    def restart(self, copies: np.ndarray) -> None:
        """Forgets the past of the copies whose episode ended, given by their indices."""

    def state_dict(self) -> dict[str, Any]:
        """What the next draw depends on, the generator apart."""
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restores what `state_dict` returned."""


class OrnsteinUhlenbeckNoise(GaussianNoise):
    """Noise that wanders and is pulled back to 0: `x += theta (0 - x) dt + std sqrt(dt) N(0, 1)`.

    Args:
        num_envs, dim, std: as `GaussianNoise`.
        theta: strength of the pull.
        dt: time between two steps.

    Source: Lillicrap et al., Continuous Control with Deep Reinforcement Learning (2016), section 7.
    """

    def __init__(self, num_envs: int, dim: int, std: float, theta: float = 0.15, dt: float = 0.01) -> None:
        super().__init__(num_envs, dim, std)
        self.theta, self.dt = theta, dt
        self.value = np.zeros(self.shape, np.float32)

    def draw(self, generator: np.random.Generator) -> np.ndarray:
        kick = generator.standard_normal(self.shape, np.float32) * np.float32(self.std * math.sqrt(self.dt))
        self.value = self.value * np.float32(1.0 - self.theta * self.dt) + kick
        return self.value

    def restart(self, copies: np.ndarray) -> None:
        self.value[copies] = 0.0

    def state_dict(self) -> dict[str, Any]:
        return {"value": self.value.copy()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.value = np.array(state["value"], np.float32).reshape(self.shape)


def make_noise(kind: str, num_envs: int, dim: int, std: float, dt: float = 0.01) -> GaussianNoise:
    """The noise called "gaussian" or "ou"; `dt` is for the second."""
    if kind == "gaussian":
        return GaussianNoise(num_envs, dim, std)
    return OrnsteinUhlenbeckNoise(num_envs, dim, std, dt=dt)


class NoisyLinear(nn.Module):
    """A linear layer whose weights carry noise of a learned size: `y = (mu + sigma * eps) x + ...`.

    The noise is factorised: `eps_w = f(a) f(b)^T` with `f(x) = sign(x) sqrt(|x|)`. It stays the same until
    `reset_noise`, and is left out in evaluation mode.

    Args:
        in_features, out_features: widths.
        sigma: initial size of the noise, divided by the root of `in_features`.

    Source: Fortunato et al., Noisy Networks for Exploration (2018), sections 3 and 3.2.
    """

    eps_in: Tensor
    eps_out: Tensor

    def __init__(self, in_features: int, out_features: int, sigma: float = 0.5) -> None:
        super().__init__()
        bound, spread = 1.0 / math.sqrt(in_features), sigma / math.sqrt(in_features)
        self.weight_mu = nn.Parameter(rlgrad.empty(out_features, in_features).uniform_(-bound, bound))
        self.bias_mu = nn.Parameter(rlgrad.empty(out_features).uniform_(-bound, bound))
        self.weight_sigma = nn.Parameter(rlgrad.full((out_features, in_features), spread))
        self.bias_sigma = nn.Parameter(rlgrad.full((out_features,), spread))
        self.register_buffer("eps_in", rlgrad.zeros(in_features))
        self.register_buffer("eps_out", rlgrad.zeros(out_features))

    def reset_noise(self, generator: np.random.Generator) -> None:
        """Draws new noise."""
        for eps in (self.eps_in, self.eps_out):
            x = generator.standard_normal(eps.shape[0], np.float32)
            eps.copy_(rlgrad.from_numpy(np.sign(x) * np.sqrt(np.abs(x))))

    def forward(self, input: Tensor) -> Tensor:
        """(n, in_features) to (n, out_features)."""
        if not self.training:
            return nn.functional.linear(input, self.weight_mu, self.bias_mu)
        noise = self.eps_out.unsqueeze(1) * self.eps_in
        weight = self.weight_mu + self.weight_sigma * noise
        return nn.functional.linear(input, weight, self.bias_mu + self.bias_sigma * self.eps_out)
