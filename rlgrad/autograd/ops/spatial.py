"""Images and sequences rearranged: padding, windows as columns, changes of resolution, lookup tables, dropout, attention."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from rlgrad.autograd.ops.convolution import Extents, extents
from rlgrad.autograd.ops.define import assign, check_inplace, unary
from rlgrad.autograd.ops.fused import softmax
from rlgrad.autograd.registry import Op, apply
from rlgrad.autograd.tensor import Tensor, wrap
from rlgrad.backend.devices import module_of
from rlgrad.backend.random import Generator, default_generator

# Padding


def _pad_forward(xp: Any, a: Any, pads: tuple[tuple[int, int], ...], value: float) -> Any:
    shape = tuple([n + low + high for n, (low, high) in zip(a.shape, pads, strict=True)])
    out = xp.full(shape, value, a.dtype)
    place = tuple([slice(max(low, 0), n - max(high, 0)) for n, (low, high) in zip(shape, pads, strict=True)])
    part = tuple([slice(max(-low, 0), n - max(-high, 0)) for n, (low, high) in zip(a.shape, pads, strict=True)])
    out[place] = a[part]
    return out


_pad = Op(
    "constant_pad_nd",
    _pad_forward,
    (lambda ns, g, pads: ns.constant_pad_nd(g, tuple([(-low, -high) for low, high in pads]), 0),),
)


def _take_axis(xp: Any, a: Any, index: Any, dim: int) -> Any:
    return xp.take(a, index, axis=dim)


def _add_axis(xp: Any, g: Any, index: Any, size: int, dim: int) -> Any:
    """The adjoint of taking along one dimension: sums of the entries that came from one place."""
    shape = (*g.shape[:dim], size, *g.shape[dim + 1 :])
    out = xp.zeros(shape, g.dtype)
    lead = (slice(None),) * dim
    if xp is not np:
        xp.add.at(out, (*lead, index), g)
    elif len(index):
        order = np.argsort(index, kind="stable")
        places, starts = np.unique(index[order], return_index=True)
        out[(*lead, places)] = np.add.reduceat(np.take(g, order, dim), starts, axis=dim)
    return out


_take = Op(
    "take_axis",
    _take_axis,
    (lambda ns, g, index, a_shape, dim: ns.add_axis(g, index, a_shape[dim], dim), None),
    node="IndexSelectBackward0",
)
Op("add_axis", _add_axis, (lambda ns, g, index, dim: ns.take_axis(g, index, dim), None))


def _chosen(input: Tensor, index: np.ndarray, dim: int) -> Tensor:
    xp = module_of(input._array)
    return apply(_take, (input, wrap(xp.asarray(index))), (dim,))


def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """Lengthen the last dimensions, or shorten them where an amount is negative.

    Args:
        pad: ``(left, right)`` of the last dimension, then of the one before it, and so on.
        mode: ``"constant"``, ``"reflect"``, ``"replicate"`` or ``"circular"``.
        value: of the new elements with ``"constant"``.
    """
    amounts = [int(n) for n in pad]
    shape = input._array.shape
    ndim, count = len(shape), len(amounts) // 2
    if len(amounts) % 2:
        raise RuntimeError(f"Padding length must be divisible by 2, but got {list(amounts)}")
    if count > ndim:
        raise RuntimeError(
            f"Padding length should be less than or equal to two times the input dimension but got padding length "
            f"{len(amounts)} and input of dimension {ndim}"
        )
    pairs = [(0, 0)] * (ndim - count) + [(amounts[2 * i], amounts[2 * i + 1]) for i in reversed(range(count))]
    for dim, (n, (low, high)) in enumerate(zip(shape, pairs, strict=True)):
        if n + low + high < 0:
            raise RuntimeError(
                f"The input size {n}, plus negative padding {low} and {high} resulted in a negative output size, which is "
                f"invalid. Check dimension {dim} of your input."
            )
    if mode == "constant":
        return apply(_pad, (input,), (tuple(pairs), 0.0 if value is None else value))
    if value is not None:
        raise ValueError(f'Padding mode "{mode}" doesn\'t take in value argument')
    if mode not in ("reflect", "replicate", "circular"):
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if ndim not in (count + 1, count + 2):
        raise NotImplementedError(
            f"Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now, got {ndim}D with {len(amounts)}"
        )
    for dim, (low, high) in enumerate(pairs):
        n = shape[dim]
        if low == high == 0:
            continue
        places = np.arange(-low, n + high)
        if mode == "reflect":
            if low >= n or high >= n:
                raise RuntimeError(
                    f"Argument #4: Padding size should be less than the corresponding input dimension, but got: padding "
                    f"({low}, {high}) at dimension {dim} of input {list(shape)}"
                )
            places = np.where(places < 0, -places, np.where(places >= n, 2 * (n - 1) - places, places))
        elif mode == "circular":
            if low > n or high > n:
                raise RuntimeError("Padding value causes wrapping around more than once.")
            places = places % n
        else:
            places = places.clip(0, n - 1)
        input = _chosen(input, places, dim)
    return input


# Windows as columns


def _columns(xp: Any, a: Any, kernel: Extents, stride: Extents, pads: Extents, dilation: Extents) -> Any:
    batch, channels, height, width = a.shape
    rows, cols = _grid((height, width), kernel, stride, pads, dilation)
    buffer = xp.zeros((batch, channels, height + 2 * pads[0], width + 2 * pads[1]), a.dtype)
    buffer[:, :, pads[0] : pads[0] + height, pads[1] : pads[1] + width] = a
    out = xp.empty((batch, channels, *kernel, rows, cols), a.dtype)
    for i, j in itertools.product(range(kernel[0]), range(kernel[1])):
        out[:, :, i, j] = buffer[(slice(None), slice(None), *_lattice((i, j), (rows, cols), stride, dilation))]
    return out.reshape(batch, channels * kernel[0] * kernel[1], rows * cols)


def _uncolumns(
    xp: Any, g: Any, spatial: Extents, kernel: Extents, stride: Extents, pads: Extents, dilation: Extents
) -> Any:
    rows, cols = _grid(spatial, kernel, stride, pads, dilation)
    g = g.reshape(g.shape[0], -1, *kernel, rows, cols)
    height, width = spatial
    buffer = xp.zeros((g.shape[0], g.shape[1], height + 2 * pads[0], width + 2 * pads[1]), g.dtype)
    for i, j in itertools.product(range(kernel[0]), range(kernel[1])):
        buffer[(slice(None), slice(None), *_lattice((i, j), (rows, cols), stride, dilation))] += g[:, :, i, j]
    return xp.ascontiguousarray(buffer[:, :, pads[0] : pads[0] + height, pads[1] : pads[1] + width])


def _lattice(offset: Extents, out: Extents, stride: Extents, dilation: Extents) -> tuple[slice, ...]:
    return tuple(
        [slice(o * d, o * d + (n - 1) * s + 1, s) for o, n, s, d in zip(offset, out, stride, dilation, strict=True)]
    )


def _grid(spatial: Extents, kernel: Extents, stride: Extents, pads: Extents, dilation: Extents) -> Extents:
    return tuple(
        [
            (n + 2 * p - d * (k - 1) - 1) // s + 1
            for n, k, s, p, d in zip(spatial, kernel, stride, pads, dilation, strict=True)
        ]
    )


_unfold = Op(
    "im2col",
    _columns,
    (lambda ns, g, a_shape, kernel, stride, pads, dilation: ns.col2im(g, a_shape[2:], kernel, stride, pads, dilation),),
    node="Im2ColBackward0",
)
_fold = Op(
    "col2im",
    _uncolumns,
    (lambda ns, g, kernel, stride, pads, dilation: ns.im2col(g, kernel, stride, pads, dilation),),
    node="Col2ImBackward0",
)


def unfold(input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """Every window of an image as a column.

    Args:
        input: ``(batch, channels, height, width)``, or without the batch.

    Returns:
        ``(batch, channels * window elements, windows)``.
    """
    if input.ndim == 3:
        return unfold(input.unsqueeze(0), kernel_size, dilation, padding, stride).squeeze(0)
    if input.ndim != 4:
        raise RuntimeError(f"Expected 3D or 4D (batch mode) tensor for input, but got: {list(input.shape)}")
    kernel, steps = extents(kernel_size, 2, "kernel_size"), extents(stride, 2, "stride")
    pads, spread = extents(padding, 2, "padding"), extents(dilation, 2, "dilation")
    grid = _grid(input._array.shape[2:], kernel, steps, pads, spread)
    if min(grid) < 1:
        raise RuntimeError(
            f"Given input with spatial size {list(input.shape[2:])}, kernel_size={kernel}, dilation={spread}, "
            f"padding={pads}, calculated shape of the array of sliding blocks as {grid}, but its components must be at least one."
        )
    return apply(_unfold, (input,), (kernel, steps, pads, spread))


def fold(
    input: Tensor, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Tensor:
    """Sum columns, as :func:`unfold` makes them, back into images of ``output_size``."""
    if input.ndim == 2:
        return fold(input.unsqueeze(0), output_size, kernel_size, dilation, padding, stride).squeeze(0)
    spatial, kernel = extents(output_size, 2, "output_size"), extents(kernel_size, 2, "kernel_size")
    steps, pads = extents(stride, 2, "stride"), extents(padding, 2, "padding")
    spread = extents(dilation, 2, "dilation")
    grid = _grid(spatial, kernel, steps, pads, spread)
    if input.ndim != 3 or input.shape[1] % math.prod(kernel) or input.shape[2] != math.prod(grid) or min(grid) < 1:
        raise RuntimeError(
            f"Given output_size={spatial}, kernel_size={kernel}, dilation={spread}, padding={pads}, stride={steps}, expected "
            f"input of shape (batch, a multiple of {math.prod(kernel)}, {math.prod(grid)}), but got {list(input.shape)}"
        )
    return apply(_fold, (input,), (spatial, kernel, steps, pads, spread))


def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """``(*, C * r * r, H, W)`` to ``(*, C, H * r, W * r)`` (Shi et al., 2016)."""
    r, shape = upscale_factor, tuple(input.shape)
    if len(shape) < 3 or shape[-3] % (r * r):
        raise RuntimeError(
            f"pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, but "
            f"input of shape {list(shape)} is not divisible by {r * r}"
        )
    lead, (c, h, w) = shape[:-3], shape[-3:]
    k = len(lead)
    split = input.reshape(*lead, c // (r * r), r, r, h, w)
    return split.permute(*range(k), k, k + 3, k + 1, k + 4, k + 2).reshape(*lead, c // (r * r), h * r, w * r)


def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """``(*, C, H * r, W * r)`` to ``(*, C * r * r, H, W)``, the inverse of :func:`pixel_shuffle`."""
    r, shape = downscale_factor, tuple(input.shape)
    if len(shape) < 3 or shape[-1] % r or shape[-2] % r:
        raise RuntimeError(f"pixel_unshuffle expects height and width to be divisible by {r}, but got {list(shape)}")
    lead, (c, h, w) = shape[:-3], shape[-3:]
    k = len(lead)
    split = input.reshape(*lead, c, h // r, r, w // r, r)
    return split.permute(*range(k), k, k + 2, k + 4, k + 1, k + 3).reshape(*lead, c * r * r, h // r, w // r)


# Resolution


def _linear_matrix(size: int, out: int, align_corners: bool, scale: float | None) -> np.ndarray:
    """Weights ``(out, size)`` of linear interpolation."""
    if align_corners:
        source = np.arange(out) * ((size - 1) / (out - 1) if out > 1 else 0.0)
    else:
        ratio = 1.0 / scale if scale is not None else size / out
        source = np.maximum((np.arange(out) + 0.5) * ratio - 0.5, 0.0)
    low = np.minimum(np.floor(source).astype(np.int64), size - 1)
    high, share = np.minimum(low + 1, size - 1), source - low
    matrix = np.zeros((out, size))
    np.add.at(matrix, (np.arange(out), low), 1 - share)
    np.add.at(matrix, (np.arange(out), high), share)
    return matrix


def interpolate(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """Resample ``input (batch, channels, *spatial)`` to ``size``, or by ``scale_factor``.

    Args:
        mode: ``"nearest"``, ``"nearest-exact"``, ``"linear"`` (3-D input), ``"bilinear"`` (4-D), ``"trilinear"`` (5-D) or
            ``"area"``.
        align_corners: let the corner elements of both grids coincide (linear modes).
    """
    spatial = tuple(input.shape[2:])
    rank = len(spatial)
    if (size is None) == (scale_factor is None):
        raise ValueError("only one of size or scale_factor should be defined, and one of them must be")
    scales: list[float | None]
    if size is not None:
        out, scales = extents(size, rank, "size"), [None] * rank
    else:
        given = list(scale_factor) if isinstance(scale_factor, (tuple, list)) else [scale_factor] * rank
        if len(given) != rank:
            raise ValueError(f"Input and scale_factor must have the same number of spatial dimensions, got {given}")
        out = tuple([math.floor(n * f) for n, f in zip(spatial, given, strict=True)])
        scales = [None] * rank if recompute_scale_factor else [float(f) for f in given]
    linear = {"linear": 1, "bilinear": 2, "trilinear": 3}
    if align_corners is not None and mode not in (*linear, "bicubic"):
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear"
        )
    if min(out) <= 0:
        raise RuntimeError(f"Input and output sizes should be greater than 0, but got {list(spatial)} and {list(out)}")
    if antialias or mode not in ("nearest", "nearest-exact", "area", *linear):
        raise NotImplementedError(f"interpolate: mode {mode!r} (antialias={antialias}) is not supported")
    if linear.get(mode, rank) != rank:
        raise NotImplementedError(f"Got {input.ndim}D input, but {mode} mode needs {linear[mode] + 2}D input")
    for i, (n, m, f) in enumerate(zip(spatial, out, scales, strict=True)):
        dim = 2 + i
        if mode.startswith("nearest"):
            ratio = np.float32(1.0 / f) if f is not None else np.float32(n) / np.float32(m)
            half = np.float32(0.5 if mode == "nearest-exact" else 0.0)
            places = np.minimum(((np.arange(m, dtype=np.float32) + half) * ratio).astype(np.int64), n - 1)
            input = _chosen(input, places, dim)
            continue
        if mode == "area":
            matrix = np.zeros((m, n))
            for row in range(m):
                start, end = row * n // m, -(-(row + 1) * n // m)
                matrix[row, start:end] = 1.0 / (end - start)
        else:
            matrix = _linear_matrix(n, m, bool(align_corners), f)
        factor = wrap(module_of(input._array).asarray(matrix, input._array.dtype))
        input = (input.transpose(dim, -1) @ factor.t()).transpose(dim, -1)
    return input


# Lookup tables


def _embedding_gradient(
    xp: Any, g: Any, index: Any, shape: tuple[int, ...], padding_idx: int | None, by_frequency: bool
) -> Any:
    flat, rows = index.reshape(-1), g.reshape(-1, shape[1])
    if by_frequency and flat.size:
        rows = rows / xp.bincount(flat, minlength=shape[0])[flat][:, None].astype(g.dtype)
    out = _add_axis(xp, rows, flat, shape[0], 0)
    if padding_idx is not None:
        out[padding_idx] = 0
    return out


def _embedding_gradient_vjp(ns: Any, g: Any, index: Any, padding_idx: int | None, by_frequency: bool) -> Any:
    if by_frequency:
        raise RuntimeError("embedding with scale_grad_by_freq has no second derivative")
    rows = ns.embedding(g, index, padding_idx, False)
    return rows if padding_idx is None else rows * ns.not_padding(index, g, padding_idx)


Op("not_padding", lambda xp, index, like, row: (index != row)[..., None].astype(like.dtype), inputs=2)
_embedding = Op(
    "embedding",
    lambda xp, a, index, padding_idx, by_frequency: a[index],
    (
        lambda ns, g, index, a_shape, padding_idx, by_frequency: ns.embedding_gradient(
            g, index, a_shape, padding_idx, by_frequency
        ),
        None,
    ),
)
Op("embedding_gradient", _embedding_gradient, (_embedding_gradient_vjp, None))


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Rows of ``weight (entries, features)`` named by the integers ``input (*)``, as ``(*, features)``.

    Args:
        padding_idx: an entry that gets no gradient.
        max_norm: rows of a larger norm are first scaled down in place.
        scale_grad_by_freq: divide gradients by how often an entry occurs in ``input``.
    """
    index = input._array
    if index.dtype.kind not in "iu":
        raise RuntimeError(
            f"Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
            f"{input.dtype!r} instead (while checking arguments for embedding)"
        )
    entries = weight._array.shape[0]
    if padding_idx is not None:
        if not -entries <= padding_idx < entries:
            raise AssertionError("Padding_idx must be within num_embeddings")
        padding_idx %= entries
    if index.size and (int(index.min()) < 0 or int(index.max()) >= entries):
        raise IndexError("index out of range in self")
    if max_norm is not None:
        rows = np.unique(index)
        found = weight._array[rows]
        norms = (abs(found) ** norm_type).sum(1, keepdims=True) ** (1 / norm_type)
        factor = np.where(norms > max_norm, max_norm / (norms + 1e-7), 1.0)
        weight._array[rows] = found * factor.astype(found.dtype)
        weight._cell[0] += 1
    return apply(_embedding, (weight, input), (padding_idx, scale_grad_by_freq))


# Dropout

_dropout = Op("dropout", lambda xp, a, kept: a * kept, (lambda ns, g, kept: g * kept, None))


def _drop(input: Tensor, p: float, shape: tuple[int, ...], generator: Generator | None) -> Tensor:
    array = input._array
    xp = module_of(array)
    if p == 1:
        kept = xp.zeros(shape, array.dtype)
    else:
        draw = np.float32 if array.dtype.itemsize <= 4 else np.float64
        uniform = (generator or default_generator).on(xp).random(shape, dtype=draw)
        kept = (uniform >= p).astype(array.dtype)
        kept *= 1.0 / (1.0 - p)
    return apply(_dropout, (input, wrap(kept)))


def _dropout_function(
    input: Tensor, p: float, training: bool, inplace: bool, generator: Generator | None, dims: int | None
) -> Tensor:
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if inplace:
        check_inplace(input)
    if not training or p == 0:
        return input
    shape = input._array.shape
    if dims is not None:
        lead = len(shape) - dims
        if lead not in (1, 2):
            raise RuntimeError(f"dropout{dims}d: expected {dims + 1}D or {dims + 2}D input, got {list(shape)}")
        shape = shape[:lead] + (1,) * dims
    result = _drop(input, p, shape, generator)
    return assign(input, result) if inplace else result


def dropout(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False, *, generator: Generator | None = None
) -> Tensor:
    """Zero elements with probability ``p`` and scale the rest by ``1 / (1 - p)`` (Srivastava et al., 2014).

    Args:
        generator: the source of randomness; the default generator when not given.
    """
    return _dropout_function(input, p, training, inplace, generator, None)


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """:func:`dropout` of whole channels of ``(batch, channels, length)``."""
    return _dropout_function(input, p, training, inplace, None, 1)


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """:func:`dropout` of whole channels of ``(batch, channels, height, width)``."""
    return _dropout_function(input, p, training, inplace, None, 2)


# Attention and its activation


def _erf(xp: Any, a: Any) -> Any:
    if xp is not np:
        from cupyx.scipy.special import erf

        return erf(a)
    try:
        from scipy.special import erf
    except ImportError:
        return np.vectorize(math.erf, otypes=[a.dtype])(a)
    return erf(a)


_normal_cdf = unary(
    "normal_cdf",
    lambda xp, a: 0.5 * (1 + _erf(xp, a * math.sqrt(0.5))),
    lambda ns, g, a: g * (ns.exp(a * a * -0.5) * (1 / math.sqrt(2 * math.pi))),
    methods=False,
    in_place=False,
)
_gelu = unary(
    "gelu",
    lambda xp, a: a * (0.5 * (1 + _erf(xp, a * math.sqrt(0.5)))),
    lambda ns, g, a: g * (ns.normal_cdf(a) + a * ns.exp(a * a * -0.5) * (1 / math.sqrt(2 * math.pi))),
    methods=False,
    in_place=False,
)


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """``input`` times the normal distribution function at it (Hendrycks and Gimpel, 2016).

    Args:
        approximate: ``"tanh"`` for ``0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x**3)))``.
    """
    if approximate == "tanh":
        inner = (input + input * input * input * 0.044715) * math.sqrt(2 / math.pi)
        return input * 0.5 * (inner.tanh() + 1)
    if approximate != "none":
        raise RuntimeError(f"approximate argument must be either none or tanh, got {approximate!r}")
    return _gelu(input)


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """``softmax(query @ key.T * scale + mask) @ value`` (Vaswani et al., 2017, equation 1).

    Args:
        query: ``(*, L, E)``.
        key: ``(*, S, E)``.
        value: ``(*, S, Ev)``.
        attn_mask: ``(*, L, S)``: bool (true takes part) or added to the scores.
        is_causal: position ``i`` sees positions up to ``i``; excludes ``attn_mask``.
        scale: ``1 / sqrt(E)`` when not given.
        enable_gqa: repeat the heads of ``key`` and ``value`` to the number of those of ``query``.
    """
    if is_causal and attn_mask is not None:
        raise RuntimeError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    if enable_gqa:
        key, value = _repeat_heads(key, query.shape[-3]), _repeat_heads(value, query.shape[-3])
    factor = 1.0 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = (query * factor) @ key.transpose(-2, -1)
    xp = module_of(query._array)
    if is_causal:
        attn_mask = wrap(xp.tril(xp.ones((query.shape[-2], key.shape[-2]), bool)))
    if attn_mask is not None:
        if attn_mask._array.dtype.kind == "b":
            bias = xp.where(attn_mask._array, 0.0, -math.inf).astype(query._array.dtype)
            scores = scores + wrap(bias)
        else:
            scores = scores + attn_mask
    weights = softmax(scores, -1)
    if dropout_p:
        weights = dropout(weights, dropout_p)
    return weights @ value


def _repeat_heads(x: Tensor, heads: int) -> Tensor:
    lead, (have, length, width) = tuple(x.shape[:-3]), tuple(x.shape[-3:])
    return x.unsqueeze(-3).expand(*lead, have, heads // have, length, width).reshape(*lead, heads, length, width)


__all__: Sequence[str] = [
    "dropout",
    "dropout1d",
    "dropout2d",
    "embedding",
    "fold",
    "gelu",
    "interpolate",
    "pad",
    "pixel_shuffle",
    "pixel_unshuffle",
    "scaled_dot_product_attention",
    "unfold",
]
