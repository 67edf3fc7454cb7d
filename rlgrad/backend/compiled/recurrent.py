"""All steps of an LSTM layer: rows of the batch do not meet, so that each thread takes some through the whole sequence.

Loops are kept apart where one would touch many arrays: the compiler runs a loop in vectors only if it can tell in a few
tests that what is written is not what is read.
"""

from __future__ import annotations

import numpy as np

from rlgrad.backend.compiled.compiler import U, kernel


@kernel
def _tanh(x):
    """Lambert's continued fraction of tanh(x / 4), cut after the ninth power, then the double angle twice."""
    t = min(max(x, np.float32(-9.1)), np.float32(9.1)) * np.float32(0.25)
    s = t * t
    upper = (((s + np.float32(990)) * s + np.float32(135135)) * s + np.float32(4729725)) * s + np.float32(34459425)
    lower = (
        ((np.float32(45) * s + np.float32(13860)) * s + np.float32(945945)) * s + np.float32(16216200)
    ) * s + np.float32(34459425)
    # With t = u / v the double angle 2 t / (1 + t t) is 2 u v / (v v + u u): one division is left for the end.
    u, v = t * upper * np.float32(1e-8), lower * np.float32(1e-8)
    u, v = np.float32(2) * u * v, v * v + u * u
    return np.float32(2) * u * v / (v * v + u * u)


@kernel
def _add_products(first, second, flat, out, other):
    """Add ``first @ matrix`` to ``out`` and ``second @ matrix`` to ``other``, the matrix ``(first.size, out.size)``
    flat.

    Two rows and three products at a time: as many as the compiler still runs in vectors.
    """
    size = U(out.size)
    whole = first.size - first.size % 3
    for k in range(0, whole, 3):
        a0, a1, a2, b0, b1, b2 = first[k], first[k + 1], first[k + 2], second[k], second[k + 1], second[k + 2]
        a = U(k) * size
        b, c = a + size, a + size + size
        for j in range(size):
            x, y, z = flat[a + j], flat[b + j], flat[c + j]
            out[j] += a0 * x + a1 * y + a2 * z
            other[j] += b0 * x + b1 * y + b2 * z
    for k in range(whole, first.size):
        p, q, a = first[k], second[k], U(k) * size
        for j in range(size):
            out[j] += p * flat[a + j]
            other[j] += q * flat[a + j]


@kernel
def _add_matrix(rows, flat, out, start, stop):
    """Add ``rows @ matrix`` to ``out`` from ``start`` to ``stop``."""
    for row in range(start, stop - 1, 2):
        _add_products(rows[row], rows[row + 1], flat, out[row], out[row + 1])
    if start < stop and (stop - start) % 2:
        spare = np.empty_like(out[0])
        _add_products(rows[stop - 1], rows[stop - 1], flat, out[stop - 1], spare)


@kernel
def lstm(gates, weight, scale, states, cells, squashed, sizes, start, stop):
    """Fill in gates, states, cells and the tanh of cells, step by step.

    Args:
        gates: ``(steps, batch, 4 * hidden)``, to begin with what the input adds.
        weight: of the state, ``(hidden, 4 * hidden)``, flat.
        scale: 1/2 for the gates i, f and o: sigmoid(x) = tanh(x / 2) / 2 + 1 / 2. 1 for g.
        states, cells: ``(steps + 1, batch, hidden)``, the first of them given.
        sizes: how many rows take part in each step.
    """
    hidden = cells.shape[2]
    for step in range(gates.shape[0]):
        active = max(min(stop, sizes[step]), start)
        states[step + 1, active:stop] = states[step, active:stop]
        cells[step + 1, active:stop] = cells[step, active:stop]
        squashed[step, active:stop] = 0
        _add_matrix(states[step], weight, gates[step], start, active)
        for row in range(start, active):
            gate = gates[step, row]
            for j in range(gate.size):
                gate[j] = _tanh(gate[j] * scale[j]) * scale[j] + (np.float32(1) - scale[j])
            i, f, g, o = gate[:hidden], gate[hidden : 2 * hidden], gate[2 * hidden : 3 * hidden], gate[3 * hidden :]
            before, cell, tanh, state = (
                cells[step, row],
                cells[step + 1, row],
                squashed[step, row],
                states[step + 1, row],
            )
            for j in range(hidden):
                cell[j] = f[j] * before[j] + i[j] * g[j]
            for j in range(hidden):
                tanh[j] = _tanh(cell[j])
            for j in range(hidden):
                state[j] = tanh[j] * o[j]


@kernel
def lstm_adjoint(dout, gates, weight, cells, squashed, sizes, dgates, dh, dc, start, stop):
    """Gradients of the gates, and in ``dh`` and ``dc`` of the first state and cell.

    Args:
        dout: gradient of every state, ``(steps, batch, hidden)``.
        weight: of the state, ``(4 * hidden, hidden)``, flat.
        dh, dc: ``(batch, hidden)``, to begin with the gradients of the last state and cell.
    """
    hidden = cells.shape[2]
    one = np.float32(1)
    for step in range(gates.shape[0] - 1, -1, -1):
        active = max(min(stop, sizes[step]), start)
        dgates[step, active:stop] = 0
        for row in range(start, active):
            d, gate = dgates[step, row], gates[step, row]
            i, f, g, o = gate[:hidden], gate[hidden : 2 * hidden], gate[2 * hidden : 3 * hidden], gate[3 * hidden :]
            di, df, dg, do = d[:hidden], d[hidden : 2 * hidden], d[2 * hidden : 3 * hidden], d[3 * hidden :]
            before, tanh, incoming, state, cell = (
                cells[step, row],
                squashed[step, row],
                dout[step, row],
                dh[row],
                dc[row],
            )
            for j in range(hidden):
                state[j] += incoming[j]
                cell[j] += state[j] * o[j] * (one - tanh[j] * tanh[j])
            for j in range(hidden):
                do[j] = state[j] * tanh[j] * o[j] * (one - o[j])
            for j in range(hidden):
                di[j] = cell[j] * g[j] * i[j] * (one - i[j])
                dg[j] = cell[j] * i[j] * (one - g[j] * g[j])
            for j in range(hidden):
                df[j] = cell[j] * before[j] * f[j] * (one - f[j])
                cell[j] *= f[j]
            state[:] = 0
        _add_matrix(dgates[step], weight, dh, start, active)
