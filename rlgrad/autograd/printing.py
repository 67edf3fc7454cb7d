"""Printing tensors in PyTorch's format."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rlgrad.backend import devices, dtypes

if TYPE_CHECKING:
    from rlgrad.autograd.tensor import Tensor


@dataclass
class _Options:
    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


_options = _Options()


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Set how tensors are printed.

    Args:
        precision: digits after the point.
        threshold: number of elements above which the middle is left out.
        edgeitems: how many elements are shown at either end of a shortened dimension.
        linewidth: characters per line.
        profile: ``"default"``, ``"short"`` or ``"full"`` to start from.
        sci_mode: always or never scientific notation; ``None`` lets the values decide.
    """
    presets: dict[str, dict[str, Any]] = {
        "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
        "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
        "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80},
    }
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    chosen = {**(presets[profile] if profile else {}), **{k: v for k, v in given.items() if v is not None}}
    for name, value in chosen.items():
        setattr(_options, name, value)
    _options.sci_mode = sci_mode


class _Formatter:
    """How one number of a tensor is written, decided by all the numbers shown."""

    def __init__(self, shown: np.ndarray) -> None:
        self.floating = shown.dtype.kind == "f"
        self.integral, self.scientific, self.width = True, False, 1
        flat = shown.reshape(-1)
        if not self.floating:
            self.width = max([1, *(len(self._plain(x)) for x in flat)])
            return
        wide = flat.astype(np.float64)
        usable = wide[np.isfinite(wide) & (wide != 0)]
        if usable.size:
            size = np.abs(usable)
            low, high = float(size.min()), float(size.max())
            self.integral = bool((usable == np.ceil(usable)).all())
            self.scientific = high > 1e8 or high / low > 1000 or low < 1e-4
            if _options.sci_mode is not None:
                self.scientific = _options.sci_mode
        self.width = max([1, *(len(self._plain(x)) for x in usable)])

    def _plain(self, value: Any) -> str:
        if not self.floating:
            return str(bool(value)) if isinstance(value, (bool, np.bool_)) else str(int(value))
        value = float(value)
        if not math.isfinite(value):
            return str(value)
        if self.scientific:
            return f"{value:.{_options.precision}e}"
        return f"{value:.0f}." if self.integral else f"{value:.{_options.precision}f}"

    def __call__(self, value: Any) -> str:
        return self._plain(value).rjust(self.width)


def _vector(array: np.ndarray, indent: int, formatter: _Formatter, summarize: bool) -> str:
    per_line = max(1, (_options.linewidth - indent) // (formatter.width + 2))
    edge = _options.edgeitems
    if summarize and not edge:
        items = ["..."]
    elif summarize and array.shape[0] > 2 * edge:
        items = [formatter(x) for x in array[:edge]] + [" ..."] + [formatter(x) for x in array[-edge:]]
    else:
        items = [formatter(x) for x in array]
    lines = [", ".join(items[i : i + per_line]) for i in range(0, len(items), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _nested(array: np.ndarray, indent: int, formatter: _Formatter, summarize: bool) -> str:
    if array.ndim == 0:
        return formatter(array[()])
    if array.ndim == 1:
        return _vector(array, indent, formatter, summarize)
    edge = _options.edgeitems
    if summarize and array.shape[0] > 2 * edge:
        parts = [_nested(a, indent + 1, formatter, summarize) for a in array[:edge]]
        parts += ["..."]
        parts += [_nested(a, indent + 1, formatter, summarize) for a in array[len(array) - edge :]]
    else:
        parts = [_nested(a, indent + 1, formatter, summarize) for a in array]
    return "[" + ("," + "\n" * (array.ndim - 1) + " " * (indent + 1)).join(parts) + "]"


def _shown(array: np.ndarray) -> np.ndarray:
    """The elements that a shortened print shows."""
    edge = _options.edgeitems
    for dim in range(array.ndim):
        if array.shape[dim] > 2 * edge:
            keep = np.r_[0:edge, array.shape[dim] - edge : array.shape[dim]]
            array = np.take(array, keep, dim)
    return array


def _suffixes(tensor: Tensor, array: np.ndarray) -> list[str]:
    dtype = tensor.dtype
    suffixes = []
    if tensor.is_cuda:
        suffixes.append(f"device='{tensor.device}'")
    if array.size == 0:
        if array.ndim != 1:
            suffixes.append(f"size={tuple(array.shape)}")
        if dtype is not dtypes.get_default_dtype():
            suffixes.append(f"dtype={dtype!r}")
    else:
        if not _options.edgeitems:
            suffixes.append(f"size={tuple(array.shape)}")
        if dtype is not dtypes.get_default_dtype() and dtype not in (dtypes.int64, dtypes.bool_):
            suffixes.append(f"dtype={dtype!r}")
    try:
        node = tensor.grad_fn
    except RuntimeError:  # a view that no longer has a place in the graph
        return [*suffixes, "grad_fn=<Invalid>"]
    if node is not None:
        suffixes.append(f"grad_fn=<{type(node).__name__}>")
    elif tensor.requires_grad:
        suffixes.append("requires_grad=True")
    return suffixes


def tensor_repr(tensor: Tensor, prefix: str = "tensor(") -> str:
    """The text PyTorch prints for a tensor."""
    array = devices.to_host(tensor._array)
    suffixes = _suffixes(tensor, array)
    if array.size == 0:
        text = "[]"
    else:
        summarize = array.size > _options.threshold
        formatter = _Formatter(_shown(array) if summarize else array)
        text = _nested(array, len(prefix), formatter, summarize)
    return _with_suffixes(prefix + text, suffixes, len(prefix))


def _with_suffixes(text: str, suffixes: list[str], indent: int) -> str:
    last = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if last + len(suffix) + 2 > _options.linewidth:
            text += ",\n" + " " * indent + suffix
            last = indent + len(suffix)
        else:
            text += ", " + suffix
            last += len(suffix) + 2
    return text + ")"
