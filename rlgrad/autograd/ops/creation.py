"""Making tensors: from data, filled, and random."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from rlgrad.autograd.ops.define import assign, check_inplace, public
from rlgrad.autograd.registry import REGISTRY, apply
from rlgrad.autograd.tensor import Tensor, wrap
from rlgrad.backend import devices, dtypes
from rlgrad.backend.random import Generator, default_generator

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


# Filled


def _shape(size: tuple[Any, ...]) -> tuple[int, ...]:
    if len(size) == 1 and isinstance(size[0], (tuple, list)):
        size = tuple(size[0])
    shape = tuple([int(n) for n in size])
    if any(n < 0 for n in shape):
        raise RuntimeError(f"Trying to create tensor with negative dimension in {list(shape)}")
    return shape


def _new(
    function: str, size: tuple[int, ...], dtype: Any, device: Device, requires_grad: bool, out: Tensor | None = None
) -> Tensor:
    target = devices.as_device(device)
    kind = dtypes.get_default_dtype().numpy if dtype is None else dtypes.to_numpy(dtype)
    with devices.on_device(target):
        result = wrap(getattr(devices.module_for(target), function)(size, kind))
    if out is not None:
        return out.copy_(result)
    return result.requires_grad_() if requires_grad else result


def zeros(
    *size: Any, dtype: Any = None, device: Device = None, requires_grad: bool = False, out: Tensor | None = None
) -> Tensor:
    """A tensor of zeros."""
    return _new("zeros", _shape(size), dtype, device, requires_grad, out)


def ones(
    *size: Any, dtype: Any = None, device: Device = None, requires_grad: bool = False, out: Tensor | None = None
) -> Tensor:
    """A tensor of ones."""
    return _new("ones", _shape(size), dtype, device, requires_grad, out)


def empty(*size: Any, dtype: Any = None, device: Device = None, requires_grad: bool = False, **kwargs: Any) -> Tensor:
    """A tensor whose elements are yet to be written."""
    return _new("empty", _shape(size), dtype, device, requires_grad)


def full(
    size: Any, fill_value: Any, *, dtype: Any = None, device: Device = None, requires_grad: bool = False
) -> Tensor:
    """A tensor filled with one value; its dtype is the value's unless given."""
    if isinstance(fill_value, Tensor):
        fill_value = fill_value.item()
    dtype = dtypes.scalar_dtype(fill_value) if dtype is None else dtype
    result = empty(_shape((size,)), dtype=dtype, device=device)
    result._array[...] = fill_value
    return result.requires_grad_() if requires_grad else result


def _like(function: Any) -> Any:
    def make(
        input: Tensor, *, dtype: Any = None, device: Device = None, requires_grad: bool = False, **kwargs: Any
    ) -> Tensor:
        return function(
            input._array.shape,
            dtype=input.dtype if dtype is None else dtype,
            device=input.device if device is None else device,
            requires_grad=requires_grad,
        )

    make.__name__ = make.__qualname__ = function.__name__ + "_like"
    make.__doc__ = f"{function.__name__} with the shape, dtype and device of ``input``."
    return make


zeros_like, ones_like, empty_like = _like(zeros), _like(ones), _like(empty)


def full_like(
    input: Tensor, fill_value: Any, *, dtype: Any = None, device: Device = None, requires_grad: bool = False
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
) -> Tensor:
    """Numbers from ``start`` up to, not including, ``end``."""
    if end is None:
        start, end = 0, start
    start, end, step = (x.item() if isinstance(x, Tensor) else x for x in (start, end, step))
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    if dtype is None:
        whole = all(isinstance(x, (int, np.integer)) for x in (start, end, step))
        dtype = dtypes.int64 if whole else dtypes.get_default_dtype()
    kind = dtypes.to_numpy(dtype)
    count = max(math.ceil((end - start) / step), 0)
    array = (start + np.arange(count) * step).astype(kind)
    return _place(array, device, requires_grad)


def linspace(
    start: Any, end: Any, steps: int, *, dtype: Any = None, device: Device = None, requires_grad: bool = False
) -> Tensor:
    """``steps`` evenly spaced numbers from ``start`` to ``end``, both included."""
    kind = dtypes.get_default_dtype().numpy if dtype is None else dtypes.to_numpy(dtype)
    return _place(np.linspace(float(start), float(end), steps).astype(kind), device, requires_grad)


def logspace(
    start: Any,
    end: Any,
    steps: int,
    base: float = 10.0,
    *,
    dtype: Any = None,
    device: Device = None,
    requires_grad: bool = False,
) -> Tensor:
    """``base`` to evenly spaced powers."""
    kind = dtypes.get_default_dtype().numpy if dtype is None else dtypes.to_numpy(dtype)
    return _place((base ** np.linspace(float(start), float(end), steps)).astype(kind), device, requires_grad)


def eye(
    n: int, m: int | None = None, *, dtype: Any = None, device: Device = None, requires_grad: bool = False
) -> Tensor:
    """The identity matrix."""
    kind = dtypes.get_default_dtype().numpy if dtype is None else dtypes.to_numpy(dtype)
    return _place(np.eye(n, m, dtype=kind), device, requires_grad)


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


# Random


def _draw(
    size: Any, dtype: Any, device: Device, generator: Generator | None, requires_grad: bool, sample: Any
) -> Tensor:
    target = devices.as_device(device if device is not None or generator is None else generator.device)
    xp = devices.module_for(target)
    stream = (generator or default_generator).on(xp)
    kind = dtypes.get_default_dtype().numpy if dtype is None else dtypes.to_numpy(dtype)
    with devices.on_device(target):
        drawn = sample(stream, _shape(size), kind if kind.itemsize >= 4 and kind.kind == "f" else np.dtype(np.float32))
        result = wrap(xp.asarray(drawn).astype(kind, copy=False))
    return result.requires_grad_() if requires_grad else result


def rand(
    *size: Any,
    generator: Generator | None = None,
    dtype: Any = None,
    device: Device = None,
    requires_grad: bool = False,
) -> Tensor:
    """Uniform numbers in [0, 1)."""
    return _draw(size, dtype, device, generator, requires_grad, lambda g, shape, kind: g.random(shape, kind))


def randn(
    *size: Any,
    generator: Generator | None = None,
    dtype: Any = None,
    device: Device = None,
    requires_grad: bool = False,
) -> Tensor:
    """Standard normal numbers."""
    return _draw(size, dtype, device, generator, requires_grad, lambda g, shape, kind: g.standard_normal(shape, kind))


def randint(low: int, high: Any = None, size: Any = None, *, generator: Generator | None = None, dtype: Any = None,
            device: Device = None, requires_grad: bool = False) -> Tensor:  # fmt: skip
    """Integers from ``low`` up to, not including, ``high``."""
    if size is None:
        low, high, size = 0, low, high
    if high <= low:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    target = devices.as_device(device)
    stream = (generator or default_generator).on(devices.module_for(target))
    with devices.on_device(target):
        drawn = stream.integers(low, high, _shape((size,)))
    return (
        wrap(np.asarray(drawn) if target.type == "cpu" else drawn)
        .to(dtype or dtypes.int64)
        .requires_grad_(requires_grad)
    )


def randperm(n: int, *, generator: Generator | None = None, dtype: Any = None, device: Device = None) -> Tensor:
    """The numbers 0 to n - 1 in random order."""
    array = (generator or default_generator).numpy.permutation(n)
    return _place(array.astype(dtypes.to_numpy(dtype or dtypes.int64)), device, False)


def normal(mean: Any, std: Any = 1.0, size: Any = None, *, generator: Generator | None = None) -> Tensor:
    """Normal numbers with a mean and a standard deviation, each a number or a tensor."""
    if size is None:
        like = mean if isinstance(mean, Tensor) else std
        shape = np.broadcast_shapes(*[x._array.shape for x in (mean, std) if isinstance(x, Tensor)])
        dtype, device = like.dtype, like.device
    else:
        shape, dtype, device = _shape((size,)), None, None
    result = randn(shape, generator=generator, dtype=dtype, device=device)
    return (result * std + mean).detach()


def rand_like(input: Tensor, *, generator: Generator | None = None, dtype: Any = None, device: Device = None) -> Tensor:
    """:func:`rand` with the shape, dtype and device of ``input``."""
    return rand(input._array.shape, generator=generator, dtype=dtype or input.dtype, device=device or input.device)


def randn_like(
    input: Tensor, *, generator: Generator | None = None, dtype: Any = None, device: Device = None
) -> Tensor:
    """:func:`randn` with the shape, dtype and device of ``input``."""
    return randn(input._array.shape, generator=generator, dtype=dtype or input.dtype, device=device or input.device)


def bernoulli(input: Tensor, *, generator: Generator | None = None) -> Tensor:
    """Ones with the probability that ``input`` gives for each element, zeros otherwise."""
    probabilities = input._array
    if bool(((probabilities < 0) | (probabilities > 1)).any()):
        raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got probabilities outside [0, 1]")
    drawn = rand(probabilities.shape, generator=generator, device=input.device)._array
    return wrap((drawn < probabilities).astype(probabilities.dtype))


def multinomial(
    input: Tensor, num_samples: int, replacement: bool = False, *, generator: Generator | None = None
) -> Tensor:
    """Indices drawn from each row with probability proportional to its entries."""
    weights = np.atleast_2d(devices.to_host(input._array)).astype(np.float64)
    if (weights < 0).any() or not np.isfinite(weights).all() or (weights.sum(1) <= 0).any():
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0, or a row that sums to zero")
    stream = (generator or default_generator).numpy
    if replacement:
        edges = np.cumsum(weights / weights.sum(1, keepdims=True), 1)
        drawn = (stream.random((len(weights), num_samples))[:, :, None] >= edges[:, None, :-1]).sum(-1)
    else:
        if num_samples > weights.shape[1] or ((weights > 0).sum(1) < num_samples).any():
            raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
        with np.errstate(divide="ignore"):  # the largest of E/w, exponential races: a sample without replacement
            keys = np.log(weights) + stream.gumbel(size=weights.shape)
        drawn = np.argsort(-keys, 1)[:, :num_samples]
    result = wrap(np.ascontiguousarray(drawn.astype(np.int64).reshape((*input._array.shape[:-1], num_samples))))
    return result.to(input.device)


def _refill(name: str, sample: Any, doc: str) -> None:
    def method(self: Tensor, *args: Any, generator: Generator | None = None, **kwargs: Any) -> Tensor:
        check_inplace(self)
        xp = devices.module_of(self._array)
        stream = (generator or default_generator).on(xp)
        drawn = sample(stream, self._array.shape, *args, **kwargs)
        return assign(self, wrap(xp.asarray(drawn).astype(self._array.dtype)))

    method.__name__, method.__doc__ = name, doc
    setattr(Tensor, name, method)


_refill("normal_", lambda g, s, mean=0.0, std=1.0: g.standard_normal(s) * std + mean, "Fill with normal numbers.")
_refill(
    "uniform_",
    lambda g, s, a=0.0, b=1.0, **ends: g.random(s) * (ends.get("to", b) - ends.get("from", a)) + ends.get("from", a),
    "Fill with uniform numbers in [a, b).",
)
_refill("bernoulli_", lambda g, s, p=0.5: g.random(s) < p, "Fill with ones of probability p.")
_refill("exponential_", lambda g, s, lambd=1.0: g.standard_exponential(s) / lambd, "Fill with exponential numbers.")
_refill(
    "random_",
    lambda g, s, low=0, high=None: g.integers(*((0, low) if high is None and low else (low, high or 2**24)), s),
    "Fill with integers in [low, high).",
)


# Conversions


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
        result = apply(REGISTRY["cast"], (result,), (kind,))
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
    return self.to(dtype)


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
