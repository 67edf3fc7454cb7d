"""Stochastic policies over bounded or discrete actions, as SAC, CQL and IQL learn them."""

from __future__ import annotations

import math

import numpy as np

import rlgrad
from rlgrad import Tensor, nn
from rlgrad.agents.critics import least, values
from rlgrad.distributions import TanhNormal

__all__ = ["SoftPolicy", "Temperature"]

_LOG_STD_RANGE = (-20.0, 2.0)


class SoftPolicy(nn.Module):
    """A squashed normal over actions in [-1, 1], or a choice.

    Args:
        net: module from observations to (n, 2 dim), means before `tanh` and logarithms of standard deviations,
            or to (n, dim) logits.
        dim: components of an action, or number of choices.
        discrete: whether actions are choices.
    """

    def __init__(self, net: nn.Module, dim: int, discrete: bool) -> None:
        super().__init__()
        self.net, self.dim, self.discrete = net, dim, discrete

    def draw(self, obs: Tensor, generator: np.random.Generator | None) -> np.ndarray:
        """Actions for `obs: (n, ...)`, drawn by `generator`, or the likeliest (of squashed ones, the median)."""
        with rlgrad.no_grad():
            output = self.net(obs).cpu().numpy()
        if self.discrete:
            # Gumbel-max: the largest of logits plus Gumbel noise is a draw from their softmax.
            return (output if generator is None else output + generator.gumbel(size=output.shape)).argmax(1)
        mean, log_std = output[:, : self.dim], output[:, self.dim :]
        if generator is None:
            return np.tanh(mean)
        noise = generator.standard_normal(mean.shape, np.float32)
        return np.tanh(mean + np.exp(log_std.clip(*_LOG_STD_RANGE)) * noise)

    def distribution(self, obs: Tensor) -> TanhNormal:
        """The squashed normal at `obs: (n, ...)`, for continuous actions."""
        output = self.net(obs)
        scale = output[:, self.dim :].clamp(*_LOG_STD_RANGE).exp()
        return TanhNormal(output[:, : self.dim], scale, validate_args=False)  # an update looks at its losses

    def log_prob(self, obs: Tensor, actions: Tensor) -> Tensor:
        """(n,) log-probabilities of given actions."""
        if self.discrete:
            return self.net(obs).log_softmax(1).gather(1, actions.unsqueeze(1)).squeeze(1)
        return self.distribution(obs).log_prob(actions)

    def expectations(self, critics: nn.Module, obs: Tensor, generator: np.random.Generator) -> tuple[Tensor, Tensor]:
        """The critics' least value and the log-probability of what the policy does.

        Of an action drawn by reparameterisation, or in expectation over all choices.

        Returns:
            Two (n,) tensors.
        """
        if self.discrete:
            log_probs = self.net(obs).log_softmax(1)
            probs = log_probs.exp()
            return (probs * least(values(critics, obs))).sum(1), (probs * log_probs).sum(1)
        actions, log_prob = self.distribution(obs).rsample_with_log_prob(generator=generator)
        return least(values(critics, obs, actions)), log_prob


class Temperature(nn.Module):
    """The weight of the entropy, kept as a logarithm so that it stays positive."""

    def __init__(self, alpha: float) -> None:
        super().__init__()
        self.log_alpha = nn.Parameter(rlgrad.tensor(math.log(alpha)))

    @property
    def alpha(self) -> float:
        """The weight itself."""
        return math.exp(self.log_alpha.item())
