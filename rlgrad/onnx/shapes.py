"""What operations that move, join and reduce elements are in ONNX."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rlgrad.onnx.graph import ExportError, Step, Translation, onnx_type

LAST = np.iinfo(np.int64).max


def _reshape(s: Step) -> str:
    return s.reshaped(s[0])


def _transpose(s: Step) -> str:
    order = list(range(s.rank))
    a, b = s.attribute("dim0"), s.attribute("dim1")
    order[a], order[b] = order[b], order[a]
    return s.add("Transpose", s[0], perm=order)


def _expand(s: Step) -> str:
    return s.add("Expand", s[0], s.graph.sizes(s.call.outputs[0].shape, s.other.outputs[0].shape))


def _sliced(s: Step, name: str, parts: Sequence[tuple[int, int, int, int]]) -> str:
    """Slices ``(axis, start, stop, step)`` of ``name``."""
    if not parts:
        return name
    axes, starts, stops, steps = zip(*parts, strict=True)
    return s.add("Slice", name, s.integers(starts), s.integers(stops), s.integers(axes), s.integers(steps))


def _index(s: Step) -> str:
    """Slices, integers, ``None`` and an ellipsis."""
    given = s.attribute("index")
    items = list(given if isinstance(given, tuple) else (given,))
    counted = sum(1 for item in items if item is not None and item is not Ellipsis)
    position = next((i for i, item in enumerate(items) if item is Ellipsis), len(items))
    items[position : position + 1] = [slice(None)] * (s.rank - counted)
    parts = []
    axis = 0
    for item in items:
        if item is None:
            continue
        if isinstance(item, slice):
            if item != slice(None):
                step = 1 if item.step is None else item.step
                start, stop = 0 if item.start is None else item.start, LAST if item.stop is None else item.stop
                parts.append((axis, start, stop, step))
        elif isinstance(item, (int, np.integer)):
            parts.append((axis, int(item), LAST if item == -1 else int(item) + 1, 1))
        else:
            raise ExportError(f"an index of {type(item).__name__} has no translation to ONNX")
        axis += 1
    return s.reshaped(_sliced(s, s[0], parts))


def _select(s: Step) -> str:
    dim = s.attribute("dim")
    last = all(c.attributes["index"] == c.inputs[0].shape[dim] - 1 for c in (s.call, s.other))
    index = -1 if last else s.attribute("index")
    return s.reshaped(_sliced(s, s[0], [(dim, index, LAST if last else index + 1, 1)]))


def _narrow(s: Step) -> str:
    if s.call.outputs[0].shape == s.shape():
        return s[0]
    start = s.attribute("start")
    return _sliced(s, s[0], [(s.attribute("dim"), start, start + s.attribute("length"), 1)])


def _split(s: Step) -> list[str]:
    dim, begin, names = s.attribute("dim"), 0, []
    for size in s.attribute("sizes"):
        names.append(_sliced(s, s[0], [(dim, begin, begin + size, 1)]))
        begin += size
    return names


def _unbind(s: Step) -> list[str]:
    dim = s.attribute("dim")
    return [s.reshaped(_sliced(s, s[0], [(dim, i, i + 1, 1)]), i) for i in range(len(s.call.outputs))]


def _flip(s: Step) -> str:
    return _sliced(s, s[0], [(dim, -1, -LAST, -1) for dim in s.attribute("dims")])


def _stack(s: Step) -> str:
    dim = s.attribute("dim")
    dim = dim % s.call.outputs[0].ndim
    return s.add("Concat", *[s.add("Unsqueeze", name, s.integers([dim])) for name in s.listed()], axis=dim)


def _pad(s: Step) -> str:
    pads = s.attribute("pads")
    return s.add("Pad", s[0], s.integers([p[0] for p in pads] + [p[1] for p in pads]), s.constant(s.attribute("value")))


def _picked(s: Step, places: dict[int, np.ndarray]) -> str:
    """The input with other places of some dimensions: which ones."""
    x = s[0]
    for dim, index in places.items():
        x = s.add("Gather", x, s.graph.constant(index.astype(np.int64)), axis=dim)
    return x


def _border(s: Step) -> str:
    mode = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}[s.attribute("mode")]
    pads = enumerate(s.attribute("pads"))
    return _picked(s, {d: np.pad(np.arange(s.shape()[d]), pad, mode=mode) for d, pad in pads if any(pad)})  # type: ignore[call-overload]


def _rearranged(s: Step) -> str:
    split = s.graph.sizes(s.call.attributes["split"], s.other.attributes["split"])
    parts = s.add("Reshape", s[0], split)
    return s.reshaped(s.add("Transpose", parts, perm=list(s.attribute("order"))))


def _glu(s: Step) -> str:
    dim = s.attribute("dim")
    half = s.shape()[dim] // 2
    first, second = (_sliced(s, s[0], [(dim, start, start + half, 1)]) for start in (0, half))
    return s.add("Mul", first, s.add("Sigmoid", second))


def _repeat(s: Step) -> str:
    factors = s.attribute("factors")
    dims = range(s.rank - len(factors), s.rank)
    return _picked(s, {d: np.repeat(np.arange(s.shape()[d]), f) for d, f in zip(dims, factors, strict=True)})


def _gather(kind: str = "Gather", dim: Any = "dim") -> Translation:
    return lambda s: s.add(kind, s[0], s[1], axis=s.attribute(dim) if isinstance(dim, str) else dim)


def _index_by_one_tensor(s: Step) -> str:
    mine, other = (c.attributes["index"] for c in (s.call, s.other))
    items = list(zip(*[given if isinstance(given, tuple) else (given,) for given in (mine, other)], strict=True))
    arrays = [(axis, pair) for axis, pair in enumerate(items) if not isinstance(pair[0], slice)]
    if len(arrays) != 1 or any(isinstance(item, slice) and item != slice(None) for item, _ in items):
        raise ExportError("only an index by one tensor of integers, in one dimension, has a translation to ONNX")
    axis, (array, twin) = arrays[0]
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "iu":
        raise ExportError("an index by a mask gives a shape that depends on values, which a graph cannot hold")
    if s.call.indirect:
        raise ExportError("an index that follows from the input has no translation to ONNX: use gather")
    return s.add("Gather", s[0], s.graph.value(array, twin), axis=axis)


def _axes(s: Step, name: str = "dims") -> list[int]:
    dims = s.attribute(name)
    if dims is None:
        return list(range(s.rank))
    return [d % max(s.rank, 1) for d in (dims if isinstance(dims, (tuple, list)) else (dims,))]


def _reduce(kind: str, dims: str = "dims") -> Translation:
    def translate(s: Step) -> str:
        axes = _axes(s, dims)
        if not axes:
            return s[0]
        return s.add(kind, s[0], s.integers(axes), keepdims=int(bool(s.attribute("keepdim"))))

    return translate


def variance(s: Step, x: str, axes: Sequence[int], count: int, correction: float, keepdim: bool) -> str:
    """The variance along axes of ``count`` elements together."""
    mean = s.add("ReduceMean", x, s.integers(axes), keepdims=1)
    centred = s.add("Sub", x, mean)
    total = s.add("ReduceSum", s.add("Mul", centred, centred), s.integers(axes), keepdims=int(keepdim))
    return s.add("Div", total, s.constant(max(0, count - correction)))


def _spread(root: bool) -> Translation:
    def translate(s: Step) -> str:
        axes = _axes(s)
        sizes = [int(np.prod([shape[a] for a in axes])) for shape in (s.shape(), s.other.inputs[0].shape)]
        if sizes[0] != sizes[1]:
            raise ExportError("a variance along the batch has no translation to ONNX")
        result = variance(s, s[0], axes, sizes[0], s.attribute("correction"), bool(s.attribute("keepdim")))
        return s.add("Sqrt", result) if root else result

    return translate


def _extreme(kind: str) -> Translation:
    """Values and places of the largest or smallest along a dimension."""

    def translate(s: Step) -> list[str]:
        dim, keep = s.attribute("dim"), int(bool(s.attribute("keepdim")))
        values = s.add(f"Reduce{kind}", s[0], s.integers([dim]), keepdims=keep)
        return [values, s.add(f"Arg{kind}", s[0], axis=dim, keepdims=keep)]

    return translate


def _place(kind: str) -> Translation:
    """Where the largest or smallest is, along a dimension or among all."""

    def translate(s: Step) -> str:
        dim, keep = s.attribute("dim"), int(bool(s.attribute("keepdim")))
        if dim is not None:
            return s.add(kind, s[0], axis=dim, keepdims=keep)
        place = s.add(kind, s.add("Reshape", s[0], s.integers([-1])), axis=0, keepdims=0)
        return s.reshaped(place)

    return translate


def _truth(kind: str) -> Translation:
    """Whether any, or every, element is not zero."""

    def translate(s: Step) -> str:
        true = s.add("Cast", s.add("Cast", s[0], to=onnx_type(np.bool_)), to=onnx_type(np.int32))
        found = s.add(kind, true, s.integers(_axes(s, "dim")), keepdims=int(bool(s.attribute("keepdim"))))
        return s.add("Cast", found, to=onnx_type(np.bool_))

    return translate


def _one_hot(s: Step) -> str:
    if s.attribute("num_classes") < 0:
        raise ExportError("one_hot needs its num_classes: the largest label is known only for the example")
    classes = s.constant(np.arange(s.attribute("num_classes")), np.int64)
    hit = s.add("Equal", s.add("Unsqueeze", s[0], s.integers([s.rank])), classes)
    return s.add("Cast", hit, to=onnx_type(np.int64))


def _roll(s: Step) -> str:
    x = s[0]
    for shift, dim in zip(s.attribute("shifts"), s.attribute("dims"), strict=True):
        places = np.roll(np.arange(s.shape()[dim]), shift)
        x = s.add("Gather", x, s.graph.constant(places.astype(np.int64)), axis=dim)
    return x


def _scatter(reduction: str) -> Translation:
    def translate(s: Step) -> str:
        if s.shape(1) != s.shape(2):
            raise ExportError("values and places of different shapes have no translation to ONNX")
        return s.add("ScatterElements", s[0], s[2], s[1], axis=s.attribute("dim"), reduction=reduction)

    return translate


def _copied(s: Step) -> str:
    """Values in the shape and dtype of what they are copied over."""
    value = s.add("Cast", s[1], to=onnx_type(s.call.outputs[0].dtype))
    return s.add("Expand", value, s.graph.sizes(s.call.outputs[0].shape, s.other.outputs[0].shape))


def _order(s: Step) -> str:
    """Where elements are from the largest or smallest on."""
    dim = s.call.attributes.get("dim", -1)
    dim = -1 if dim is None else dim
    if s.call.inputs[0].shape[dim] != s.other.inputs[0].shape[dim]:
        raise ExportError("sorting along the batch has no translation to ONNX")
    wanted = s.call.attributes.get("k", s.shape()[dim])
    largest = s.call.attributes.get("largest", s.call.attributes.get("descending", False))
    return s.add("TopK", s[0], s.integers([wanted]), count=2, axis=dim, largest=int(bool(largest)), sorted=1)[1]


def _norm(s: Step) -> str:
    p = s.attribute("p")
    if p not in (1, 2):
        raise ExportError(f"a norm of order {p} has no translation to ONNX")
    return s.add(f"ReduceL{int(p)}", s[0], s.integers(_axes(s)), keepdims=int(bool(s.attribute("keepdim"))))


def _triangle(upper: int) -> Translation:
    return lambda s: s.add("Trilu", s[0], s.constant(s.attribute("diagonal"), np.int64), upper=upper)


def _tile(s: Step) -> str:
    repeats = s.attribute("repeats")
    return s.add("Tile", s[0] if len(repeats) == s.rank else _raised(s, len(repeats)), s.integers(repeats))


def _raised(s: Step, rank: int) -> str:
    return s.add("Unsqueeze", s[0], s.integers(range(rank - s.rank)))


def _filled(value: float | None) -> Translation:
    """The shape of the input, with one value everywhere."""

    def translate(s: Step) -> str:
        number = s.attribute("value") if value is None else value
        return s.add("Expand", s.constant(number), s.add("Shape", s[0]))

    return translate


def _boolean_sum(s: Step) -> str:
    """A sum, of booleans as integers."""
    if s.dtype.kind != "b":
        return _reduce("ReduceSum")(s)
    counted = s.add("Cast", s[0], to=onnx_type(np.int64))
    return s.add("ReduceSum", counted, s.integers(_axes(s)), keepdims=int(bool(s.attribute("keepdim"))))


TABLE: dict[str, Translation] = {
    **dict.fromkeys(
        ("reshape", "unsafe_view", "unsqueeze", "squeeze", "squeeze_dim", "squeeze_dims"),
        _reshape,
    ),
    "permute": lambda s: s.add("Transpose", s[0], perm=list(s.attribute("dims"))),
    "transpose": _transpose,
    "t": lambda s: s.add("Transpose", s[0], perm=list(range(s.rank))[::-1]),
    "expand": _expand,
    **dict.fromkeys(("slice", "slice_select", "slice_unsqueeze"), _index),
    "select": _select,
    "narrow": _narrow,
    "narrow_copy": _narrow,
    "split": _split,
    "split_with_sizes": _split,
    "unbind": _unbind,
    "flip": _flip,
    "tile": _tile,
    "tril": _triangle(0),
    "triu": _triangle(1),
    "cat": lambda s: s.add("Concat", *s.listed(), axis=s.attribute("dim")),
    "stack": _stack,
    "constant_pad_nd": _pad,
    "take_axis": _gather(),
    "border": _border,
    **dict.fromkeys(("rearrange", "pixel_shuffle", "pixel_unshuffle"), _rearranged),
    "glu": _glu,
    "repeat_elements": _repeat,
    "gather": _gather("GatherElements"),
    "embedding": _gather(dim=0),
    **dict.fromkeys(("index", "index_select"), _index_by_one_tensor),
    "roll": _roll,
    "scatter": _scatter("none"),
    "scatter_add": _scatter("add"),
    "copy": _copied,
    "zeros_like": _filled(0),
    "zero": _filled(0),
    "fill": _filled(None),
    **dict.fromkeys(("sum", "sum_all"), _boolean_sum),
    **dict.fromkeys(("mean", "mean_all"), _reduce("ReduceMean")),
    **dict.fromkeys(("amax", "max_all"), _reduce("ReduceMax")),
    **dict.fromkeys(("amin", "min_all"), _reduce("ReduceMin")),
    "prod_all": _reduce("ReduceProd", "dim"),
    "prod": _reduce("ReduceProd", "dim"),
    "logsumexp": _reduce("ReduceLogSumExp"),
    "var": _spread(root=False),
    "std": _spread(root=True),
    "var_mean": lambda s: [_spread(root=False)(s), _reduce("ReduceMean")(s)],
    "std_mean": lambda s: [_spread(root=True)(s), _reduce("ReduceMean")(s)],
    "max_dim": _extreme("Max"),
    "min_dim": _extreme("Min"),
    "argmax()": _place("ArgMax"),
    "argmin()": _place("ArgMin"),
    "any()": _truth("ReduceMax"),
    "all()": _truth("ReduceMin"),
    "one_hot()": _one_hot,
    "isnan()": lambda s: s.add("IsNaN", s[0]),
    "isinf()": lambda s: s.add("IsInf", s[0]),
    "isfinite()": lambda s: s.add("Not", s.add("Or", s.add("IsNaN", s[0]), s.add("IsInf", s[0]))),
    **dict.fromkeys(("sort()", "argsort()", "topk()"), _order),
    **dict.fromkeys(("sort", "stable_sort", "topk"), _gather("GatherElements")),
    "vector_norm": _norm,
    "cumsum": lambda s: s.add("CumSum", s[0], s.constant(s.attribute("dim"), np.int64)),
}
