"""Making tensors: from data, filled, and random."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from rlgrad.autograd.ops.define import public
from rlgrad.autograd.ops.inplace import write_out
from rlgrad.autograd.registry import REGISTRY, apply
from rlgrad.autograd.tensor import Tensor, wrap
from rlgrad.backend import devices, dtypes, layouts

Device = devices.device | str | int | None


def _place(array: Any, device: Device, requires_grad: bool) -> Tensor:
    if device is not None:
        array = devices.move(array, devices.as_device(device))
    result = wrap(array)
    return result.requires_grad_() if requires_grad else result


def _from_python(data: Any, dtype: np.dtype[Any] | None) -> Any:
    """An array of nested lists and numbers in PyTorch's default dtypes."""
    if isinstance(data, (list, tuple)) and data and any(isinstance(x, Tensor) for x in data):
        data = [x._array if isinstance(x, Tensor) and x._array.ndim == 0 else x for x in data]
        data = [devices.to_host(x._array) if isinstance(x, Tensor) else x for x in data]
    try:
        array = np.array(data)
    except ValueError as error:
        raise ValueError(f"expected a sequence of equal length at every depth: {error}") from None
    if array.dtype.kind in "OUSV":
        kind = next((type(x).__name__ for x in np.ravel(np.array(data, dtype=object)) if not np.isscalar(x)), "str")
        raise (TypeError if array.dtype.kind != "O" else ValueError)(
            f"new(): invalid data type {kind!r}; a tensor is made of numbers in nested lists of equal length"
        )
    if dtype is not None:
        if array.size and dtype.kind in "iu" and array.dtype.kind in "iu":
            for extreme in (array.min(), array.max()):
                dtypes.number_as(extreme.item(), dtype)
        return array.astype(dtype)
    if array.dtype.kind == "f" and not _has_numpy_float(data):
        return array.astype(dtypes.get_default_dtype().numpy)
    if array.size == 0 and not isinstance(data, np.ndarray):
        return array.astype(dtypes.get_default_dtype().numpy)
    if array.dtype.kind == "c":
        raise TypeError("rlgrad has no complex dtypes; keep real and imaginary parts in two tensors")
    return array


def _has_numpy_float(data: Any) -> bool:
    """Whether the innermost first element brings its own dtype."""
    while isinstance(data, (list, tuple)) and data:
        data = data[0]
    return isinstance(data, (np.ndarray, np.generic))


def tensor(
    data: Any,
    *,
    dtype: dtypes.dtype | None = None,
    device: Device = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A tensor with a copy of ``data``: numbers, nested lists, arrays or tensors.

    Example:
        >>> import rlgrad
        >>> rlgrad.tensor([[1, 2], [3, 4]])
        tensor([[1, 2],
                [3, 4]])
    """
    wanted = None if dtype is None else dtypes.to_numpy(dtype)
    if isinstance(data, Tensor):
        array = data._array.copy() if wanted is None else data._array.astype(wanted)
    elif hasattr(data, "__cuda_array_interface__"):
        array = devices.cupy().array(data, dtype=wanted)
    elif isinstance(data, np.ndarray):
        array = _supported(np.array(data, dtype=wanted))
    else:
        array = _from_python(data, wanted)
    return _place(array, device, requires_grad)


def _supported(array: np.ndarray) -> np.ndarray:
    if array.dtype not in dtypes.dtype.by_numpy:
        native = array.dtype.newbyteorder("=")
        if native not in dtypes.dtype.by_numpy:
            known = ", ".join(dtypes.dtype.by_name)
            raise TypeError(f"can't convert np.ndarray of type {array.dtype}. The supported types are: {known}.")
        array = array.astype(native)
    return array if array.dtype is dtypes.dtype.by_numpy[array.dtype].numpy else array.astype(array.dtype.type)


def from_numpy(ndarray: np.ndarray) -> Tensor:
    """A tensor that shares the memory of a NumPy array."""
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    return wrap(_supported(ndarray))


def as_tensor(data: Any, dtype: dtypes.dtype | None = None, device: Device = None) -> Tensor:
    """Like :func:`tensor`, but sharing memory and history where nothing needs to change."""
    if isinstance(data, Tensor):
        return data if dtype is None and device is None else data.to(device=device, dtype=dtype)
    if isinstance(data, np.ndarray):
        shared = from_numpy(data)
        return shared if dtype is None and device is None else shared.to(device=device, dtype=dtype)
    return tensor(data, dtype=dtype, device=device)


def from_dlpack(source: Any) -> Tensor:
    """A tensor that shares memory with another library's array through DLPack."""
    if source.__dlpack_device__()[0] == 1:
        return wrap(_supported(np.from_dlpack(source)))
    return wrap(devices.cupy().from_dlpack(source))


def legacy_tensor(cls: type[Tensor], dtype: dtypes.dtype, args: tuple[Any, ...], **kwargs: Any) -> Tensor:
    """``Tensor(2, 3)`` (uninitialised) and ``Tensor([1.0])``: the constructors from before ``tensor()``."""
    device = kwargs.pop("device", None)
    if kwargs:
        raise TypeError(f"new() received an invalid keyword argument {next(iter(kwargs))!r}; use rlgrad.tensor(...)")
    if args and isinstance(args[0], Tensor):
        result = args[0].to(dtype=dtype).detach()
    elif len(args) == 1 and not isinstance(args[0], (int, np.integer)):
        data = args[0]
        result = wrap(_from_python(data, dtype.numpy) if not isinstance(data, np.ndarray) else data.astype(dtype.numpy))
    else:
        result = wrap(np.zeros(_shape(args) if args else (0,), dtype.numpy))
    if device is not None:
        result = result.to(device)
    return result


class _Typed(type):
    """The type of ``FloatTensor`` and its kin: calling makes a tensor, ``isinstance`` asks for the dtype."""

    dtype: dtypes.dtype

    def __call__(cls, *args: Any, **kwargs: Any) -> Tensor:
        return legacy_tensor(Tensor, cls.dtype, args, **kwargs)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor) and instance.dtype is cls.dtype


def _shape(size: tuple[Any, ...], keyword: Any = None) -> tuple[int, ...]:
    if keyword is not None:
        if size:
            raise TypeError("received the size both as positional arguments and as size=")
        size = (keyword,)
    if len(size) == 1 and isinstance(size[0], (tuple, list)):
        size = tuple(size[0])
    shape = tuple([int(n) for n in size])
    if any(n < 0 for n in shape):
        raise RuntimeError(f"Trying to create tensor with negative dimension in {list(shape)}")
    return shape


def _kind(dtype: Any, out: Tensor | None) -> np.dtype[Any]:
    """The dtype to create in: the one asked for, that of ``out``, or the default."""
    if dtype is not None:
        return dtypes.to_numpy(dtype)
    return dtypes.get_default_dtype().numpy if out is None else out._array.dtype


def _new(
    function: str, size: tuple[int, ...], dtype: Any, device: Device, requires_grad: bool, out: Tensor | None = None
) -> Tensor:
    target = devices.as_device(device)
    kind = _kind(dtype, out)
    with devices.on_device(target):
        result = wrap(getattr(devices.module_for(target), function)(size, kind))
    if out is not None:
        return write_out(out, result, True, False)
    return result.requires_grad_() if requires_grad else result


def zeros(
    *shape: Any,
    size: Any = None,
    dtype: Any = None,
    device: Device = None,
    requires_grad: bool = False,
    out: Tensor | None = None,
    layout: Any = None,
    pin_memory: bool = False,
) -> Tensor:
    """A tensor of zeros."""
    return _new("zeros", _shape(shape, size), dtype, device, requires_grad, out)


def ones(
    *shape: Any,
    size: Any = None,
    dtype: Any = None,
    device: Device = None,
    requires_grad: bool = False,
    out: Tensor | None = None,
    layout: Any = None,
    pin_memory: bool = False,
) -> Tensor:
    """A tensor of ones."""
    return _new("ones", _shape(shape, size), dtype, device, requires_grad, out)


def empty(
    *shape: Any,
    size: Any = None,
    dtype: Any = None,
    device: Device = None,
    requires_grad: bool = False,
    out: Tensor | None = None,
    layout: Any = None,
    pin_memory: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """A tensor whose elements are yet to be written."""
    return _new("empty", _shape(shape, size), dtype, device, requires_grad, out)


def full(
    size: Any,
    fill_value: Any,
    *,
    dtype: Any = None,
    device: Device = None,
    requires_grad: bool = False,
    out: Tensor | None = None,
    layout: Any = None,
) -> Tensor:
    """A tensor filled with one value; its dtype is the value's unless given."""
    if isinstance(fill_value, Tensor):
        fill_value = fill_value.item()
    if dtype is None:
        dtype = dtypes.scalar_dtype(fill_value) if out is None else out.dtype
    result = empty(_shape((size,)), dtype=dtype, device=device)
    result._array[...] = dtypes.number_as(fill_value, result._array.dtype)
    if out is not None:
        return write_out(out, result, True, False)
    return result.requires_grad_() if requires_grad else result


def _like(function: Any) -> Any:
    def make(
        input: Tensor, *, dtype: Any = None, device: Device = None, requires_grad: bool = False, **kwargs: Any
    ) -> Tensor:
        array = input._array
        keeps = kwargs.get("memory_format") in (None, layouts.preserve_format)
        result = function(
            array.shape,
            dtype=input.dtype if dtype is None else dtype,
            device=input.device if device is None else device,
            requires_grad=requires_grad,
        )
        if not array.flags.c_contiguous and 0 not in array.strides and keeps:
            value = result._array  # PyTorch's preserve_format: laid out as the input is
            result._array = devices.module_of(value).empty_like(array, dtype=value.dtype)
            result._array[...] = value
        return result

    make.__name__ = make.__qualname__ = function.__name__ + "_like"
    make.__doc__ = f"{function.__name__} with the shape, dtype and device of ``input``."
    return make


zeros_like, ones_like, empty_like = _like(zeros), _like(ones), _like(empty)


def full_like(
    input: Tensor,
    fill_value: Any,
    *,
    dtype: Any = None,
    device: Device = None,
    requires_grad: bool = False,
    layout: Any = None,
    memory_format: Any = None,
) -> Tensor:
    """:func:`full` with the shape, dtype and device of ``input``."""
    return full(
        input._array.shape,
        fill_value,
        dtype=input.dtype if dtype is None else dtype,
        device=input.device if device is None else device,
        requires_grad=requires_grad,
    )


def arange(
    start: Any = 0,
    end: Any = None,
    step: Any = 1,
    *,
    dtype: Any = None,
    device: Device = None,
    requires_grad: bool = False,
    out: Tensor | None = None,
    layout: Any = None,
) -> Tensor:
    """Numbers from ``start`` up to, not including, ``end``."""
    if end is None:
        start, end = 0, start
    start, end, step = (x.item() if isinstance(x, Tensor) else x for x in (start, end, step))
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    if dtype is None and out is None:
        whole = all(isinstance(x, (int, np.integer)) for x in (start, end, step))
        dtype = dtypes.int64 if whole else dtypes.get_default_dtype()
    kind = _kind(dtype, out)
    if not all(math.isfinite(x) for x in (start, end, step)):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    if kind.kind in "iu":
        count = max(math.ceil((end - start) / step), 0)
        start, end, step = int(start), int(end), int(step)
        if step == 0:
            raise RuntimeError("step must be nonzero")
        if kind == np.int64:  # exact beyond 2**53
            count = max(-((start - end) // step), 0)
    else:
        count = max(math.ceil((end - start) / step), 0)
    array = (start + np.arange(count) * step).astype(kind)
    result = _place(array, device, requires_grad)
    return result if out is None else write_out(out, result, True)


def _between(start: Any, end: Any, steps: int, kind: np.dtype[Any]) -> np.ndarray:
    """Evenly spaced numbers, between whole ones where the result is whole."""
    first, last = (int(x) if kind.kind in "iu" else float(x) for x in (start, end))
    return np.linspace(first, last, steps)


def _float32_between(start: float, end: float, steps: int) -> np.ndarray:
    """Evenly spaced numbers as PyTorch rounds them: from both ends to the middle, by a step in float32."""
    first, last = np.float32(start), np.float32(end)
    if steps < 2:
        return np.full(steps, first)
    step = float((last - first) / np.float32(steps - 1))
    index, half = np.arange(steps), steps // 2
    return np.concatenate([float(first) + step * index[:half], float(last) - step * index[: steps - half][::-1]])


def linspace(
    start: Any,
    end: Any,
    steps: int,
    *,
    dtype: Any = None,
    device: Device = None,
    requires_grad: bool = False,
    out: Tensor | None = None,
    layout: Any = None,
) -> Tensor:
    """``steps`` evenly spaced numbers from ``start`` to ``end``, both included."""
    kind = _kind(dtype, out)
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    values = (
        _float32_between(float(start), float(end), steps) if kind == np.float32 else _between(start, end, steps, kind)
    )
    result = _place(values.astype(kind), device, requires_grad)
    return result if out is None else write_out(out, result, True, False)


def logspace(
    start: Any,
    end: Any,
    steps: int,
    base: float = 10.0,
    *,
    dtype: Any = None,
    device: Device = None,
    requires_grad: bool = False,
    out: Tensor | None = None,
    layout: Any = None,
) -> Tensor:
    """``base`` to evenly spaced powers."""
    kind = _kind(dtype, out)
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    result = _place((base ** _between(start, end, steps, kind)).astype(kind), device, requires_grad)
    return result if out is None else write_out(out, result, True, False)


def eye(
    n: int,
    m: int | None = None,
    *,
    dtype: Any = None,
    device: Device = None,
    requires_grad: bool = False,
    out: Tensor | None = None,
    layout: Any = None,
) -> Tensor:
    """The identity matrix."""
    kind = _kind(dtype, out)
    if n < 0 or (m is not None and m < 0):
        raise RuntimeError(f"n and m must be greater or equal to 0, got {n} and {m}")
    result = _place(np.eye(n, m, dtype=kind), device, requires_grad)
    return result if out is None else write_out(out, result, True, False)


def _triangle(name: str, row: int, col: int, offset: int, dtype: Any, device: Device, requires_grad: bool) -> Tensor:
    if row < 0 or col < 0:
        raise RuntimeError(f"row and col must be non-negative, got {row} and {col}")
    kind = dtypes.to_numpy(dtype or dtypes.int64)
    return _place(np.stack(getattr(np, name)(row, offset, col)).astype(kind), device, requires_grad)


def tril_indices(
    row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Device = None, requires_grad: bool = False
) -> Tensor:
    """Row and column indices, as two rows, of the lower triangle of a ``row`` by ``col`` matrix."""
    return _triangle("tril_indices", row, col, offset, dtype, device, requires_grad)


def triu_indices(
    row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Device = None, requires_grad: bool = False
) -> Tensor:
    """Row and column indices, as two rows, of the upper triangle of a ``row`` by ``col`` matrix."""
    return _triangle("triu_indices", row, col, offset, dtype, device, requires_grad)


def scalar_tensor(value: Any, *, dtype: Any = None, device: Device = None, requires_grad: bool = False) -> Tensor:
    """A 0-d tensor of the default dtype unless told otherwise."""
    dtype = dtypes.get_default_dtype() if dtype is None else dtype
    return tensor(value, dtype=dtype, device=device, requires_grad=requires_grad)


def meshgrid(*tensors: Any, indexing: str = "ij") -> tuple[Tensor, ...]:
    """Coordinate grids of one-dimensional tensors."""
    given: Sequence[Tensor] = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors
    order = list(given)
    if indexing not in ("ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    swap = indexing == "xy" and len(order) >= 2
    if swap:
        order[0], order[1] = order[1], order[0]
    shape = [x.numel() for x in order]
    grids = []
    for position, x in enumerate(order):
        grid = x.reshape([-1 if i == position else 1 for i in range(len(order))]).expand(shape)
        grids.append(grid)
    if swap:
        grids[0], grids[1] = grids[1], grids[0]
    return tuple(grids)


def _to(self: Tensor, *args: Any, device: Device = None, dtype: Any = None, non_blocking: bool = False, copy: bool = False,
        memory_format: Any = None) -> Tensor:  # fmt: skip
    """The tensor in another dtype or on another device; itself when it is so already.

    Accepts a dtype, a device, both, or another tensor to be like.
    """
    for argument in args:
        if isinstance(argument, Tensor):
            dtype, device = argument.dtype, argument.device
        elif isinstance(argument, dtypes.dtype):
            dtype = argument
        elif argument is not None and not isinstance(argument, bool):  # a positional non_blocking changes nothing here
            device = argument
    return _converted(self, None if dtype is None else dtypes.to_numpy(dtype), device, copy)


def _converted(self: Tensor, kind: Any, device: Device, copy: bool) -> Tensor:
    result = self
    if device is not None:
        target = devices.as_device(device)
        if target != self.device:
            result = apply(REGISTRY["move"], (result,), (target, self.device))
    if kind is not None and kind is not self._array.dtype:
        cast = REGISTRY["cast"]
        if kind.kind == "f":
            result = apply(cast, (result,), (kind,))
        else:  # whole numbers are constants
            result = wrap(cast.forward(devices.module_of(result._array), result._array, kind))
    return self.clone() if copy and result is self else result


def _conversion(name: str, dtype: dtypes.dtype) -> None:
    def convert(self: Tensor, memory_format: Any = None) -> Tensor:
        return _converted(self, dtype.numpy, None, False)

    convert.__name__, convert.__doc__ = name, f"The tensor as {dtype.name}."
    setattr(Tensor, name, convert)


for _name, _dtype in {**dtypes.ALIASES, "bool": dtypes.bool_, "byte": dtypes.uint8, "char": dtypes.int8}.items():
    _conversion(_name, _dtype)


def _type(self: Tensor, dtype: Any = None) -> Any:
    """The name of the tensor's type, or the tensor converted to ``dtype``."""
    if dtype is None:
        prefix = "torch.cuda." if self.is_cuda else "torch."
        return prefix + TYPE_NAMES[self.dtype.name]
    if isinstance(dtype, str):
        names = {f"torch.{value}": key for key, value in TYPE_NAMES.items()}
        if dtype not in names:
            raise ValueError(f"invalid type: {dtype!r}")
        dtype = dtypes.dtype.by_name[names[dtype]]
    return self.to(dtype.dtype if isinstance(dtype, _Typed) else dtype)


TYPE_NAMES = {
    "float32": "FloatTensor", "float64": "DoubleTensor", "float16": "HalfTensor", "uint8": "ByteTensor",
    "int8": "CharTensor", "int16": "ShortTensor", "int32": "IntTensor", "int64": "LongTensor", "bool": "BoolTensor",
    "uint16": "UInt16Tensor", "uint32": "UInt32Tensor", "uint64": "UInt64Tensor",
}  # fmt: skip

TYPED = {name: _Typed(name, (), {"dtype": dtypes.dtype.by_name[kind]}) for kind, name in TYPE_NAMES.items()}


def _factory(name: str) -> Any:
    def make(self: Tensor, *args: Any, dtype: Any = None, device: Device = None, requires_grad: bool = False) -> Tensor:
        return globals()[name](
            *args, dtype=dtype or self.dtype, device=device or self.device, requires_grad=requires_grad
        )

    make.__name__, make.__doc__ = "new_" + name, f"{name} with this tensor's dtype and device unless told otherwise."
    return make


for _name in ("zeros", "ones", "empty", "full", "tensor"):
    setattr(Tensor, f"new_{_name}", _factory(_name))
Tensor.to, Tensor.type = _to, _type  # type: ignore[attr-defined]
Tensor.type_as = lambda self, other: self.to(other.dtype)  # type: ignore[attr-defined]
Tensor.cpu = lambda self, memory_format=None: self.to("cpu")  # type: ignore[attr-defined]


def _cuda(self: Tensor, device: Device = None, non_blocking: bool = False) -> Tensor:
    """The tensor on a GPU."""
    return self.to("cuda" if device is None else devices.device(device))


Tensor.cuda = _cuda  # type: ignore[attr-defined]

__all__ = public(globals(), internal=["legacy_tensor"])
