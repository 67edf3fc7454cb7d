"""Functions that distributions are made of: of the normal law, of entropies, and the incomplete gamma functions.

They come from SciPy on the CPU and CuPy's port of it on a GPU; ``rlgrad.special`` offers them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rlgrad.autograd.ops.arithmetic import no_derivative
from rlgrad.autograd.ops.define import binary, public, unary
from rlgrad.autograd.ops.inplace import inplace
from rlgrad.autograd.ops.special import _from_scipy, refuse_half
from rlgrad.autograd.registry import Op
from rlgrad.autograd.tensor import Tensor
from rlgrad.backend.special import special_of

_ROOT_TAU = math.sqrt(2 * math.pi)

erfcx = unary(
    "erfcx",
    _from_scipy("erfcx", False),
    lambda ns, g, a, out: g * (a * out * 2 - 2 / math.sqrt(math.pi)),
    node="SpecialErfcxBackward0",
    methods=False,
)
ndtr = unary(
    "ndtr",
    _from_scipy("ndtr"),
    lambda ns, g, a: g * (ns.exp(a * a * -0.5) * (1 / _ROOT_TAU)),
    node="MulBackward1",
    methods=False,
)
ndtri = unary(
    "ndtri",
    _from_scipy("ndtri", False),
    lambda ns, g, out: g * (ns.exp(out * out * 0.5) * _ROOT_TAU),
    node="SpecialNdtriBackward0",
    methods=False,
)
log_ndtr = unary(
    "log_ndtr",
    _from_scipy("log_ndtr", False),
    lambda ns, g, a: g / ns.erfcx(a * -math.sqrt(0.5)) * math.sqrt(2 / math.pi),
    node="SpecialLogNdtrBackward0",
    methods=False,
)


def _entr_forward(xp: Any, a: Any) -> Any:
    inside = xp.where(a == 0, 0, -a * xp.log(a))
    return xp.where(a < 0, -math.inf, inside).astype(a.dtype)


entr = unary("entr", _entr_forward, lambda ns, g, a: g * (-1 - ns.log(a)), node="SpecialEntrBackward0", methods=False)


def _xlog1py_forward(xp: Any, a: Any, b: Any) -> Any:
    product = xp.where(a == 0, 0, a * xp.log1p(b))
    dtype = a.dtype if hasattr(a, "dtype") else b.dtype
    return xp.where(b != b, b, product).astype(dtype)


Op("nothing_times_log1p", lambda xp, a, b: (a == 0) & (b <= -1), inputs=2)
xlog1py = binary(
    "xlog1py",
    _xlog1py_forward,
    (
        lambda ns, g, a, b: g * ns.where(ns.nothing_times_log1p(a, b), 0, ns.log1p(b)),
        lambda ns, g, a, b: g * (a / (b + 1)),
    ),
    kind="float",
    node="SpecialXlog1PyBackward0",
    methods=False,
)


def _zeta_forward(xp: Any, a: Any, b: Any) -> Any:
    dtype = a.dtype if hasattr(a, "dtype") else b.dtype
    a, b = xp.asarray(a), xp.asarray(b)
    refuse_half("zeta", a)
    a, b = a.astype(np.float64), b.astype(np.float64)
    out = xp.asarray(special_of(xp).zeta(a, b))
    nothing = (out == 0) & (a > 1)
    if nothing.any():  # every term is zero, and PyTorch's remainder is zero times what overflows
        growth = math.prod(a + k for k in range(23))
        out = xp.where(nothing & (xp.isinf(growth) | xp.isinf(b)), math.nan, out)
    return out.astype(dtype)


zeta = binary(
    "zeta",
    _zeta_forward,
    (no_derivative("zeta", "self"), lambda ns, g, a, b: g * -a * ns.zeta(a + 1, b)),
    kind="float",
    node="SpecialZetaBackward0",
    methods=False,
)


def _gamma_density(ns: Any, a: Any, b: Any) -> Any:
    """The derivative by ``b`` of the lower incomplete gamma function of ``a`` and ``b``."""
    return ns.exp((a - 1) * ns.log(b) - b - ns.lgamma(a))


def _incomplete(name: str, at_zero: float) -> Any:
    """The forward of an incomplete gamma function, which has its value at the end of a range beside NaN too."""

    def forward(xp: Any, a: Any, b: Any) -> Any:
        out = getattr(special_of(xp), name)(a, b)
        if xp.isnan(out).any():
            out = xp.where((a != a) & (b == 0) | xp.isinf(a) & (a > 0) & (b != b), at_zero, out)
            out = xp.where((a != a) & xp.isinf(b) & (b > 0), 1 - at_zero, out)
        return out.astype(a.dtype)

    return forward


igamma = binary(
    "igamma",
    _incomplete("gammainc", 0),
    (no_derivative("igamma", "input"), lambda ns, g, a, b: g * _gamma_density(ns, a, b)),
    kind="float",
    numbers="none",
)
igammac = binary(
    "igammac",
    _incomplete("gammaincc", 1),
    (no_derivative("igammac", "input"), lambda ns, g, a, b: -g * _gamma_density(ns, a, b)),
    kind="float",
    numbers="none",
)
for _function in (igamma, igammac):
    setattr(Tensor, _function.__name__, _function)
    inplace(_function)

__all__ = public(globals())
