"""Recurrent layers: all steps of one layer in one direction as one operation.

The input's share of every step is one matrix product. What a step needs besides the state is computed for all steps at
once, in the forward pass as well as in the backward pass, so that a step is a handful of calls.

Arrays are laid out ``(steps, batch, features)``, in the order in which the layer reads them. ``sizes`` gives for each
step how many leading rows of the batch take part, for sequences of several lengths; ``None`` is all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rlgrad.autograd.ops import joining
from rlgrad.autograd.ops.linear import linear
from rlgrad.autograd.registry import REGISTRY, Op, apply
from rlgrad.autograd.tensor import Tensor
from rlgrad.backend.kernels import jit


def _project(xp: Any, x: Any, weight: Any, bias: Any) -> Any:
    steps, batch, width = x.shape
    out = x.reshape(steps * batch, width).dot(weight.T)
    if bias is not None:
        out += bias
    return out.reshape(steps, batch, -1)


def _sum(first: Any, second: Any) -> Any:
    return first if second is None else second if first is None else first + second


def _emit(xp: Any, states: Any, reverse: bool, sizes: Sequence[int] | None) -> Any:
    """The states after each step, in the order of time; zeros where a sequence has ended."""
    out = (states[:0:-1] if reverse else states[1:]).copy()
    if sizes is not None:
        for t, n in enumerate(sizes[::-1] if reverse else sizes):
            out[t, n:] = 0
    return out


def _ordered(x: Any, reverse: bool) -> Any:
    return x[::-1] if reverse else x


def _weights(xp: Any, dgates: Any, dhidden: Any, x: Any, previous: Any, wants: Sequence[bool], first: int) -> list[Any]:
    """Gradients of the input, both weights and both biases from those of the gates.

    Args:
        dgates, dhidden: gradient of what the input and what the state adds to the gates.
        first: position of the first weight among ``wants``.
    """
    width = dgates.shape[-1]
    flat, flat_hidden = dgates.reshape(-1, width), dhidden.reshape(-1, width)
    results: list[Any] = [None] * 4
    if wants[first]:
        results[0] = flat.T.dot(x.reshape(len(flat), -1))
    if wants[first + 1]:
        results[1] = flat_hidden.T.dot(previous.reshape(len(flat), -1))
    if wants[first + 2]:
        results[2] = flat.sum(0)
    if wants[first + 3]:
        results[3] = flat_hidden.sum(0) if dhidden is not dgates or results[2] is None else results[2].copy()
    return results


def _input_gradient(dgates: Any, weight: Any, shape: tuple[int, ...], reverse: bool) -> Any:
    dx = dgates.reshape(-1, dgates.shape[-1]).dot(weight).reshape(shape)
    return dx[::-1].copy() if reverse else dx


def _rows(sizes: Sequence[int] | None, steps: int, batch: int) -> Sequence[int]:
    return [batch] * steps if sizes is None else sizes


def _start(xp: Any, g: Any, out: Any, h0: Any, reverse: bool) -> tuple[Any, Any]:
    """Gradients of the outputs in reading order, and of the last state."""
    dout = g.get(0)
    dout = xp.zeros(out.shape, out.dtype) if dout is None else _ordered(dout, reverse)
    dh = g.get(1)
    return dout, xp.zeros(h0.shape, h0.dtype) if dh is None else dh.copy()


def _compiled(xp: Any, x: Any, h0: Any, c0: Any, w_ih: Any, w_hh: Any, bias: Any, w_hr: Any) -> bool:
    """Whether the compiled layer takes these: single precision, and no projection of the state."""
    if xp is not np or w_hr is not None or x.dtype != np.float32 or not x.size:
        return False
    return jit.suits(x, h0, c0, w_ih, w_hh, *[] if bias is None else [bias])


def _lstm_forward(
    xp: Any,
    x: Any,
    h0: Any,
    c0: Any,
    w_ih: Any,
    w_hh: Any,
    b_ih: Any,
    b_hh: Any,
    w_hr: Any,
    reverse: bool,
    sizes: Sequence[int] | None,
) -> tuple[Any, ...]:
    steps, batch, _ = x.shape
    hidden = c0.shape[1]
    # sigmoid(x) = tanh(x / 2) / 2 + 1 / 2: halving the weights of i, f, o lets one tanh serve all four gates.
    scale = xp.full(4 * hidden, 0.5, x.dtype)
    scale[2 * hidden : 3 * hidden] = 1
    bias = _sum(b_ih, b_hh)
    states = xp.empty((steps + 1, *h0.shape), x.dtype)
    cells = xp.empty((steps + 1, *c0.shape), x.dtype)
    states[0], cells[0] = h0, c0
    if _compiled(xp, x, h0, c0, w_ih, w_hh, bias, w_hr):
        gates, squashed = _project(xp, _ordered(x, reverse), w_ih, bias), xp.empty((steps, *c0.shape), x.dtype)
        counts = xp.asarray(_rows(sizes, steps, batch), xp.int64)
        weight = xp.ascontiguousarray(w_hh.T).reshape(-1)
        arguments = (gates, weight, scale, states, cells, squashed, counts)
        jit.shared(jit.kernels().lstm, batch, gates.size, *arguments)
        return _emit(xp, states, reverse, sizes), states[-1].copy(), cells[-1].copy(), gates, states, cells, squashed
    offset = 1 - scale
    gates = _project(xp, _ordered(x, reverse), w_ih * scale[:, None], None if bias is None else bias * scale)
    weight = (w_hh * scale[:, None]).T
    squashed = xp.zeros((steps, *c0.shape), x.dtype)
    project = None if w_hr is None else w_hr.T
    for s, n in enumerate(_rows(sizes, steps, batch)):
        gate = gates[s, :n]
        gate += states[s, :n].dot(weight)
        xp.tanh(gate, gate)
        gate *= scale
        gate += offset
        cell = cells[s + 1, :n]
        xp.multiply(gate[:, hidden : 2 * hidden], cells[s, :n], cell)
        cell += gate[:, :hidden] * gate[:, 2 * hidden : 3 * hidden]
        y = squashed[s, :n]
        xp.tanh(cell, y)
        if project is None:
            xp.multiply(y, gate[:, 3 * hidden :], states[s + 1, :n])
        else:
            states[s + 1, :n] = (y * gate[:, 3 * hidden :]).dot(project)
        if n < batch:
            states[s + 1, n:], cells[s + 1, n:] = states[s, n:], cells[s, n:]
    return _emit(xp, states, reverse, sizes), states[-1].copy(), cells[-1].copy(), gates, states, cells, squashed


def _lstm_vjp(
    ns: Any,
    g: Any,
    wants: Sequence[bool],
    x: Any,
    h0: Any,
    c0: Any,
    w_ih: Any,
    w_hh: Any,
    b_ih: Any,
    b_hh: Any,
    w_hr: Any,
    out3: Any,
    out4: Any,
    out5: Any,
    out6: Any,
    reverse: bool,
    sizes: Any,
) -> Sequence[Any]:
    if ns.recorded:
        return _recorded(_lstm_steps, g, wants, (x, h0, c0, w_ih, w_hh, b_ih, b_hh, w_hr), reverse, sizes)
    xp, gates, states, cells, y = ns.xp, out3, out4, out5, out6
    steps, batch, _ = x.shape
    hidden = c0.shape[1]
    dout, dh = _start(xp, g, states[1:], h0, reverse)
    dc = g.get(2)
    dc = xp.zeros(c0.shape, c0.dtype) if dc is None else dc.copy()
    if _compiled(xp, x, dh, dc, dout, w_hh, None, w_hr):
        slope, counts = xp.empty_like(gates), xp.asarray(_rows(sizes, steps, batch), xp.int64)
        weight = xp.ascontiguousarray(w_hh).reshape(-1)
        arguments = (xp.ascontiguousarray(dout), gates, weight, cells, y, counts, slope, dh, dc)
        jit.shared(jit.kernels().lstm_adjoint, batch, gates.size, *arguments)
        dx = _input_gradient(slope, w_ih, x.shape, reverse) if wants[0] else None
        return [dx, dh, dc, *_weights(xp, slope, slope, _ordered(x, reverse), states[:-1], wants, 3), None]
    f, o = gates[..., hidden : 2 * hidden], gates[..., 3 * hidden :]
    # For all steps at once: how the gates follow the cell (i, f, g) and the state (o), and how the cell follows it.
    slope = gates * gates
    xp.negative(slope, slope)
    slope[..., : 2 * hidden] += gates[..., : 2 * hidden]
    slope[..., 3 * hidden :] += o
    slope[..., 2 * hidden : 3 * hidden] += 1
    slope[..., :hidden] *= gates[..., 2 * hidden : 3 * hidden]
    slope[..., hidden : 2 * hidden] *= cells[:-1]
    slope[..., 2 * hidden : 3 * hidden] *= gates[..., :hidden]
    slope[..., 3 * hidden :] *= y
    through = y * y
    xp.subtract(1, through, through)
    through *= o
    dstates = xp.empty((steps, batch, h0.shape[1]), x.dtype) if w_hr is not None else None
    rows = _rows(sizes, steps, batch)
    for s in range(steps - 1, -1, -1):
        n = rows[s]
        dgate = slope[s]  # in place
        top, dcell = dh[:n], dc[:n]
        top += dout[s, :n]
        if dstates is not None:
            dstates[s] = 0
            dstates[s, :n] = top
            inner = top.dot(w_hr)
        else:
            inner = top
        dcell += inner * through[s, :n]
        part = dgate.reshape(batch, 4, hidden)[:n, :3]
        part *= dcell[:, None]
        dgate[:n, 3 * hidden :] *= inner
        dgate[n:] = 0
        dcell *= f[s, :n]
        if n == batch:
            dh = dgate.dot(w_hh)
        else:
            dh[:n] = dgate[:n].dot(w_hh)
    results: list[Any] = [None, dh, dc]
    results += _weights(xp, slope, slope, _ordered(x, reverse), states[:-1], wants, 3)
    if wants[0]:
        results[0] = _input_gradient(slope, w_ih, x.shape, reverse)
    projected = None
    if dstates is not None and wants[7]:
        projected = dstates.reshape(steps * batch, -1).T.dot((y * o).reshape(steps * batch, -1))
    return [*results, projected]


def _lstm_steps(inputs: Sequence[Any], reverse: bool, sizes: Any) -> tuple[Tensor, ...]:
    x, h, c, w_ih, w_hh, b_ih, b_hh, w_hr = inputs
    hidden = c.shape[1]

    def step(gate: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, ...]:
        gate = gate + linear(h, w_hh, b_hh)
        i, f, o = (gate[:, k * hidden : (k + 1) * hidden].sigmoid() for k in (0, 1, 3))
        c = f * c + i * gate[:, 2 * hidden : 3 * hidden].tanh()
        h = o * c.tanh()
        return (h if w_hr is None else linear(h, w_hr), c)

    return _unrolled(step, linear(x, w_ih, b_ih), (h, c), reverse, sizes)


def _gru_forward(
    xp: Any,
    x: Any,
    h0: Any,
    w_ih: Any,
    w_hh: Any,
    b_ih: Any,
    b_hh: Any,
    reverse: bool,
    sizes: Sequence[int] | None,
) -> tuple[Any, ...]:
    steps, batch, _ = x.shape
    hidden = h0.shape[1]
    scale = xp.full(3 * hidden, 0.5, x.dtype)
    scale[2 * hidden :] = 1
    gates = _project(xp, _ordered(x, reverse), w_ih * scale[:, None], None if b_ih is None else b_ih * scale)
    weight = (w_hh * scale[:, None]).T
    bias = None if b_hh is None else b_hh * scale
    states = xp.empty((steps + 1, *h0.shape), x.dtype)
    states[0] = h0
    candidates = xp.zeros((steps, *h0.shape), x.dtype)  # what the state adds to the new gate, before r
    for s, n in enumerate(_rows(sizes, steps, batch)):
        h, gate = states[s, :n], gates[s, :n]
        added = h.dot(weight)
        if bias is not None:
            added += bias
        rz, new = gate[:, : 2 * hidden], gate[:, 2 * hidden :]
        rz += added[:, : 2 * hidden]
        xp.tanh(rz, rz)
        rz *= 0.5
        rz += 0.5
        candidates[s, :n] = added[:, 2 * hidden :]
        new += rz[:, :hidden] * candidates[s, :n]
        xp.tanh(new, new)
        after = states[s + 1, :n]
        xp.subtract(h, new, after)
        after *= rz[:, hidden:]
        after += new
        states[s + 1, n:] = states[s, n:]
    return _emit(xp, states, reverse, sizes), states[-1].copy(), gates, states, candidates


def _gru_vjp(
    ns: Any,
    g: Any,
    wants: Sequence[bool],
    x: Any,
    h0: Any,
    w_ih: Any,
    w_hh: Any,
    b_ih: Any,
    b_hh: Any,
    out2: Any,
    out3: Any,
    out4: Any,
    reverse: bool,
    sizes: Any,
) -> Sequence[Any]:
    if ns.recorded:
        return _recorded(_gru_steps, g, wants, (x, h0, w_ih, w_hh, b_ih, b_hh), reverse, sizes)
    xp, states = ns.xp, out3
    steps, batch, _ = x.shape
    hidden = h0.shape[1]
    dout, dh = _start(xp, g, states[1:], h0, reverse)
    r, z, new = (out2[..., k * hidden : (k + 1) * hidden] for k in range(3))
    # How r, z and what the state adds to the new gate follow the state's gradient, for all steps at once.
    slope = xp.empty_like(out2)
    dnew = (1 - z) * (1 - new * new)
    slope[..., :hidden] = dnew * out4 * r * (1 - r)
    slope[..., hidden : 2 * hidden] = (states[:-1] - new) * z * (1 - z)
    slope[..., 2 * hidden :] = dnew * r
    rows = _rows(sizes, steps, batch)
    for s in range(steps - 1, -1, -1):
        n = rows[s]
        top = dh[:n]
        top += dout[s, :n]
        dgate = slope[s, :n]
        for k in range(0, 3 * hidden, hidden):
            dgate[:, k : k + hidden] *= top
        dnew[s, :n] *= top
        top *= z[s, :n]
        top += dgate.dot(w_hh)
        if n < batch:
            slope[s, n:] = 0
            dnew[s, n:] = 0
    dgates = slope.copy()
    dgates[..., 2 * hidden :] = dnew
    dx = _input_gradient(dgates, w_ih, x.shape, reverse) if wants[0] else None
    return [dx, dh, *_weights(xp, dgates, slope, _ordered(x, reverse), states[:-1], wants, 2)]


def _gru_steps(inputs: Sequence[Any], reverse: bool, sizes: Any) -> tuple[Tensor, ...]:
    x, h, w_ih, w_hh, b_ih, b_hh = inputs
    hidden = h.shape[1]

    def step(gate: Tensor, h: Tensor) -> tuple[Tensor, ...]:
        added = linear(h, w_hh, b_hh)
        r, z = ((gate + added)[:, k * hidden : (k + 1) * hidden].sigmoid() for k in range(2))
        new = (gate[:, 2 * hidden :] + r * added[:, 2 * hidden :]).tanh()
        return (new + z * (h - new),)

    return _unrolled(step, linear(x, w_ih, b_ih), (h,), reverse, sizes)


def _rnn_forward(
    xp: Any,
    x: Any,
    h0: Any,
    w_ih: Any,
    w_hh: Any,
    b_ih: Any,
    b_hh: Any,
    nonlinearity: str,
    reverse: bool,
    sizes: Sequence[int] | None,
) -> tuple[Any, ...]:
    steps, batch, _ = x.shape
    added = _project(xp, _ordered(x, reverse), w_ih, _sum(b_ih, b_hh))
    states = xp.empty((steps + 1, *h0.shape), x.dtype)
    states[0] = h0
    for s, n in enumerate(_rows(sizes, steps, batch)):
        after = added[s, :n]
        after += states[s, :n].dot(w_hh.T)
        if nonlinearity == "tanh":
            xp.tanh(after, states[s + 1, :n])
        else:
            xp.maximum(after, 0, out=states[s + 1, :n])
        states[s + 1, n:] = states[s, n:]
    return _emit(xp, states, reverse, sizes), states[-1].copy(), states


def _rnn_vjp(
    ns: Any,
    g: Any,
    wants: Sequence[bool],
    x: Any,
    h0: Any,
    w_ih: Any,
    w_hh: Any,
    b_ih: Any,
    b_hh: Any,
    out2: Any,
    nonlinearity: str,
    reverse: bool,
    sizes: Any,
) -> Sequence[Any]:
    if ns.recorded:
        steps_of = _tanh_steps if nonlinearity == "tanh" else _relu_steps
        return _recorded(steps_of, g, wants, (x, h0, w_ih, w_hh, b_ih, b_hh), reverse, sizes)
    xp, states = ns.xp, out2
    steps, batch, _ = x.shape
    dout, dh = _start(xp, g, states[1:], h0, reverse)
    slope = 1 - states[1:] * states[1:] if nonlinearity == "tanh" else (states[1:] > 0).astype(x.dtype)
    rows = _rows(sizes, steps, batch)
    for s in range(steps - 1, -1, -1):
        n = rows[s]
        dgate = slope[s, :n]
        dh[:n] += dout[s, :n]
        dgate *= dh[:n]
        slope[s, n:] = 0
        dh[:n] = dgate.dot(w_hh)
    dx = _input_gradient(slope, w_ih, x.shape, reverse) if wants[0] else None
    return [dx, dh, *_weights(xp, slope, slope, _ordered(x, reverse), states[:-1], wants, 2)]


def _simple_steps(inputs: Sequence[Any], reverse: bool, sizes: Any, name: str) -> tuple[Tensor, ...]:
    x, h, w_ih, w_hh, b_ih, b_hh = inputs

    def step(gate: Tensor, h: Tensor) -> tuple[Tensor, ...]:
        return (getattr(gate + linear(h, w_hh, b_hh), name)(),)

    return _unrolled(step, linear(x, w_ih, b_ih), (h,), reverse, sizes)


def _tanh_steps(inputs: Sequence[Any], reverse: bool, sizes: Any) -> tuple[Tensor, ...]:
    return _simple_steps(inputs, reverse, sizes, "tanh")


def _relu_steps(inputs: Sequence[Any], reverse: bool, sizes: Any) -> tuple[Tensor, ...]:
    return _simple_steps(inputs, reverse, sizes, "relu")


def _unrolled(step: Any, gates: Tensor, state: tuple[Tensor, ...], reverse: bool, sizes: Any) -> tuple[Tensor, ...]:
    steps, batch = gates.shape[0], gates.shape[1]
    outs = []
    for s, n in enumerate(_rows(sizes, steps, batch)):
        gate = gates[steps - 1 - s if reverse else s]
        if n == batch:
            state = step(gate, *state)
            outs.append(state[0])
        else:
            after = step(gate[:n], *[part[:n] for part in state])
            state = tuple([joining.cat([a, part[n:]]) for a, part in zip(after, state, strict=True)])
            outs.append(joining.cat([after[0], state[0][n:] * 0]))
    return (joining.stack(outs[::-1] if reverse else outs), *state)


def _recorded(
    steps: Any, g: Any, wants: Sequence[bool], tensors: Sequence[Any], reverse: bool, sizes: Any
) -> Sequence[Any]:
    from rlgrad.autograd.differentiate import grad as gradient

    # A view of each: a tensor may be an input several times, and each use has its own gradient here.
    inputs = [None if t is None else apply(REGISTRY["reshape"], (t,), (tuple(t.shape),)) for t in tensors]
    outputs = steps(inputs, reverse, sizes)
    used = [k for k in range(len(outputs)) if g.get(k) is not None]
    chosen = [i for i, want in enumerate(wants) if want]
    found = gradient(
        [outputs[k] for k in used],
        [inputs[i] for i in chosen],  # type: ignore[misc]
        [g[k] for k in used],
        create_graph=True,
        allow_unused=True,
    )
    results: list[Any] = [None] * len(wants)
    for i, value in zip(chosen, found, strict=True):
        results[i] = value
    return results


_lstm = Op("lstm_layer", _lstm_forward, _lstm_vjp, inputs=8, multiple=True)
_gru = Op("gru_layer", _gru_forward, _gru_vjp, inputs=6, multiple=True)
_rnn = Op("rnn_layer", _rnn_forward, _rnn_vjp, inputs=6, multiple=True)


def lstm_layer(
    x: Tensor, h: Tensor, c: Tensor, parameters: Sequence[Tensor | None], reverse: bool = False, sizes: Any = None
) -> tuple[Tensor, Tensor, Tensor]:
    """One LSTM layer in one direction: its outputs, last state and last cell.

    Args:
        x: ``(steps, batch, features)``.
        h, c: the first state ``(batch, hidden or projection)`` and cell ``(batch, hidden)``.
        parameters: both weights, both biases or ``None``, projection or ``None``.
    """
    out = apply(_lstm, (x, h, c, *parameters), (reverse, sizes))
    return out[0], out[1], out[2]


def gru_layer(
    x: Tensor, h: Tensor, parameters: Sequence[Tensor | None], reverse: bool = False, sizes: Any = None
) -> tuple[Tensor, Tensor]:
    """One GRU layer in one direction: its outputs and last state."""
    out = apply(_gru, (x, h, *parameters), (reverse, sizes))
    return out[0], out[1]


def rnn_layer(
    x: Tensor,
    h: Tensor,
    parameters: Sequence[Tensor | None],
    nonlinearity: str = "tanh",
    reverse: bool = False,
    sizes: Any = None,
) -> tuple[Tensor, Tensor]:
    """One simple recurrent layer in one direction: its outputs and last state."""
    out = apply(_rnn, (x, h, *parameters), (nonlinearity, reverse, sizes))
    return out[0], out[1]
