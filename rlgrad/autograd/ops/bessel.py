"""Bessel and Airy functions, from SciPy on the CPU and CuPy's port of it on a GPU. ``rlgrad.special`` offers them.

Derivatives are those of the NIST Digital Library of Mathematical Functions, chapter 10 (modified functions I0 and I1);
the others have none, as in PyTorch.
"""

from __future__ import annotations

import math
from typing import Any

from rlgrad.autograd.ops.define import public, unary
from rlgrad.autograd.ops.inplace import inplace
from rlgrad.autograd.ops.special import _from_scipy, refuse_half
from rlgrad.autograd.tensor import Tensor


def _i1_slope(ns: Any, g: Any, a: Any) -> Any:
    zero = a == 0
    return g * ns.where(zero, 0.5, ns.i0(a) - ns.i1(a) / ns.where(zero, 1, a))


def _i1e_slope(ns: Any, g: Any, a: Any, out: Any) -> Any:
    zero = a == 0
    return g * ns.where(zero, 0.5, ns.i0e(a) - out * (ns.sign(a) + 1 / ns.where(zero, 1, a)))


i0 = unary("i0", _from_scipy("i0"), lambda ns, g, a: g * ns.i1(a), methods=False)
i0e = unary(
    "i0e",
    _from_scipy("i0e"),
    lambda ns, g, a, out: g * (ns.i1e(a) - ns.sign(a) * out),
    node="SpecialI0EBackward0",
    methods=False,
)
i1 = unary("i1", _from_scipy("i1"), _i1_slope, node="SpecialI1Backward0", methods=False)
i1e = unary("i1e", _from_scipy("i1e"), _i1e_slope, node="SpecialI1EBackward0", methods=False)
Tensor.i0 = i0  # type: ignore[attr-defined]
inplace(i0)

bessel_j0 = unary("bessel_j0", _from_scipy("j0", False), methods=False)
bessel_j1 = unary("bessel_j1", _from_scipy("j1", False), methods=False)
bessel_y0 = unary("bessel_y0", _from_scipy("y0", False), methods=False)
bessel_y1 = unary("bessel_y1", _from_scipy("y1", False), methods=False)
modified_bessel_i0 = unary("modified_bessel_i0", _from_scipy("i0", False), methods=False)
modified_bessel_i1 = unary("modified_bessel_i1", _from_scipy("i1", False), methods=False)
modified_bessel_k0 = unary("modified_bessel_k0", _from_scipy("k0", False), methods=False)
modified_bessel_k1 = unary("modified_bessel_k1", _from_scipy("k1", False), methods=False)
scaled_modified_bessel_k0 = unary("scaled_modified_bessel_k0", _from_scipy("k0e", False), methods=False)
scaled_modified_bessel_k1 = unary("scaled_modified_bessel_k1", _from_scipy("k1e", False), methods=False)


def _spherical_j0(xp: Any, a: Any) -> Any:
    refuse_half("spherical_bessel_j0", a)
    return xp.where(xp.isinf(a), 0, xp.sinc(a / math.pi)).astype(a.dtype)


def _airy_ai(xp: Any, a: Any) -> Any:
    from rlgrad.backend.special import special_of

    refuse_half("airy_ai", a)
    out = special_of(xp).airy(a)[0]
    unknown = xp.isnan(out) & xp.isfinite(a)
    if unknown.any():  # too far out for the library: zero, or the leading term of DLMF 9.7.9
        size = abs(a)
        wave = xp.sin(2 / 3 * size * xp.sqrt(size) + math.pi / 4) / (math.sqrt(math.pi) * xp.sqrt(xp.sqrt(size)))
        out = xp.where(unknown, xp.where(a > 0, 0, wave), out)
    return out.astype(a.dtype)


spherical_bessel_j0 = unary("spherical_bessel_j0", _spherical_j0, methods=False)
airy_ai = unary("airy_ai", _airy_ai, methods=False)

__all__ = public(globals())
