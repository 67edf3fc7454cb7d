"""Reading and writing along one dimension, at places that a tensor of indices names."""

from __future__ import annotations

from typing import Any

import numpy as np

from rlgrad.autograd.ops.define import method, one_dim, public
from rlgrad.autograd.ops.inplace import inplace, with_out, write_out
from rlgrad.autograd.ops.places import extremes, flat_places, full_index, gather_forward, largest
from rlgrad.autograd.ops.writing import add_at, combine_at, renamed, write_in_place, writing
from rlgrad.autograd.registry import Op, apply
from rlgrad.autograd.tensor import Tensor, wrap
from rlgrad.backend.devices import module_of

_INT64 = np.dtype(np.int64)


def _scatter_add_write(xp: Any, a: Any, src: Any, index: Any, dim: int) -> None:
    if a.ndim == 0:
        a[...] = a + src.sum()
        return
    if not index.size:
        return
    src = _read_part(src, index)
    if xp is np and a.flags.c_contiguous:
        np.add.at(a.reshape(-1), flat_places(index, a.shape, dim).reshape(-1), src.reshape(-1))
    else:
        add_at(xp, a, full_index(xp, index, dim), src)


def _read_part(src: Any, index: Any) -> Any:
    """The part of a source that an index covers."""
    return src if src.shape == index.shape else src[tuple([slice(n) for n in index.shape])]


def _scatter_add_into(xp: Any, g: Any, index: Any, shape: tuple[int, ...], dim: int) -> Any:
    out = xp.zeros(shape, g.dtype)
    _scatter_add_write(xp, out, g.reshape(index.shape), index, dim)
    return out


def gathering(name: str) -> Op:
    """An op that takes, along ``dim``, the elements that an index tensor names."""
    return Op(
        name,
        gather_forward,
        (lambda ns, g, index, a_shape, dim: ns.scatter_add_into(g, index, a_shape, dim), None),
    )


_gather = gathering("gather")
Op("scatter_add_into", _scatter_add_into, (lambda ns, g, index, dim: ns.gather(g, index, dim), None))


@method
def gather(input: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False, out: Tensor | None = None) -> Tensor:
    """For each entry of ``index``, the element of ``input`` at that place along ``dim``."""
    dim, index = _checked("gather", input, dim, index)
    result = apply(_gather, (input, index), (dim,))
    return result if out is None else write_out(out, result, True)


def _checked(name: str, input: Tensor, dim: int, index: Tensor, src: Tensor | None = None) -> tuple[int, Tensor]:
    """The dimension and the index in int64, after checking it against the tensor it points into."""
    array, where = input._array, index._array
    dim = one_dim(dim, array.ndim)
    if where.dtype is not _INT64 and where.dtype != np.int64:
        if where.dtype != np.int32 and not (name == "gather" and where.dtype == np.uint8):
            raise RuntimeError(
                f"{name}(): Expected dtype int32/int64 for index, got {index.dtype!r}; convert it with .long()"
            )
        index = wrap(where.astype(np.int64))
        where = index._array
    if src is not None and src._array.dtype is not array.dtype:
        raise RuntimeError(
            f"{name}(): Expected self.dtype to be equal to src.dtype, got {input.dtype!r} and {src.dtype!r}"
        )
    if where.size == 0:
        return dim, index
    if where.shape != array.shape or (src is not None and where.shape != src._array.shape):
        _check_shapes(array.shape, dim, where.shape, None if src is None else src._array.shape)
    check_bounds(where, array.shape[dim] if array.ndim else 1, dim)
    return dim, index


def _check_shapes(shape: tuple[int, ...], dim: int, index: tuple[int, ...], src: tuple[int, ...] | None) -> None:
    """Refuse an index that goes beyond the tensor it points into, or beyond its source."""
    if max(len(index), 1) != max(len(shape), 1):
        raise RuntimeError(
            f"Index tensor must have the same number of dimensions as input tensor, got {len(index)} and {len(shape)}"
        )
    for d, (have, limit) in enumerate(zip(index, shape, strict=False)):
        if d != dim and have > limit:
            raise RuntimeError(
                f"Size does not match at dimension {d} expected index {list(index)} to be no larger than self "
                f"{list(shape)} apart from dimension {dim}"
            )
    if src is not None:
        if max(len(index), 1) != max(len(src), 1):
            raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
        if any(n > m for n, m in zip(index, src, strict=False)):
            raise RuntimeError(f"Expected index {list(index)} to be no larger than src {list(src)} in every dimension")


def check_bounds(index: Any, size: int, dim: int) -> None:
    """Refuse what is negative or beyond the end."""
    if index.size and largest(index) >= size:
        worst = int(index.max()) if int(index.max()) >= size else int(index.min())
        raise RuntimeError(f"index {worst} is out of bounds for dimension {dim} with size {size}")


@with_out()
@method
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """:func:`gather` in which the other dimensions broadcast; without ``dim``, of the flattened tensor."""
    if indices._array.dtype != np.int64:
        raise RuntimeError(f"torch.take_along_dim(): dtype of indices should be Long but got {indices.dtype!r}")
    size = input._array.size if dim is None else input._array.shape[one_dim(dim, input._array.ndim)]
    if indices._array.size and size <= largest(indices._array):  # gather() refuses what is out of range
        indices = wrap(indices._array + size * (indices._array < 0))
    if dim is None:
        return gather(input.reshape(-1), 0, indices.reshape(-1))
    if input._array.ndim != indices._array.ndim:
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, but got "
            f"{input._array.ndim} dimensions for input, and {indices._array.ndim} dimensions for indices"
        )
    dim = one_dim(dim, input._array.ndim)
    shapes = [(*shape[:dim], 1, *shape[dim + 1 :]) for shape in (input._array.shape, indices._array.shape)]
    if shapes[0] == shapes[1]:
        return gather(input, dim, indices)
    try:
        common = np.broadcast_shapes(*shapes)
    except ValueError:
        raise RuntimeError(
            f"take_along_dim: shapes {list(input.shape)} and {list(indices.shape)} do not broadcast apart from dimension {dim}"
        ) from None
    wide = [x.expand(*[x._array.shape[d] if d == dim else n for d, n in enumerate(common)]) for x in (input, indices)]
    return gather(wide[0], dim, wide[1])


def _scatter_write(xp: Any, a: Any, src: Any, index: Any, dim: int) -> None:
    if a.ndim == 0:
        if index.size:
            a[...] = src.reshape(-1)[-1]
        return
    src = _read_part(src, index) if src.ndim else src
    if xp is np and a.flags.c_contiguous:
        a.reshape(-1)[flat_places(index, a.shape, dim)] = src
    else:
        a[full_index(xp, index, dim)] = src


def _read_back(ns: Any, g: Any, index: Any, shape: tuple[int, ...], dim: int) -> Any:
    """What flowed to the places named, in the shape of the source: zero where the source was larger than the index."""
    found = ns.gather(g, index, dim)
    if not shape:
        return ns.sum(found, None, False) if found.shape else found
    if tuple(found.shape) == shape:
        return found
    if len(found.shape) != len(shape):
        return ns.reshape(found, shape)
    chain = ((_slice_of(), (tuple([slice(n) for n in found.shape]),), None),)
    return ns.view_into(found, shape, chain)


def _slice_of() -> Op:
    from rlgrad.autograd.registry import REGISTRY

    return REGISTRY["slice"]


_scatter = writing(
    "scatter",
    _scatter_write,
    (
        lambda ns, g, index, dim: ns.scatter(g, ns.zeros(g, ()), index, dim),
        lambda ns, g, index, src_shape, dim: _read_back(ns, g, index, src_shape, dim),
        None,
    ),
    inputs=3,
)
_scatter_value = writing(
    "scatter_value",
    _scatter_write,
    (lambda ns, g, index, dim: ns.scatter(g, ns.zeros(g, ()), index, dim), None, None),
    node="ScatterBackward1",
    inputs=3,
)
_scatter_add = writing(
    "scatter_add",
    _scatter_add_write,
    (lambda ns, g: g, lambda ns, g, index, src_shape, dim: _read_back(ns, g, index, src_shape, dim), None),
    inputs=3,
)


def _scatter_parts(input: Tensor, dim: int, index: Tensor, src: Any, value: Any) -> tuple[Op, tuple[Any, ...], int]:
    if src is None:
        src = value
    if isinstance(src, Tensor):
        dim, index = _checked("scatter", input, dim, index, src)
        return _scatter, (src, index), dim
    if src is None:
        raise TypeError("scatter() needs a src tensor or a value")
    dim, index = _checked("scatter", input, dim, index)
    number = wrap(module_of(input._array).asarray(src).astype(input._array.dtype))
    return _scatter_value, (number, index), dim


@with_out()
@method
def scatter(
    input: Tensor, dim: int, index: Tensor, src: Any = None, value: Any = None, *, reduce: str | None = None
) -> Tensor:
    """``input`` with ``src`` (a tensor or a number) written along ``dim`` at the places in ``index``.

    Args:
        reduce: ``"add"`` or ``"multiply"`` combines with what is there instead.
    """
    if reduce is not None:
        return scatter_reduce(input, dim, index, _widened(input, index, src, value), _old_names(reduce))
    op, others, dim = _scatter_parts(input, dim, index, src, value)
    return apply(op, (input, *others), (dim,))


def _old_names(reduce: str) -> str:
    names = {"add": "sum", "multiply": "prod"}
    if reduce not in names:
        raise RuntimeError("reduce argument must be either add or multiply.")
    return names[reduce]


def _widened(input: Tensor, index: Tensor, src: Any, value: Any) -> Tensor:
    src = value if src is None else src
    if isinstance(src, Tensor):
        return src
    number = module_of(input._array).asarray(src).astype(input._array.dtype)
    return wrap(module_of(input._array).broadcast_to(number, index._array.shape))


def _scatter_(
    self: Tensor, dim: int, index: Tensor, src: Any = None, value: Any = None, *, reduce: str | None = None
) -> Tensor:
    """In-place form of :func:`scatter`."""
    if reduce is not None:
        widened = _widened(self, index, src, value)
        return self.scatter_reduce_(dim, index, widened, _old_names(reduce))
    op, others, dim = _scatter_parts(self, dim, index, src, value)
    return write_in_place(op, self, others, (dim,))


Tensor.scatter_ = _scatter_  # type: ignore[attr-defined]


@method
def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``input`` with ``src`` added along ``dim`` at the places in ``index``."""
    dim, index = _checked("scatter_add", input, dim, index, src)
    result = apply(_scatter_add, (input, src, index), (dim,))
    return result if out is None else write_out(out, result, True)


def _scatter_add_(self: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """In-place form of :func:`scatter_add`."""
    dim, index = _checked("scatter_add", self, dim, index, src)
    return write_in_place(_scatter_add, self, (src, index), (dim,))


Tensor.scatter_add_ = _scatter_add_  # type: ignore[attr-defined]

_REDUCTIONS = {"sum": "add", "mean": "add", "prod": "multiply", "amax": "maximum", "amin": "minimum"}


def _scatter_reduce_forward(xp: Any, a: Any, src: Any, index: Any, dim: int, reduce: str, include_self: bool) -> Any:
    shape = a.shape
    out = xp.array(a.reshape(1) if not shape else a, order="C")
    index = index.reshape(-1) if not shape else index
    src = src.reshape(-1) if not shape else _read_part(src, index)
    if xp is np and index.size:
        target, src = out.reshape(-1), src.reshape(-1)
        where: Any = (flat_places(index, out.shape, dim).reshape(-1),)
    else:
        target, where = out, full_index(xp, index, dim)
    if not include_self:
        low, high = _limits(out.dtype)
        target[where] = {"sum": 0, "mean": 0, "prod": 1, "amax": low, "amin": high}[reduce]
    if _REDUCTIONS[reduce] == "add":
        add_at(xp, target, where, src)
    else:
        combine_at(xp, _REDUCTIONS[reduce], target, where, src)
    if reduce == "mean":
        count = _counts(xp, out.shape, index, dim, include_self, out.dtype)
        out = out / count if out.dtype.kind == "f" else out // count.astype(out.dtype)
    return out.reshape(shape)


def _limits(dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """The smallest and the largest value of a dtype."""
    if dtype.kind == "f":
        return -np.inf, np.inf
    return (False, True) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)


def _counts(xp: Any, shape: Any, index: Any, dim: int, include_self: bool, dtype: Any) -> Any:
    """How many numbers met at each place, at least one."""
    count = xp.full(shape, 1 if include_self else 0, dtype)
    add_at(xp, count, full_index(xp, index, dim), xp.ones(index.shape, dtype))
    return xp.maximum(count, 1)


def _raw(ns: Any, *values: Any) -> list[Any]:
    return [ns.array(v) for v in values]


def _module(array: Any) -> Any:
    return module_of(array)


def _left(ns: Any, grad: Any, index: Any, dim: int, include_self: bool) -> Any:
    return grad if include_self else ns.scatter(grad, ns.zeros(grad, ()), index, dim)


def _scatter_reduce_vjp(
    ns: Any, g: Any, wants: Any, a: Any, src: Any, index: Any, out: Any, dim: int, reduce: str, include_self: bool
) -> list[Any]:
    shape = tuple(src.shape)
    if reduce == "sum":
        return [_left(ns, g, index, dim, include_self), _read_back(ns, g, index, shape, dim), None]
    raw, raw_src, where, raw_out = _raw(ns, a, src, index, out)
    xp = _module(raw)
    if tuple(where.shape) != shape:  # only the part of the source that the index covers was read
        part = ns.view_gather(src, ((_slice_of(), (tuple([slice(n) for n in where.shape]),), None),))
        left, right, _ = _scatter_reduce_vjp(ns, g, wants, a, part, index, out, dim, reduce, include_self)
        chain = ((_slice_of(), (tuple([slice(n) for n in where.shape]),), None),)
        return [left, ns.view_into(right, shape, chain), None]
    at = lambda x: ns.gather(x, index, dim)  # noqa: E731
    raw_at = lambda x: gather_forward(xp, x, where, dim)  # noqa: E731
    if reduce == "mean":
        flat, at_flat = (raw.shape or (1,)), where if raw.ndim else where.reshape(-1)
        count = _counts(xp, flat, at_flat, dim, include_self, raw.dtype).reshape(raw.shape)
        left, right = ns.div(g, count), ns.div(at(g), raw_at(count))
    elif reduce == "prod":
        one = xp.ones((), raw.dtype)
        safe = ns.where(raw == 0, one, a)
        safe_out = ns.scatter_reduce(safe, src, index, dim, reduce, include_self)
        left = g * safe_out / safe
        zero = raw_src == 0
        zeros = xp.zeros(raw.shape, np.int64)
        _scatter_add_write(xp, zeros, zero.astype(np.int64), where, dim)
        lone = zero & (raw_at(zeros) == 1)
        without = ns.where(lone, one, src)
        rest = ns.scatter_reduce(a, without, index, dim, reduce, include_self)
        others = at(g * out) / ns.where(zero, one, src)
        right = ns.where(lone, at(g * rest), others)
    else:
        mine = xp.asarray(raw == raw_out, raw.dtype)
        if not include_self:
            _scatter_write(xp, mine, xp.zeros((), raw.dtype), where, dim)
        theirs = xp.asarray(raw_src == raw_at(raw_out), raw.dtype)
        ties = mine.copy()
        _scatter_add_write(xp, ties, theirs, where, dim)
        shared = ns.div(g, xp.maximum(ties, 1))
        left, right = ns.mul(shared, mine), ns.mul(at(shared), theirs)
    return [_left(ns, left, index, dim, include_self), right, None]


_scatter_reduce = Op("scatter_reduce", _scatter_reduce_forward, _scatter_reduce_vjp, inputs=3)


@with_out()
@method
def scatter_reduce(
    input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """``src`` reduced along ``dim`` into the places in ``index``.

    Args:
        reduce: ``"sum"``, ``"prod"``, ``"mean"``, ``"amax"`` or ``"amin"``.
        include_self: what is there already takes part.
    """
    if reduce not in _REDUCTIONS:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    dim, index = _checked("scatter_reduce", input, dim, index, src)
    return apply(_scatter_reduce, (input, src, index), (dim, reduce, include_self))


inplace(scatter_reduce)


@with_out()
@method
def index_reduce(
    input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """The slices of ``source`` reduced along ``dim`` into the places in ``index``.

    Args:
        reduce: ``"prod"``, ``"mean"``, ``"amax"`` or ``"amin"``.
        include_self: what is there already takes part.
    """
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
    dim, index = _slice_index("index_reduce", input, dim, index)
    source = _source_checked("index_reduce", input, dim, index, source)
    shape = source._array.shape
    places = index.reshape([-1 if d == dim else 1 for d in range(max(len(shape), 1))]).expand(shape)
    result = apply(_scatter_reduce, (input, source, places), (dim, reduce, include_self))
    return renamed(result, "IndexReduceBackward0")


inplace(index_reduce)


def _index_add_write(xp: Any, a: Any, source: Any, index: Any, dim: int, alpha: float) -> None:
    source = source if alpha == 1 else source * np.asarray(alpha).astype(source.dtype).item()
    if a.ndim == 0:
        a[...] = a + source.sum()
    elif index.size:
        add_at(xp, a, (*(slice(None),) * dim, index), source)


def _index_copy_write(xp: Any, a: Any, source: Any, index: Any, dim: int) -> None:
    if a.ndim == 0:
        if index.size:
            a[...] = source.reshape(-1)[-1]
    else:
        a[(*(slice(None),) * dim, index)] = source


def _slices(ns: Any, g: Any, shape: tuple[int, ...], index: Any, dim: int) -> Any:
    """The slices of a gradient that an index names, in the shape of what was written there."""
    if not g.shape:
        return ns.reshape(g, shape)
    return ns.reshape(ns.index(g, (*(slice(None),) * dim, ns.array(index))), shape)


_index_add = writing(
    "index_add",
    _index_add_write,
    (
        lambda ns, g: g,
        lambda ns, g, source_shape, index, dim, alpha: (
            _slices(ns, g, source_shape, index, dim) * alpha if alpha != 1 else _slices(ns, g, source_shape, index, dim)
        ),
        None,
    ),
    inputs=3,
)
_index_copy = writing(
    "index_copy",
    _index_copy_write,
    (
        lambda ns, g, index, dim: ns.index_fill(g, ns.zeros(g, ()), index, dim),
        lambda ns, g, source_shape, index, dim: _slices(ns, g, source_shape, index, dim),
        None,
    ),
    inputs=3,
)


def _filled_places(ns: Any, g: Any, index: Any, dim: int) -> Any:
    """The slices of a gradient that an index names, each once."""
    if not g.shape:
        return g
    return ns.index(g, (*(slice(None),) * dim, module_of(ns.array(index)).unique(ns.array(index))))


def _filling(name: str, node: str) -> Op:
    return writing(
        name,
        lambda xp, a, value, index, dim: _index_copy_write(xp, a, value, index, dim),
        (
            lambda ns, g, index, dim: ns.index_fill(g, ns.zeros(g, ()), index, dim),
            lambda ns, g, index, dim: ns.sum(_filled_places(ns, g, index, dim), None, False),
            None,
        ),
        node=node,
        inputs=3,
    )


_index_fill, _index_fill_tensor = _filling("index_fill", ""), _filling("index_fill_tensor", "IndexFillBackward1")


def _slice_index(name: str, input: Tensor, dim: int, index: Tensor) -> tuple[int, Tensor]:
    dim = one_dim(dim, input._array.ndim)
    where = index._array
    if where.ndim > 1:
        raise IndexError(f"{name}(): Index is supposed to be a vector, but got dim: {where.ndim}")
    allowed = (np.int64, np.int32) if name in ("index_add", "index_reduce") else (np.int64,)
    if where.dtype is not _INT64 and where.dtype not in allowed:
        error = IndexError if name == "index_fill" else RuntimeError
        raise error(f"{name}(): Expected dtype int64 for index, got {index.dtype!r}")
    size = input._array.shape[dim] if input._array.ndim else 1
    if where.size and (where.dtype is not _INT64 or largest(where) >= size):
        low, high = extremes(where)
        if (low < -size if name == "index_fill" else low < 0) or high >= size:
            raise (RuntimeError if name == "index_add" else IndexError)(
                f"{name}(): index {high if high >= size else low} is out of bounds for dimension {dim} with size {size}"
            )
        if low < 0:
            index = wrap(where + size * (where < 0))
    if index._array.ndim == 0 or index._array.dtype is not _INT64:
        index = wrap(index._array.reshape(-1).astype(np.int64))
    return dim, index


def _source_checked(name: str, input: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    if source._array.dtype is not input._array.dtype:
        raise RuntimeError(
            f"{name}(): self and source expected to have the same dtype, got {input.dtype!r} and {source.dtype!r}"
        )
    want = input._array.shape
    count = index._array.size
    expected = (*want[:dim], count, *want[dim + 1 :]) if want else (count,)
    have = source._array.shape
    if have != expected:
        if have == () and count == 1 and (not want or len(want) == 1):
            return source.reshape(1)
        error = IndexError if name == "index_copy" and ((*have, 1))[min(dim, len(have))] != count else RuntimeError
        raise error(
            f"{name}(): a source of shape {list(have)} does not fit {count} slices along dimension {dim} of a tensor of shape "
            f"{list(want)}; expected {list(expected)}"
        )
    return source


def _index_add_parts(input: Tensor, dim: int, index: Tensor, source: Tensor) -> tuple[int, Tensor, Tensor]:
    dim, index = _slice_index("index_add", input, dim, index)
    return dim, index, _source_checked("index_add", input, dim, index, source)


@method
def index_add(
    input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: float = 1, out: Tensor | None = None
) -> Tensor:
    """``input`` with the slices of ``source``, times ``alpha``, added along ``dim`` at the places in ``index``."""
    dim, index, source = _index_add_parts(input, dim, index, source)
    result = apply(_index_add, (input, source, index), (dim, alpha))
    return result if out is None else write_out(out, result, True)


def _index_add_(self: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: float = 1) -> Tensor:
    """In-place form of :func:`index_add`."""
    dim, index, source = _index_add_parts(self, dim, index, source)
    return write_in_place(_index_add, self, (source, index), (dim, alpha))


@method
def index_copy(input: Tensor, dim: int, index: Tensor, source: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``input`` with the slices of ``source`` along ``dim`` at the places in ``index``."""
    dim, index = _slice_index("index_copy", input, dim, index)
    result = apply(_index_copy, (input, _source_checked("index_copy", input, dim, index, source), index), (dim,))
    return result if out is None else write_out(out, result, True)


def _index_copy_(self: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """In-place form of :func:`index_copy`."""
    dim, index = _slice_index("index_copy", self, dim, index)
    return write_in_place(_index_copy, self, (_source_checked("index_copy", self, dim, index, source), index), (dim,))


def _fill_parts(input: Tensor, dim: int, index: Tensor, value: Any) -> tuple[Op, Tensor, Tensor, int]:
    dim, index = _slice_index("index_fill", input, dim, index)
    if isinstance(value, Tensor):
        if value._array.ndim:
            raise RuntimeError(
                f"index_fill_ only supports a 0-dimensional value tensor, but got tensor with {value._array.ndim} dimension(s)."
            )
        return _index_fill_tensor, value.to(input.dtype), index, dim
    number = wrap(module_of(input._array).asarray(value).astype(input._array.dtype))
    return _index_fill, number, index, dim


@method
def index_fill(input: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """``input`` with one number in all slices along ``dim`` that ``index`` names."""
    op, number, index, dim = _fill_parts(input, dim, index, value)
    return apply(op, (input, number, index), (dim,))


def _index_fill_(self: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """In-place form of :func:`index_fill`."""
    op, number, index, dim = _fill_parts(self, dim, index, value)
    return write_in_place(op, self, (number, index), (dim,))


for _name, _function in (("index_add_", _index_add_), ("index_copy_", _index_copy_), ("index_fill_", _index_fill_)):
    setattr(Tensor, _name, _function)

__all__ = public(globals(), internal=["check_bounds", "gather_forward", "gathering"])
