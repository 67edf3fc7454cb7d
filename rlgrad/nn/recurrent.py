"""Recurrent layers."""

from __future__ import annotations

import math
import warnings
from typing import Any

from rlgrad.autograd.ops.creation import empty
from rlgrad.autograd.ops.dropout import dropout as drop
from rlgrad.autograd.ops.joining import cat, stack
from rlgrad.autograd.ops.recurrent import gru_layer, lstm_layer, rnn_layer
from rlgrad.autograd.tensor import Tensor
from rlgrad.nn import init
from rlgrad.nn.module import Module
from rlgrad.nn.parameter import Parameter
from rlgrad.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


def _check_options(dropout: float, num_layers: int, switches: dict[str, Any]) -> None:
    if isinstance(dropout, bool) or not isinstance(dropout, (int, float)) or not 0 <= dropout <= 1:
        raise ValueError(
            "dropout should be a number in range [0, 1] representing the probability of an element being zeroed, got "
            f"{dropout!r}"
        )
    if dropout > 0 and num_layers == 1:
        warnings.warn(
            f"dropout acts between recurrent layers, so dropout={dropout} has no effect with num_layers=1", stacklevel=4
        )
    for name, value in switches.items():
        if not isinstance(value, bool):
            raise TypeError(f"{name} should be of type bool, got: {type(value).__name__}")


class RNNBase(Module):
    """What RNN, LSTM and GRU share: parameters by layer and direction, layouts, and the walk over the layers.

    Args:
        mode: ``"LSTM"``, ``"GRU"``, ``"RNN_TANH"`` or ``"RNN_RELU"``; the others are those of :class:`RNN` and
            :class:`LSTM`.
    """

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        _check_options(dropout, num_layers, {"bias": bias, "batch_first": batch_first})
        for name, size in (("input_size", input_size), ("hidden_size", hidden_size)):
            if not isinstance(size, int):
                raise TypeError(f"{name} should be of type int, got: {type(size).__name__}")
            if size <= 0:
                raise ValueError(f"{name} must be greater than zero, got {size}")
        if num_layers <= 0:
            raise ValueError("num_layers must be greater than zero")
        if proj_size < 0:
            raise ValueError("proj_size should be a positive integer or zero to disable projections")
        if proj_size >= hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")
        self.mode, self.input_size, self.hidden_size, self.num_layers = mode, input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, float(dropout)
        self.bidirectional, self.proj_size = bidirectional, proj_size
        width, gates = proj_size or hidden_size, _GATES[mode] * hidden_size
        names: list[list[str | None]] = []
        for layer in range(num_layers):
            inputs = input_size if layer == 0 else width * (2 if bidirectional else 1)
            for suffix in ("", "_reverse") if bidirectional else ("",):
                shapes: dict[str, tuple[int, ...]] = {"weight_ih": (gates, inputs), "weight_hh": (gates, width)}
                if bias:
                    shapes |= {"bias_ih": (gates,), "bias_hh": (gates,)}
                if proj_size:
                    shapes["weight_hr"] = (proj_size, hidden_size)
                row: list[str | None] = []
                for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr"):
                    name = f"{kind}_l{layer}{suffix}"
                    if kind in shapes:
                        setattr(self, name, Parameter(empty(*shapes[kind], device=device, dtype=dtype)))
                    row.append(name if kind in shapes else None)
                names.append(row)
        self._names = names
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw everything uniformly within ``1 / sqrt(hidden_size)``."""
        bound = 1 / math.sqrt(self.hidden_size)
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def flatten_parameters(self) -> None:
        """Nothing to do: there is no cuDNN whose memory layout would matter."""

    @property
    def all_weights(self) -> list[list[Tensor]]:
        """The parameters of each layer and direction."""
        return [[getattr(self, name) for name in row if name is not None] for row in self._names]

    def _layer(
        self, x: Tensor, state: list[Tensor], parameters: list[Any], reverse: bool, sizes: Any
    ) -> tuple[Tensor, ...]:
        if self.mode == "LSTM":
            return lstm_layer(x, state[0], state[1], parameters, reverse, sizes)
        if self.mode == "GRU":
            return gru_layer(x, state[0], parameters[:4], reverse, sizes)
        return rnn_layer(x, state[0], parameters[:4], self.mode[4:].lower(), reverse, sizes)

    def _initial(self, x: Tensor, hx: Any, batched: bool) -> list[Tensor]:
        """The first states, each ``(layers * directions, batch, width)``."""
        rows = self.num_layers * (2 if self.bidirectional else 1)
        widths = [self.proj_size or self.hidden_size] + ([self.hidden_size] if self.mode == "LSTM" else [])
        if hx is None:
            return [x.new_zeros((rows, x.shape[1], width)) for width in widths]
        given = list(hx) if self.mode == "LSTM" else [hx]
        states = []
        for name, state, width in zip(("hidden[0]", "hidden[1]"), given, widths, strict=False):
            if state.ndim != (3 if batched else 2):
                raise RuntimeError(
                    f"For {'batched 3-D' if batched else 'unbatched 2-D'} input, hx should also be "
                    f"{'3-D' if batched else '2-D'} but got {state.ndim}-D tensor"
                )
            state = state if batched else state.unsqueeze(1)
            wanted = (rows, x.shape[1], width)
            if tuple(state.shape) != wanted:
                label = name if self.mode == "LSTM" else "hidden"
                raise RuntimeError(f"Expected {label} size {wanted}, got {list(state.shape)}")
            states.append(state)
        return states

    def forward(self, input: Any, hx: Any = None) -> Any:
        packed = isinstance(input, PackedSequence)
        sizes = order = None
        if packed:
            plain = PackedSequence(input.data, input.batch_sizes)
            x, lengths = pad_packed_sequence(plain)
            sizes, order = input.batch_sizes.tolist(), input.sorted_indices
            batched = True
        else:
            if input.ndim not in (2, 3):
                raise ValueError(f"{self._get_name()}: Expected input to be 2D or 3D, got {input.ndim}D instead")
            batched = input.ndim == 3
            x = input if batched else input.unsqueeze(1)
            if batched and self.batch_first:
                x = x.transpose(0, 1)
        weight = next(self.parameters())  # not by name, which would compute a parametrized one once more
        if x.dtype is not weight.dtype:
            raise ValueError(
                f"RNN input dtype ({x.dtype!r}) does not match weight dtype ({weight.dtype!r}). Convert input: "
                f"input.to({weight.dtype!r}), or convert model: model.to({x.dtype!r})"
            )
        if x.shape[-1] != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {x.shape[-1]}"
            )
        states = self._initial(x, hx, batched)
        if order is not None and hx is not None:
            states = [state.index_select(1, order) for state in states]
        directions = 2 if self.bidirectional else 1
        own = self._parameters
        finals: list[list[Tensor]] = [[] for _ in states]
        for layer in range(self.num_layers):
            outs = []
            for direction in range(directions):
                place = layer * directions + direction
                parameters = [
                    None if name is None else own[name] if name in own else getattr(self, name)
                    for name in self._names[place]
                ]
                reverse = direction == 1
                rows = sizes[::-1] if sizes is not None and reverse else sizes
                out, *last = self._layer(x, [state[place] for state in states], parameters, reverse, rows)
                outs.append(out)
                for known, state in zip(finals, last, strict=True):
                    known.append(state)
            x = outs[0] if directions == 1 else cat(outs, 2)
            if self.dropout and self.training and layer < self.num_layers - 1:
                x = drop(x, self.dropout)
        result = [known[0].unsqueeze(0) if len(known) == 1 else stack(known) for known in finals]
        output: Any = x
        if packed:
            output = pack_padded_sequence(x, lengths)
            output = PackedSequence(output.data, input.batch_sizes, order, input.unsorted_indices)
            if order is not None:
                result = [state.index_select(1, input.unsorted_indices) for state in result]
        elif not batched:
            output, result = x.squeeze(1), [state.squeeze(1) for state in result]
        elif self.batch_first:
            output = x.transpose(0, 1)
        return output, (tuple(result) if self.mode == "LSTM" else result[0])

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if self.proj_size:
            text += f", proj_size={self.proj_size}"
        if self.num_layers != 1:
            text += f", num_layers={self.num_layers}"
        if not self.bias:
            text += f", bias={self.bias}"
        if self.batch_first:
            text += f", batch_first={self.batch_first}"
        if self.dropout:
            text += f", dropout={self.dropout}"
        if self.bidirectional:
            text += f", bidirectional={self.bidirectional}"
        return text


class RNN(RNNBase):
    """``h' = tanh(W_ih x + b_ih + W_hh h + b_hh)`` over a sequence, in several layers and perhaps both directions.

    Args:
        input_size, hidden_size: features of the input and of the state.
        num_layers: layers, each reading the outputs of the one before.
        nonlinearity: ``"tanh"`` or ``"relu"``.
        batch_first: whether input and output are ``(batch, steps, features)`` rather than ``(steps, batch, features)``.
        dropout: probability for the outputs of all layers but the last.
        bidirectional: whether a second direction reads the sequence from its end.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        mode = "RNN_" + nonlinearity.upper()
        super().__init__(
            mode, input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, 0, device, dtype
        )
        self.nonlinearity = nonlinearity


class LSTM(RNNBase):
    """Long short-term memory (Hochreiter and Schmidhuber, 1997) over a sequence; arguments as for :class:`RNN`.

    Args:
        proj_size: extent of a linear projection of the state (Sak et al., 2014); 0 for none.

    Example:
        >>> import rlgrad
        >>> output, (h, c) = rlgrad.nn.LSTM(3, 5)(rlgrad.zeros(7, 2, 3))
        >>> output.shape, h.shape
        (torch.Size([7, 2, 5]), torch.Size([1, 2, 5]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            "LSTM",
            input_size,
            hidden_size,
            num_layers,
            bias,
            batch_first,
            dropout,
            bidirectional,
            proj_size,
            device,
            dtype,
        )


class GRU(RNNBase):
    """Gated recurrent units (Cho et al., 2014) over a sequence; arguments as for :class:`RNN`.

    Example:
        >>> import rlgrad
        >>> output, h = rlgrad.nn.GRU(3, 5, num_layers=2, bidirectional=True)(rlgrad.zeros(7, 2, 3))
        >>> output.shape, h.shape
        (torch.Size([7, 2, 10]), torch.Size([4, 2, 5]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            "GRU", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, 0, device, dtype
        )
