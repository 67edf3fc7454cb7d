"""Covariances, histograms, distances, and derivatives and integrals of sampled functions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from rlgrad.autograd.ops.define import method, one_dim, public, tensors_only
from rlgrad.autograd.ops.inplace import inplace, with_out, write_out
from rlgrad.autograd.ops.joining import cat
from rlgrad.autograd.ops.linalg import norm_forward, norm_vjp, vector_norm
from rlgrad.autograd.ops.return_types import results
from rlgrad.autograd.ops.writing import combine_at, renamed
from rlgrad.autograd.registry import Op, apply_one
from rlgrad.autograd.tensor import Tensor, wrap
from rlgrad.backend import dtypes
from rlgrad.backend.devices import module_of


@method
def cov(
    input: Tensor, *, correction: int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None
) -> Tensor:
    """Covariances of variables (rows) from their observations (columns).

    Args:
        input: ``(variables, observations)``, or one variable ``(observations,)``.
        correction: the divisor is the total weight less this.
        fweights: how often each observation counts, integers ``(observations,)``.
        aweights: how much each observation weighs, ``(observations,)``.
    """
    if input.ndim > 2:
        raise RuntimeError(f"cov(): expected input to have two or fewer dimensions but got {input.ndim} dimensions")
    if input.dtype is dtypes.bool_:
        raise RuntimeError("cov(): bool dtype is not supported for input")
    rows = input.reshape(1, -1) if input.ndim < 2 else input
    count = rows.shape[1]
    weights: Tensor | None = None
    for name, given, kinds in (("fweights", fweights, "iu"), ("aweights", aweights, "f")):
        if given is None:
            continue
        if given.ndim > 1:
            raise RuntimeError(
                f"cov(): expected {name} to have one or fewer dimensions but got {given.ndim} dimensions"
            )
        if given._array.dtype.kind not in kinds:
            wanted = "integral" if kinds == "iu" else "floating point"
            raise RuntimeError(
                f"cov(): expected {name} to have {wanted} dtype but got {name} with {given.dtype!r} dtype"
            )
        if given.numel() != count:
            raise RuntimeError(f"cov(): expected {name} to have the same numel as there are observations ({count})")
        if given.numel() and bool((given._array < 0).any()):
            raise RuntimeError(f"cov(): {name} cannot be negative")
        weights = given if weights is None else weights * given
    if not rows.is_floating_point():
        rows = rows.to(dtypes.get_default_dtype())
    if weights is None:
        mean: Tensor = rows.sum(1) / count
        total: Any = count
    else:
        total = weights.sum()
        if count and float(total) == 0:
            raise RuntimeError("cov(): weights sum to zero, can't be normalized")
        mean = (rows * weights).sum(1) / total
    centered = rows - mean.unsqueeze(1)
    if weights is None or aweights is None or correction == 0:
        divisor = total - correction
    else:
        divisor = total - correction * (weights * aweights).sum() / total
    weighted = centered if weights is None else centered * weights
    products = centered @ weighted.t().to(centered.dtype)
    divisor = divisor.clamp(min=0) if isinstance(divisor, Tensor) else max(divisor, 0)
    return (products / divisor).squeeze()


@method
def corrcoef(input: Tensor) -> Tensor:
    """Pearson's correlation coefficients of variables (rows) from their observations (columns)."""
    if input.ndim > 2:
        raise RuntimeError(
            f"corrcoef(): expected input to have two or fewer dimensions but got {input.ndim} dimensions"
        )
    covariance = cov(input)
    if covariance.ndim == 0:
        return covariance / covariance
    spread = covariance.diagonal().sqrt()
    return (covariance / spread.unsqueeze(1) / spread.unsqueeze(0)).clamp(-1, 1)


@method
def dist(input: Tensor, other: Tensor, p: float = 2) -> Tensor:
    """The ``p``-norm of ``input - other``."""
    tensors_only("dist", input, other)
    return renamed(vector_norm(input - other, p), "DistBackward0")


def _slice_norms(p: float, a_shape: tuple[int, ...], dim: int) -> tuple[float, tuple[int, ...], bool]:
    """What the norm of each slice along ``dim`` takes."""
    return float(p), tuple([d for d in range(len(a_shape)) if d != dim]), True


def _renorm_forward(xp: Any, a: Any, p: float, dim: int, maxnorm: float) -> Any:
    norms = norm_forward(xp, a, *_slice_norms(p, a.shape, dim))
    return a * xp.where(norms > maxnorm, maxnorm / (norms + _TINY), 1).astype(a.dtype)


def _renorm_vjp(ns: Any, g: Any, a: Any, a_shape: Any, p: float, dim: int, maxnorm: float) -> Any:
    _, dims, _ = options = _slice_norms(p, a_shape, dim)
    norms = ns.vector_norm(a, *options)
    beyond, bounded = norms > maxnorm, norms + _TINY
    along = ns.sum(g * a, dims, True) * (maxnorm / (bounded * bounded))
    return g * ns.where(beyond, maxnorm / bounded, 1) - norm_vjp(
        ns, ns.where(beyond, along, 0), a, norms, a_shape, *options
    )


_TINY = 1e-7  # keeps the factor of a slice of zeros finite
_renorm = Op("renorm", _renorm_forward, (_renorm_vjp,))


@method
def renorm(input: Tensor, p: float, dim: int, maxnorm: float, *, out: Tensor | None = None) -> Tensor:
    """``input`` with every slice along ``dim`` whose ``p``-norm exceeds ``maxnorm`` scaled down to it."""
    if p <= 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    if input.ndim < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {input.ndim} dimensions")
    if not input.is_floating_point():
        raise RuntimeError(f"renorm: expected a floating point tensor, got {input.dtype!r}; convert it with .float()")
    if input.element_size() < 4:  # squares of halves overflow
        result = renorm(input.float(), p, dim, maxnorm).to(input.dtype)
        return result if out is None else write_out(out, result, True)
    result = apply_one(_renorm, input, (p, one_dim(dim, input.ndim), maxnorm))
    return result if out is None else write_out(out, result, True)


inplace(lambda input, *args, **options: renorm(input.clone(), *args, **options), "renorm_")


def _spacings(given: Any, dims: Sequence[int], input: Tensor) -> list[Any]:
    """For each dimension the distance between samples: a number, or the coordinates as a tensor."""
    if isinstance(given, (int, float)):
        return [given] * len(dims)
    steps = [given] if isinstance(given, Tensor) else list(given)
    if len(steps) != len(dims):
        raise RuntimeError(
            f"torch.gradient expected spacing to be unspecified, a scalar, or a list of length {len(dims)}, got {len(steps)}"
        )
    for step, d in zip(steps, dims, strict=True):
        if isinstance(step, Tensor) and (step.ndim != 1 or step.shape[0] != input.shape[d]):
            raise RuntimeError(
                f"torch.gradient expected each spacing tensor to be one-dimensional with as many coordinates as the input "
                f"has samples; got shape {list(step.shape)} for {input.shape[d]} samples"
            )
    return steps


def gradient(input: Tensor, *, spacing: Any = 1, dim: Any = None, edge_order: int = 1) -> tuple[Tensor, ...]:
    """The derivative of a sampled function along dimensions, by second-order central differences.

    Args:
        spacing: the distance between samples, one for each dimension or for all, or coordinates as tensors.
        edge_order: the order of the one-sided differences at the ends, 1 or 2.
    """
    spacing = 1 if spacing is None else spacing
    if edge_order not in (1, 2):
        raise RuntimeError(f"torch.gradient only supports edge_order=1 and edge_order=2, got {edge_order}")
    dims = list(range(input.ndim)) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    dims = [one_dim(d, input.ndim) for d in dims]
    if len(set(dims)) != len(dims):
        raise RuntimeError("dim 0 appears multiple times in the list of dims")
    for d in dims:
        if input.ndim == 0 or input.shape[d] <= edge_order:
            raise RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1")
    if not input.is_floating_point() and isinstance(spacing, (int, float)):
        input = input.to(dtypes.get_default_dtype())
    return tuple(
        [_derivative(input, d, h, edge_order) for d, h in zip(dims, _spacings(spacing, dims, input), strict=True)]
    )


def _derivative(f: Tensor, dim: int, spacing: Any, order: int) -> Tensor:
    n = f.shape[dim]
    at = lambda start, length: f.narrow(dim, start, length)  # noqa: E731
    if not isinstance(spacing, Tensor):
        h = float(spacing)
        inside = (at(2, n - 2) - at(0, n - 2)) / (2 * h)
        if order == 1:
            first, last = (at(1, 1) - at(0, 1)) / h, (at(n - 1, 1) - at(n - 2, 1)) / h
        else:
            first = (at(0, 1) * -1.5 + at(1, 1) * 2 - at(2, 1) * 0.5) / h
            last = (at(n - 1, 1) * 1.5 - at(n - 2, 1) * 2 + at(n - 3, 1) * 0.5) / h
        return cat([first, inside, last], dim)
    gaps = (spacing[1:] - spacing[:-1]).reshape([-1 if d == dim else 1 for d in range(f.ndim)])
    before, after = gaps.narrow(dim, 0, n - 2), gaps.narrow(dim, 1, n - 2)
    inside = (
        at(0, n - 2) * (-after / (before * (before + after)))
        + at(1, n - 2) * ((after - before) / (before * after))
        + at(2, n - 2) * (before / (after * (before + after)))
    )
    if order == 1:
        first = (at(1, 1) - at(0, 1)) / gaps.narrow(dim, 0, 1)
        last = (at(n - 1, 1) - at(n - 2, 1)) / gaps.narrow(dim, n - 2, 1)
        return cat([first, inside, last], dim)
    a, b = gaps.narrow(dim, 0, 1), gaps.narrow(dim, 1, 1)
    first = at(0, 1) * (-(2 * a + b) / (a * (a + b))) + at(1, 1) * ((a + b) / (a * b)) - at(2, 1) * (a / (b * (a + b)))
    a, b = gaps.narrow(dim, n - 3, 1), gaps.narrow(dim, n - 2, 1)
    last = (
        at(n - 3, 1) * (b / (a * (a + b)))
        - at(n - 2, 1) * ((a + b) / (a * b))
        + at(n - 1, 1) * ((a + 2 * b) / (b * (a + b)))
    )
    return cat([first, inside, last], dim)


def _trapezoids(name: str, y: Tensor, x: Tensor | None, dim: int) -> tuple[Tensor, int]:
    """Twice the areas between neighbouring samples (a step of one apart), and along which dimension they lie."""
    dim = one_dim(dim, y.ndim)
    if y.dtype is dtypes.bool_ or (x is not None and x.dtype is dtypes.bool_):
        raise RuntimeError(f"{name}: received a bool input, bool is not supported")
    n = y.shape[dim] if y.ndim else 0
    if n == 0:
        return y.new_zeros(y.shape), dim
    later, earlier = y.narrow(dim, 1, n - 1), y.narrow(dim, 0, n - 1)
    if x is None:
        return later + earlier, dim
    if x.ndim == 1:
        if x.shape[0] != n:
            raise RuntimeError(f"{name}: There must be one `x` value for each sample point, got {x.shape[0]} for {n}")
        x = x.reshape([-1 if d == dim else 1 for d in range(y.ndim)])
    elif x.ndim < y.ndim:
        x = x.reshape((*[1] * (y.ndim - x.ndim), *x.shape))
    along = one_dim(dim - y.ndim, x.ndim)
    if x.shape[along] == 1 and n > 1:
        return (later + earlier) * 0, dim
    widths = x.narrow(along, 1, x.shape[along] - 1) - x.narrow(along, 0, x.shape[along] - 1)
    return (later + earlier) * widths, dim


def _halved(twice: Tensor, x: Tensor | None, dx: float, node: str) -> Tensor:
    return renamed(twice * (dx / 2), node) if x is None else renamed(twice / 2, "DivBackward1")


def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: float = 1, dim: int = -1) -> Tensor:
    """The integral of a sampled function along ``dim`` by the trapezoidal rule.

    Args:
        x: coordinates of the samples; without, they are ``dx`` apart.
    """
    areas, dim = _trapezoids("trapezoid", y, x, dim)
    return _halved(areas.sum(dim), x, dx, "MulBackward1")


trapz = trapezoid


def cumulative_trapezoid(y: Tensor, x: Tensor | None = None, *, dx: float = 1, dim: int = -1) -> Tensor:
    """The running integral of a sampled function along ``dim`` by the trapezoidal rule."""
    areas, dim = _trapezoids("cumulative_trapezoid", y, x, dim)
    return _halved(areas.cumsum(dim), x, dx, "CumsumBackward0")


_Histogram = results("histogram", "hist bin_edges")
_Histogramdd = results("histogramdd", "hist bin_edges")


@with_out()
@method
def histogram(
    input: Tensor, bins: Any, *, range: Any = None, weight: Tensor | None = None, density: bool = False
) -> Any:
    """Counts of elements (or sums of their weights) in bins, and the bins' edges.

    Args:
        bins: how many bins of one width, or their edges as a rising vector.
        range: the two ends of equal bins; the extremes of the elements unless given.
        density: divide by the total and by the widths of the bins.
    """
    xp = module_of(input._array)
    edges = bins._array if isinstance(bins, Tensor) else bins
    if isinstance(bins, Tensor) and bins.ndim != 1:
        raise RuntimeError(f"torch.histogram(): bins tensor should have one dimension, but got {bins.ndim} dimensions")
    if isinstance(bins, int) and bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins}")
    if range is not None and range[0] > range[1]:
        raise RuntimeError(f"torch.histogram(): min should not exceed max, but got min {range[0]} max {range[1]}")
    if weight is not None and weight.shape != input.shape:
        raise RuntimeError(
            f"torch.histogram(): if weight tensor is provided it should have the same shape as the input tensor, got "
            f"{list(weight.shape)} and {list(input.shape)}"
        )
    if weight is not None and weight.dtype is not input.dtype:
        raise RuntimeError(
            f"torch.histogram(): if weight tensor is provided, input tensor and weight tensor should have the same dtype, "
            f"but got {input.dtype!r} and {weight.dtype!r}"
        )
    dtype = input._array.dtype
    if not isinstance(bins, Tensor):
        edges = _edges(input._array, bins, range)
    weights = None if weight is None else weight._array.reshape(-1).astype(np.float64)
    counts, _ = xp.histogram(
        input._array.reshape(-1).astype(np.float64), xp.asarray(edges, np.float64), weights=weights
    )
    counts = counts.astype(dtype)
    if density:
        counts = counts / counts.sum() / xp.diff(xp.asarray(edges)).astype(dtype)
    return _Histogram(wrap(counts.astype(dtype)), wrap(xp.asarray(edges, dtype)))


def _edges(array: Any, bins: int, limits: Any) -> Any:
    low, high = (0.0, 0.0) if limits is None else (float(limits[0]), float(limits[1]))
    if limits is None and array.size:
        low, high = float(array.min()), float(array.max())
    elif limits is None:
        high = 1.0
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(f"torch.histogram(): range [{low}, {high}] is not finite")
    if low == high:
        low, high = low - 0.5, high + 0.5
    xp = module_of(array)
    low, high, number = array.dtype.type(low), array.dtype.type(high), xp.arange(bins + 1).astype(array.dtype)
    step = (high - low) / array.dtype.type(bins)
    return xp.where(number < (bins + 1) // 2, low + step * number, high - step * (bins - number))


@with_out()
def histogramdd(
    input: Tensor, bins: Any, *, range: Any = None, weight: Tensor | None = None, density: bool = False
) -> Any:
    """Counts of points ``(*, n)`` in cells of ``n`` dimensions, and the cells' edges along each.

    Args:
        bins: how many bins along each dimension, one number for all, or the edges along each as vectors.
        range: the ends of equal bins, two numbers for each dimension.
    """
    if input.ndim < 2:
        raise RuntimeError("torch.histogramdd(): input tensor should have at least 2 dimensions")
    points = input._array.reshape(-1, input.shape[-1])
    n = points.shape[1]
    given = [bins] * n if isinstance(bins, int) else list(bins)
    if len(given) != n:
        raise RuntimeError(
            f"torch.histogramdd(): expected {n} sequences of bins for input of {n} dimensions, got {len(given)}"
        )
    limits = [None if range is None else (range[2 * d], range[2 * d + 1]) for d in np.arange(n)]
    edges = [b._array if isinstance(b, Tensor) else _edges(points[:, d], b, limits[d]) for d, b in enumerate(given)]
    xp = module_of(points)
    shape = tuple([len(e) - 1 for e in edges])
    inside, cells = xp.ones(len(points), bool), []
    for d, along in enumerate(edges):
        cell, within = _cells(xp, points[:, d], along)
        cells.append(cell)
        inside &= within
    counts = xp.zeros(shape, points.dtype)
    weights = points.dtype.type(1) if weight is None else weight._array.reshape(-1)[inside]
    combine_at(xp, "add", counts, tuple([cell[inside] for cell in cells]), weights)
    if density:
        counts = counts / counts.sum()
        for d, along in enumerate(edges):
            counts = counts / xp.diff(along).reshape([-1 if k == d else 1 for k in np.arange(n)])
    return _Histogramdd(wrap(counts.astype(points.dtype)), tuple([wrap(xp.asarray(e)) for e in edges]))


def _cells(xp: Any, values: Any, edges: Any) -> tuple[Any, Any]:
    """The bin of each value, by bisection as PyTorch does it even where edges fall, and which values are in one."""
    low, count = xp.zeros(len(values), np.int64), xp.full(len(values), len(edges))
    while (count > 0).any():
        half = count // 2
        middle = xp.minimum(low + half, len(edges) - 1)
        right = (count > 0) & ~(values < edges[middle])
        low = xp.where(right, middle + 1, low)
        count = xp.where(right, count - half - 1, half * (count > 0))
    return xp.minimum(low - 1, len(edges) - 2), (values >= edges[0]) & (values <= edges[-1])


__all__ = public(globals())
