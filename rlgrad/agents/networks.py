"""The networks agents use by default; any module of the same input and output widths can stand in."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

import rlgrad
from rlgrad import Tensor, nn
from rlgrad.agents.heads import Head
from rlgrad.agents.spaces import ObservationCodec
from rlgrad.backend.errors import nearest
from rlgrad.nn.utils.rnn import PackedSequence

__all__ = [
    "ACTIVATIONS",
    "Pixels",
    "Policy",
    "Recurrent",
    "Sequences",
    "cut_into_sequences",
    "default_net",
    "image_net",
    "mlp",
    "recurrent",
    "require_fit",
    "run_net",
]

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


class Pixels(nn.Module):
    """uint8 images to numbers between 0 and 1; other inputs pass as floats."""

    def forward(self, images: Tensor) -> Tensor:
        floats = images.to(rlgrad.float32)
        return floats * (1.0 / 255.0) if images.dtype == rlgrad.uint8 else floats


def image_net(shape: Sequence[int], sizes: Sequence[int], activation: str = "relu", gain: float = 1.0) -> nn.Sequential:
    """Convolutions over images, with an MLP on top.

    From 36 pixels on these are the three layers of DQN on Atari; for smaller images two layers of 3 x 3.

    Args:
        shape: (channels, height, width), at least 5 x 5 pixels.
        sizes: widths of the MLP's hidden layers and its output.
        activation: between the MLP's layers; ReLU between convolutions.
        gain: gain of the last layer.

    Source: Mnih et al., Human-level control through deep reinforcement learning (2015), methods.
    """
    channels, height, width = shape
    if min(height, width) < 5:
        raise ValueError(
            f"Images of at least 5 x 5 pixels are needed, got {height} x {width}: pass a network of your own."
        )
    layout = [(32, 8, 4), (64, 4, 2), (64, 3, 1)] if min(height, width) >= 36 else [(16, 3, 1), (32, 3, 1)]
    layers: list[nn.Module] = [Pixels()]
    for filters, kernel, stride in layout:
        layer = nn.Conv2d(channels, filters, kernel, stride)
        nn.init.orthogonal_(layer.weight, gain=math.sqrt(2.0))
        nn.init.zeros_(layer.bias)
        layers += [layer, nn.ReLU()]
        channels, height, width = filters, (height - kernel) // stride + 1, (width - kernel) // stride + 1
    return nn.Sequential(*layers, nn.Flatten(), *mlp([channels * height * width, *sizes], activation, gain))


def default_net(observations: ObservationCodec, sizes: Sequence[int], activation: str, gain: float) -> nn.Sequential:
    """The network an agent builds for itself: an MLP of `sizes` over flat observations, convolutions below it for images."""
    if observations.is_image:
        return image_net(observations.shape, sizes, activation, gain)
    return mlp([observations.dim, *sizes], activation, gain)


class Policy(nn.Module):
    """A network with the head that makes a distribution over actions of its outputs.

    Args:
        net: module from (n, obs_dim) to (n, head.width), or a `Recurrent` of these widths.
        head: for the kind of actions, from `make_head`.
    """

    def __init__(self, net: nn.Module, head: Head) -> None:
        super().__init__()
        self.net = net
        self.head = head

    def forward(self, obs: Tensor, sequences: Sequences | None = None) -> Tensor:
        """(n, head.width) parameters of the distributions over actions for `obs: (n, obs_dim)`."""
        return run_net(self.net, obs, sequences)


def run_net(net: nn.Module, obs: Tensor, sequences: Sequences | None) -> Tensor:
    """A network's outputs, for a recurrent one along `sequences`."""
    return net(obs) if sequences is None else net(obs, sequences)[0]


def require_fit(name: str, network: nn.Module, inputs: Tensor, outputs: int) -> None:
    """Refuses a network of the user's own that does not make `outputs` numbers of each of `inputs`.

    Args:
        name: of the argument, for the message.
        network: stays as it is, as a copy is tried.
        inputs: (n, ...) what it will be given.
        outputs: width of what it has to return, (n, outputs).

    Raises:
        ValueError: it fails on such inputs, or returns another shape.
    """
    takes, number = tuple(inputs.shape[1:]), len(inputs)
    try:
        with rlgrad.no_grad():
            made = tuple(copy.deepcopy(network).eval()(inputs).shape)
    except (RuntimeError, TypeError, ValueError, IndexError) as error:
        raise ValueError(f"{name}= has to take arrays of shape {(number, *takes)}, and fails: {error}") from error
    if made != (number, outputs):
        raise ValueError(f"{name}= has to make {(number, outputs)} of {(number, *takes)}, and makes {made}.")


@dataclass(frozen=True)
class Sequences:
    """Uninterrupted pieces of episodes in one batch, step after step and longest piece first.

    Attributes:
        index: (n,) for each row of the batch its place in the flattened rollout, `step * num_envs + copy`.
        batch_sizes: (longest,) how many pieces still run at each step.
        state: arrays (1, pieces, size), the recurrent state each piece begins with.
        last: (copies,) the piece in which each copy's recording ends.
        ends: (pieces,) for each piece the place of its last row in the flattened rollout.
    """

    index: np.ndarray
    batch_sizes: np.ndarray
    state: tuple[np.ndarray, ...]
    last: np.ndarray
    ends: np.ndarray


def cut_into_sequences(starts: np.ndarray, state: tuple[np.ndarray, ...], copies: np.ndarray) -> Sequences:
    """Cuts a rollout where episodes begin.

    Args:
        starts: (steps, num_envs) bool, which steps begin an episode: their state is zero.
        state: arrays (1, num_envs, size), the state before the first step.
        copies: which copies of the environment to take.
    """
    steps, num_envs = starts.shape
    cuts = starts[:, copies].copy()
    cuts[0] = True
    column, begin = np.nonzero(cuts.T)
    number = np.diff(np.append(np.flatnonzero(begin == 0), len(begin)))
    following = np.append(begin[1:], 0)
    length = np.where(following == 0, steps, following) - begin
    order = np.argsort(-length, kind="stable")
    column, begin, length = column[order], begin[order], length[order]
    running = np.arange(length[0])[:, None] < length
    place = (begin + np.arange(length[0])[:, None]) * num_envs + copies[column]
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    goes_on = (begin == 0) & ~starts[0, copies[column]]
    inherited = tuple(array[:, copies[column]] * goes_on[None, :, None].astype(array.dtype) for array in state)
    ends = (begin + length - 1) * num_envs + copies[column]
    return Sequences(place[running], running.sum(1), inherited, rank[np.cumsum(number) - 1], ends)


class Recurrent(nn.Module):
    """A recurrent layer with a network on top.

    Args:
        core: `nn.LSTM` or `nn.GRU` of one layer and one direction.
        top: module from the core's width to the outputs.
    """

    def __init__(self, core: nn.LSTM | nn.GRU, top: nn.Module) -> None:
        super().__init__()
        self.core = core
        self.top = top

    def initial_state(self, n: int) -> tuple[np.ndarray, ...]:
        """Zeros: one array (1, n, size) for a GRU, two for an LSTM."""
        zeros = np.zeros((1, n, self.core.hidden_size), dtype=np.float32)
        return (zeros, zeros.copy()) if isinstance(self.core, nn.LSTM) else (zeros,)

    def forward(self, obs: Tensor, sequences: Sequences) -> tuple[Tensor, tuple[np.ndarray, ...]]:
        """Outputs (n, width) along sequences, and the state (1, pieces, size) after each of them."""
        packed = PackedSequence(obs, rlgrad.from_numpy(sequences.batch_sizes))
        out, state = self.core(packed, self._given(sequences.state, obs))
        return self.top(out.data), self._taken(state)

    def step(self, obs: Tensor, state: tuple[np.ndarray, ...]) -> tuple[Tensor, tuple[np.ndarray, ...]]:
        """Outputs (n, width) for one step `obs: (n, obs_dim)`, and the state after it."""
        out, after = self.core(obs.unsqueeze(0), self._given(state, obs))
        return self.top(out.squeeze(0)), self._taken(after)

    def _given(self, state: tuple[np.ndarray, ...], like: Tensor) -> Any:
        tensors = tuple(rlgrad.from_numpy(np.ascontiguousarray(array)).to(like.device) for array in state)
        return tensors if isinstance(self.core, nn.LSTM) else tensors[0]

    def _taken(self, state: Any) -> tuple[np.ndarray, ...]:
        tensors = state if isinstance(self.core, nn.LSTM) else (state,)
        return tuple(tensor.detach().cpu().numpy() for tensor in tensors)


def recurrent(kind: str, obs_dim: int, size: int, sizes: Sequence[int], activation: str, gain: float) -> Recurrent:
    """An LSTM or GRU with an MLP of `sizes` on top; orthogonal recurrent weights, zero biases."""
    core = {"lstm": nn.LSTM, "gru": nn.GRU}[kind](obs_dim, size)
    for name, parameter in core.named_parameters():
        if name.startswith("bias"):
            nn.init.zeros_(parameter)
        else:
            nn.init.orthogonal_(parameter)
    return Recurrent(core, mlp([size, *sizes], activation, gain))
