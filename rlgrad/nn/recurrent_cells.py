"""Single steps of recurrent layers."""

from __future__ import annotations

import math
from typing import Any

from rlgrad.autograd.ops.creation import empty
from rlgrad.autograd.ops.recurrent import gru_layer, lstm_layer, rnn_layer
from rlgrad.autograd.tensor import Tensor
from rlgrad.nn import init
from rlgrad.nn.module import Module
from rlgrad.nn.parameter import Parameter


class RNNCellBase(Module):
    """One step of a recurrent layer.

    Args:
        input_size, hidden_size: features of the input and of the state.
        bias: whether to add biases.
        num_chunks: gates, whose weights lie one below the other.
    """

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        rows = num_chunks * hidden_size
        self.weight_ih = Parameter(empty(rows, input_size, device=device, dtype=dtype))
        self.weight_hh = Parameter(empty(rows, hidden_size, device=device, dtype=dtype))
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, Parameter(empty(rows, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw everything uniformly within ``1 / sqrt(hidden_size)``."""
        bound = 1 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def _inputs(self, input: Tensor, states: list[Tensor | None]) -> tuple[Tensor, list[Tensor], list[Any], bool]:
        """One step of one sequence or a batch as a sequence of one step."""
        name = type(self).__name__
        if input.ndim not in (1, 2):
            raise ValueError(f"{name}: Expected input to be 1D or 2D, got {input.ndim}D instead")
        for place, state in enumerate(states):
            label = "hidden" if len(states) == 1 else f"hx[{place}]"
            if state is not None and state.ndim not in (1, 2):
                raise ValueError(f"{name}: Expected {label} to be 1D or 2D, got {state.ndim}D instead")
            if state is not None and state.ndim != input.ndim:
                raise RuntimeError(f"{name}: Expected {label} to be {input.ndim}D like the input, got {state.ndim}D")
        if input.shape[-1] != self.input_size:
            raise RuntimeError(f"input has inconsistent input_size: got {input.shape[-1]} expected {self.input_size}")
        batched = input.ndim == 2
        x = input.reshape(1, -1, self.input_size)
        ready = [
            x.new_zeros((x.shape[1], self.hidden_size)) if s is None else s if batched else s.unsqueeze(0)
            for s in states
        ]
        for place, s in enumerate(ready):
            if s.shape[0] != x.shape[1]:
                raise RuntimeError(f"Input batch size {x.shape[1]} doesn't match hidden{place} batch size {s.shape[0]}")
            if s.shape[1] != self.hidden_size:
                raise RuntimeError(
                    f"hidden{place} has inconsistent hidden_size: got {s.shape[1]}, expected {self.hidden_size}"
                )
        return x, ready, [self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh], batched

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if not self.bias:
            text += f", bias={self.bias}"
        nonlinearity = getattr(self, "nonlinearity", "tanh")
        return text if nonlinearity == "tanh" else text + f", nonlinearity={nonlinearity}"


class RNNCell(RNNCellBase):
    """``h' = tanh(W_ih x + b_ih + W_hh h + b_hh)``.

    Args:
        input_size, hidden_size: features of the input and of the state.
        bias: whether to add biases.
        nonlinearity: ``"tanh"`` or ``"relu"``.

    Shape:
        ``(batch, input_size)`` and ``(batch, hidden_size)``, or both without the batch, to the state after the step.

    Example:
        >>> import rlgrad
        >>> rlgrad.nn.RNNCell(3, 5)(rlgrad.zeros(2, 3)).shape
        torch.Size([2, 5])
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {nonlinearity}")
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        x, (h,), parameters, batched = self._inputs(input, [hx])
        _, h = rnn_layer(x, h, parameters, self.nonlinearity)
        return h if batched else h.squeeze(0)


class LSTMCell(RNNCellBase):
    """One step of :class:`LSTM`; states are pairs ``(h, c)``.

    Args:
        input_size, hidden_size: features of the input and of the state.
        bias: whether to add biases.

    Shape:
        ``(batch, input_size)`` and two states ``(batch, hidden_size)``, or all without the batch, to the states after.

    Example:
        >>> import rlgrad
        >>> cell, state = rlgrad.nn.LSTMCell(3, 5), None
        >>> for step in rlgrad.zeros(4, 2, 3):
        ...     state = cell(step, state)
        >>> state[0].shape, state[1].shape
        (torch.Size([2, 5]), torch.Size([2, 5]))
    """

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        x, (h, c), parameters, batched = self._inputs(input, [None, None] if hx is None else list(hx))
        _, h, c = lstm_layer(x, h, c, [*parameters, None])
        return (h, c) if batched else (h.squeeze(0), c.squeeze(0))


class GRUCell(RNNCellBase):
    """One step of :class:`GRU`.

    Args:
        input_size, hidden_size: features of the input and of the state.
        bias: whether to add biases.

    Shape:
        ``(batch, input_size)`` and ``(batch, hidden_size)``, or both without the batch, to the state after the step.
    """

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        x, (h,), parameters, batched = self._inputs(input, [hx])
        _, h = gru_layer(x, h, parameters)
        return h if batched else h.squeeze(0)
