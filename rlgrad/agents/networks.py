"""The networks agents use by default; any module of the same input and output widths can stand in."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import rlgrad
from rlgrad import Tensor, nn
from rlgrad.backend.errors import nearest
from rlgrad.distributions import Categorical, DiagonalNormal

__all__ = ["ACTIVATIONS", "Policy", "mlp"]

ACTIVATIONS: dict[str, type[nn.Module]] = {
    "tanh": nn.Tanh,
    "relu": nn.ReLU,
    "leaky_relu": nn.LeakyReLU,
}
"""Names that `activation` settings may take."""


def mlp(
    sizes: Sequence[int], activation: str = "tanh", output_gain: float = 1.0, orthogonal: bool = True
) -> nn.Sequential:
    """A multi-layer perceptron, by default with orthogonal weights and zero biases.

    Args:
        sizes: widths from input to output, such as `[4, 64, 64, 2]`.
        activation: name of the function between layers, one of `ACTIVATIONS`.
        output_gain: gain of the last layer; 0.01 makes a fresh policy nearly uniform.
        orthogonal: False keeps the uniform weights that `nn.Linear` starts with, and drops the gain.

    Raises:
        ValueError: an unknown activation, or fewer than two widths.
    """
    if len(sizes) < 2:
        raise ValueError(f"An MLP needs at least an input and an output width, got {list(sizes)}.")
    if activation not in ACTIVATIONS:
        names = ", ".join(ACTIVATIONS)
        raise ValueError(
            f"Unknown activation {activation!r}: expected one of {names}.{nearest(activation, ACTIVATIONS)}"
        )
    layers: list[nn.Module] = []
    for index, (fan_in, fan_out) in enumerate(pairwise(sizes)):
        last = index == len(sizes) - 2
        layer = nn.Linear(fan_in, fan_out)
        if orthogonal:
            nn.init.orthogonal_(layer.weight, gain=output_gain if last else math.sqrt(2.0))
            nn.init.zeros_(layer.bias)
        layers += [layer] if last else [layer, ACTIVATIONS[activation]()]
    return nn.Sequential(*layers)


class Policy(nn.Module):
    """A network whose outputs are the parameters of a distribution over actions.

    Discrete actions: the outputs are logits of a categorical distribution. Continuous actions: they are the
    mean of a normal distribution with independent components, whose logarithmic standard deviation is a
    parameter of its own that does not depend on the observation.

    Args:
        net: module from (n, obs_dim) to (n, action_dim).
        discrete: whether actions are indices.
        action_dim: number of choices or of components.
        log_std: initial logarithm of the standard deviation, in units in which the action bounds are -1 and
            1.
    """

    def __init__(self, net: nn.Module, discrete: bool, action_dim: int, log_std: float = 0.0) -> None:
        super().__init__()
        self.net = net
        self.discrete = discrete
        if not discrete:
            self.log_std = nn.Parameter(rlgrad.full((action_dim,), float(log_std)))

    def forward(self, obs: Tensor) -> Categorical | DiagonalNormal:
        """The distribution over actions for `obs: (n, obs_dim)`."""
        output = self.net(obs)
        if self.discrete:
            return Categorical(logits=output)
        return DiagonalNormal(output, self.log_std.exp())
