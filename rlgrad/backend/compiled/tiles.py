"""Minimal filtering: the matrices of ``kernels.winograd`` written out, for two taps and for three.

Vectors along the first dimension of tiles come in rows; along the second one they lie in runs within a row. ``n`` is
the number of taps plus one.
"""

from __future__ import annotations

import numpy as np

from rlgrad.backend.compiled.compiler import U, inlined, kernel
from rlgrad.backend.compiled.images import to_first, to_last


@inlined
def _two_in(a, b, c, u, v, w):
    for i in range(u.size):
        y = b[i]
        u[i] = a[i] - y
        v[i] = y
        w[i] = c[i] - y


@inlined
def _three_in(a, b, c, d, u, v, w, x):
    for i in range(u.size):
        y, z = b[i], c[i]
        u[i] = a[i] - z
        v[i] = y + z
        w[i] = z - y
        x[i] = y - d[i]


@inlined
def _two_in_run(row, run, tiles, step, u, v, w):
    for m in range(tiles):
        c, d = (m + m) * run, m * step
        for i in range(run):
            y = row[c + run + i]
            u[d + i] = row[c + i] - y
            v[d + i] = y
            w[d + i] = row[c + run + run + i] - y


@inlined
def _three_in_run(row, run, tiles, step, u, v, w, x):
    for m in range(tiles):
        c, d = (m + m) * run, m * step
        for i in range(run):
            y, z = row[c + run + i], row[c + run + run + i]
            u[d + i] = row[c + i] - z
            v[d + i] = y + z
            w[d + i] = z - y
            x[d + i] = y - row[c + run + run + run + i]


@kernel
def input_tiles(x, n, s, z, low, left, height, width, down, across, tiles, start, stop):
    """``B x B'`` of every tile, into ``tiles ((taps + 1)**2, batch * down * across, s * z * channels)``."""
    run, step = z * x.shape[1], tiles.shape[2]
    flat = tiles.reshape(n * n, -1)
    buffer = np.zeros(((2 * down + n - 2) * s, (2 * across + n - 2) * run), x.dtype)
    half = np.empty((n, buffer.shape[1]), x.dtype)
    for sample in range(start, stop):
        to_last(x[sample], buffer, low, left, height, width)
        for t in range(down):
            for phase in range(s):
                top = 2 * t * s + phase
                a, b, c = buffer[top], buffer[top + s], buffer[top + 2 * s]
                if n == 3:
                    _two_in(a, b, c, half[0], half[1], half[2])
                else:
                    _three_in(a, b, c, buffer[top + 3 * s], half[0], half[1], half[2], half[3])
                place = (sample * down + t) * across * step + phase * run
                for i in range(n):
                    k = n * i
                    u, v, w = flat[k, place:], flat[k + 1, place:], flat[k + 2, place:]
                    if n == 3:
                        _two_in_run(half[i], U(run), U(across), U(step), u, v, w)
                    else:
                        _three_in_run(half[i], U(run), U(across), U(step), u, v, w, flat[k + 3, place:])


@inlined
def _two_in_adjoint(u, v, w, a, b, c):
    for i in range(u.size):
        y, z = u[i], w[i]
        a[i] += y
        b[i] += v[i] - y - z
        c[i] += z


@inlined
def _three_in_adjoint(u, v, w, x, a, b, c, d):
    for i in range(u.size):
        p, q, r, s = u[i], v[i], w[i], x[i]
        a[i] += p
        b[i] += q - r + s
        c[i] += q + r - p
        d[i] -= s


@inlined
def _two_in_run_adjoint(row, run, tiles, step, u, v, w):
    for m in range(tiles):
        c, d = (m + m) * run, m * step
        for i in range(run):
            y, z = u[d + i], w[d + i]
            row[c + i] += y
            row[c + run + i] += v[d + i] - y - z
            row[c + run + run + i] += z


@inlined
def _three_in_run_adjoint(row, run, tiles, step, u, v, w, x):
    for m in range(tiles):
        c, d = (m + m) * run, m * step
        for i in range(run):
            p, q, r, s = u[d + i], v[d + i], w[d + i], x[d + i]
            row[c + i] += p
            row[c + run + i] += q - r + s
            row[c + run + run + i] += q + r - p
            row[c + run + run + run + i] -= s


@kernel
def input_tiles_adjoint(tiles, n, s, z, low, left, height, width, down, across, x, start, stop):
    """Add up in ``x`` what each tile gives to it."""
    run, step = z * x.shape[1], tiles.shape[2]
    flat = tiles.reshape(n * n, -1)
    buffer = np.empty(((2 * down + n - 2) * s, (2 * across + n - 2) * run), x.dtype)
    half = np.empty((n, buffer.shape[1]), x.dtype)
    for sample in range(start, stop):
        buffer[:] = 0
        for t in range(down):
            for phase in range(s):
                half[:] = 0
                place = (sample * down + t) * across * step + phase * run
                for i in range(n):
                    k = n * i
                    u, v, w = flat[k, place:], flat[k + 1, place:], flat[k + 2, place:]
                    if n == 3:
                        _two_in_run_adjoint(half[i], U(run), U(across), U(step), u, v, w)
                    else:
                        _three_in_run_adjoint(half[i], U(run), U(across), U(step), u, v, w, flat[k + 3, place:])
                top = 2 * t * s + phase
                a, b, c = buffer[top], buffer[top + s], buffer[top + 2 * s]
                if n == 3:
                    _two_in_adjoint(half[0], half[1], half[2], a, b, c)
                else:
                    _three_in_adjoint(half[0], half[1], half[2], half[3], a, b, c, buffer[top + 3 * s])
        to_first(buffer, x[sample], low, left, height, width)


@inlined
def _two_out(u, v, w, a, b):
    for i in range(a.size):
        y = v[i]
        a[i] = u[i] + y
        b[i] = y + w[i]


@inlined
def _three_out(u, v, w, x, a, b):
    for i in range(a.size):
        y, z = v[i], w[i]
        a[i] = u[i] + y + z
        b[i] = y - z - x[i]


@inlined
def _two_out_run(u, v, w, run, tiles, row):
    for m in range(tiles):
        c, d = (m + m) * run, m * run
        for i in range(run):
            y = v[d + i]
            row[c + i] = u[d + i] + y
            row[c + run + i] = y + w[d + i]


@inlined
def _three_out_run(u, v, w, x, run, tiles, row):
    for m in range(tiles):
        c, d = (m + m) * run, m * run
        for i in range(run):
            y, z = v[d + i], w[d + i]
            row[c + i] = u[d + i] + y + z
            row[c + run + i] = y - z - x[d + i]


@kernel
def output(tiles, n, down, across, out, start, stop):
    """``A' tile A`` of every tile of ``tiles ((taps + 1)**2, batch * down * across, filters)``, in its place."""
    filters = out.shape[1]
    width = across * filters
    flat = tiles.reshape(n * n, -1)
    buffer = np.empty((2 * down, 2 * width), out.dtype)
    half = np.empty((2, 4, width), out.dtype)
    for sample in range(start, stop):
        for t in range(down):
            b = (sample * down + t) * width
            e = b + width
            for j in range(n):
                u, v, w = flat[j, b:e], flat[n + j, b:e], flat[2 * n + j, b:e]
                if n == 3:
                    _two_out(u, v, w, half[0, j], half[1, j])
                else:
                    _three_out(u, v, w, flat[3 * n + j, b:e], half[0, j], half[1, j])
            for a in range(2):
                h, row = half[a], buffer[2 * t + a]
                if n == 3:
                    _two_out_run(h[0], h[1], h[2], U(filters), U(across), row)
                else:
                    _three_out_run(h[0], h[1], h[2], h[3], U(filters), U(across), row)
        to_first(buffer, out[sample], 0, 0, out.shape[2], out.shape[3])


@inlined
def _two_out_adjoint(a, b, u, v, w):
    for i in range(a.size):
        y, z = a[i], b[i]
        u[i] = y
        v[i] = y + z
        w[i] = z


@inlined
def _three_out_adjoint(a, b, u, v, w, x):
    for i in range(a.size):
        y, z = a[i], b[i]
        u[i] = y
        v[i] = y + z
        w[i] = y - z
        x[i] = -z


@inlined
def _two_out_run_adjoint(row, run, tiles, u, v, w):
    for m in range(tiles):
        c, d = (m + m) * run, m * run
        for i in range(run):
            y, z = row[c + i], row[c + run + i]
            u[d + i] = y
            v[d + i] = y + z
            w[d + i] = z


@inlined
def _three_out_run_adjoint(row, run, tiles, u, v, w, x):
    for m in range(tiles):
        c, d = (m + m) * run, m * run
        for i in range(run):
            y, z = row[c + i], row[c + run + i]
            u[d + i] = y
            v[d + i] = y + z
            w[d + i] = y - z
            x[d + i] = -z


@kernel
def output_adjoint(g, n, down, across, tiles, start, stop):
    """``A g A'`` of every tile, into ``tiles ((taps + 1)**2, batch * down * across, filters)``."""
    filters = g.shape[1]
    width = across * filters
    flat = tiles.reshape(n * n, -1)
    buffer = np.zeros((2 * down, 2 * width), g.dtype)
    half = np.empty((4, 2 * width), g.dtype)
    for sample in range(start, stop):
        to_last(g[sample], buffer, 0, 0, g.shape[2], g.shape[3])
        for t in range(down):
            if n == 3:
                _two_out_adjoint(buffer[2 * t], buffer[2 * t + 1], half[0], half[1], half[2])
            else:
                _three_out_adjoint(buffer[2 * t], buffer[2 * t + 1], half[0], half[1], half[2], half[3])
            place = (sample * down + t) * width
            for i in range(n):
                k = n * i
                u, v, w = flat[k, place:], flat[k + 1, place:], flat[k + 2, place:]
                if n == 3:
                    _two_out_run_adjoint(half[i], U(filters), U(across), u, v, w)
                else:
                    _three_out_run_adjoint(half[i], U(filters), U(across), u, v, w, flat[k + 3, place:])
