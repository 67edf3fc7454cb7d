"""CuPy's interface over NumPy's memory, to run the GPU tests where there is no GPU.

It is as strict as CuPy about what an array of the device takes: arrays of the host are refused where CuPy refuses them,
functions, methods and keywords that CuPy has not are missing, reductions give arrays. What it cannot show is what the
kernels on a GPU compute. ``RLGRAD_CUPY_STAND_IN=1 pytest -m gpu`` runs the tests with it.
"""

from __future__ import annotations

import contextlib
import inspect
import operator
import sys
import types
from collections.abc import Callable
from typing import Any

import cupy as real
import cupyx.scipy.special
import numpy as np
import scipy.special

from .compiled_for_cpu import CompiledForCPU

GENUINE_GENERATOR = real.random.Generator
TAKE_HOST_ARRAYS = {"array", "asarray", "ascontiguousarray", "asfortranarray", "asanyarray"}
SAME = (type(None), bool, int, float, str, bytes, slice, type(Ellipsis), np.dtype, np.generic, type)


def unwrapped(value: Any, host_allowed: bool = False) -> Any:
    """What NumPy computes with in place of an argument; arrays of the host are refused."""
    if isinstance(value, ndarray):
        return value.host
    if isinstance(value, np.ndarray) and not host_allowed:
        raise TypeError("Unsupported type <class 'numpy.ndarray'>")
    if isinstance(value, (list, tuple)):
        return type(value)([unwrapped(item, host_allowed) for item in value])
    return value


def wrapped(result: Any, sources: tuple[Any, ...] = ()) -> Any:
    """A result as arrays of the device; a view knows the array whose memory it shares."""
    if isinstance(result, (np.ndarray, np.generic)):
        array = np.asarray(result)
        for source in sources:
            if isinstance(source, ndarray):
                if array is source.host:
                    return source
                if array.base is not None and np.may_share_memory(array, source.host):
                    return ndarray.of(array, source if source.base is None else source.base)
        return ndarray.of(array if array.base is None else array.copy("K"))
    if isinstance(result, tuple) and hasattr(result, "_fields"):
        return type(result)(*[wrapped(item, sources) for item in result])
    if isinstance(result, (list, tuple)):
        return type(result)([wrapped(item, sources) for item in result])
    return result


def checked(name: str, function: Callable[..., Any], genuine: Any) -> Callable[..., Any]:
    """NumPy's function as one of CuPy's: with the keywords of the genuine one and for arrays of the device."""
    try:
        parameters = None if "ufunc" in type(genuine).__name__ else inspect.signature(genuine).parameters
    except (TypeError, ValueError):
        parameters = None
    open_ended = parameters is None or any(p.kind in (p.VAR_KEYWORD, p.VAR_POSITIONAL) for p in parameters.values())
    host_allowed = name in TAKE_HOST_ARRAYS

    def call(*args: Any, **kwargs: Any) -> Any:
        for keyword in kwargs:
            if not open_ended and keyword not in parameters:  # type: ignore[operator]
                raise TypeError(f"cupy.{name}() got an unexpected keyword argument {keyword!r}")
        if parameters is not None and not open_ended and len(args) > len(parameters):
            raise TypeError(f"cupy.{name}() takes {len(parameters)} arguments but {len(args)} were given")
        given = [unwrapped(value, host_allowed) for value in args]
        named = {key: unwrapped(value, host_allowed) for key, value in kwargs.items()}
        result = function(*given, **named)
        outs = kwargs.get("out")
        if isinstance(outs, ndarray):
            return outs
        if host_allowed and isinstance(result, np.ndarray) and not any(isinstance(value, ndarray) for value in args):
            result = result.copy("K")
        return wrapped(result, (*args, *(args[0] if args and isinstance(args[0], (list, tuple)) else ())))

    call.__name__ = name
    if isinstance(function, np.ufunc):
        call.at, call.accumulate, call.reduce, call.reduceat = ufunc_methods(function)  # type: ignore[attr-defined]
    return call


SCATTERED = {"add": "efdiIQFD", "subtract": "efdiIQ", "maximum": "fdiIQ", "minimum": "fdiIQ"}
"""The ufuncs whose ``at`` CuPy knows, each with the dtypes that its atomic operations serve (cupyx.scatter_add)."""


def ufunc_methods(function: np.ufunc) -> tuple[Callable[..., Any], ...]:
    """``at``, ``accumulate``, ``reduce`` and ``reduceat``, which few of CuPy's ufuncs have."""

    def at(a: ndarray, index: Any, values: Any) -> None:
        char = np.dtype(a.dtype).newbyteorder("=").char.replace("L", "Q")
        if char not in SCATTERED.get(function.__name__, ""):
            raise NotImplementedError(f"{function.__name__}.at of {a.dtype}")
        function.at(a.host, unwrapped(index, True), unwrapped(values))

    def known(kind: str, names: tuple[str, ...]) -> Callable[..., Any]:
        def call(array: ndarray, *args: Any, **kwargs: Any) -> Any:
            if function.__name__ not in names:
                raise NotImplementedError(f"`{function.__name__}.{kind}` is not supported yet")
            return wrapped(getattr(function, kind)(array.host, *map(unwrapped, args), **kwargs))

        return call

    both = ("add", "multiply")
    return at, known("accumulate", both), known("reduce", both), known("reduceat", ("add",))


class Namespace(types.ModuleType):
    """A module that has NumPy's function wherever the genuine module has one of the same name."""

    def __init__(self, name: str, genuine: Any, host: Any) -> None:
        super().__init__(name)
        self._genuine, self._host = genuine, host

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        genuine = getattr(self._genuine, name)  # AttributeError where CuPy has none
        host = getattr(self._host, name)
        if isinstance(host, types.ModuleType):
            found: Any = Namespace(f"{self.__name__}.{name}", genuine, host)
        else:
            found = host if isinstance(host, type) or not callable(host) else checked(name, host, genuine)
        self.__dict__[name] = found
        return found


def method(name: str) -> Callable[..., Any]:
    def call(self: ndarray, *args: Any, **kwargs: Any) -> Any:
        host_allowed = name in ("take", "put", "searchsorted")
        given = [unwrapped(value, host_allowed) for value in args]
        named = {key: unwrapped(value, host_allowed) for key, value in kwargs.items()}
        result = getattr(self.host, name)(*given, **named)
        for out in (kwargs.get("out"), *args):
            if isinstance(out, ndarray) and result is out.host:
                return out
        return wrapped(result, (self,))

    return call


def operation(function: Callable[..., Any], reflected: bool = False) -> Callable[..., Any]:
    def call(self: ndarray, *others: Any) -> Any:
        if any(not isinstance(other, (ndarray, np.ndarray, np.generic, bool, int, float)) for other in others):
            return NotImplemented
        given = [self.host, *map(unwrapped, others)]
        return wrapped(function(*reversed(given)) if reflected else function(*given), (self,))

    return call


def in_place(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(self: ndarray, other: Any) -> Any:
        function(self.host, unwrapped(other), out=self.host)
        return self

    return call


class Pointer:
    """Where an array's memory begins."""

    def __init__(self, ptr: int, owner: Any) -> None:
        self.ptr, self.owner = ptr, owner

    def __add__(self, shift: int) -> Pointer:
        return Pointer(self.ptr + shift, self.owner)


class ndarray:
    """An array of the device: memory of the host that NumPy's functions cannot reach by mistake."""

    __array_priority__ = 100
    __hash__ = None  # type: ignore[assignment]

    host: np.ndarray
    base: ndarray | None = None
    device = types.SimpleNamespace(id=0)

    def __init__(self, shape: Any, dtype: Any, memptr: Pointer, strides: Any) -> None:
        window = {
            "shape": shape,
            "typestr": np.dtype(dtype).str,
            "strides": strides,
            "data": (memptr.ptr, False),
            "version": 3,
        }
        self.host = np.asarray(types.SimpleNamespace(__array_interface__=window, owner=memptr.owner))

    @classmethod
    def of(cls, host: np.ndarray, base: ndarray | None = None) -> ndarray:
        array = cls.__new__(cls)
        array.host, array.base = host, base
        return array

    shape = property(lambda self: self.host.shape, lambda self, shape: setattr(self.host, "shape", shape))
    T = property(lambda self: wrapped(self.host.T, (self,)))
    mT = property(lambda self: wrapped(self.host.mT, (self,)))
    data = property(lambda self: Pointer(self.host.__array_interface__["data"][0], self.host))
    flags = property(
        lambda self: types.SimpleNamespace(
            c_contiguous=self.host.flags.c_contiguous,
            f_contiguous=self.host.flags.f_contiguous,
            owndata=self.base is None,
        )
    )

    def get(self, *_: Any, **__: Any) -> np.ndarray:
        return self.host.copy("K")

    def set(self, values: np.ndarray) -> None:
        self.host[...] = values

    def item(self, *args: Any) -> Any:
        return self.host.item(*args)

    def tolist(self) -> Any:
        return self.host.tolist()

    def tobytes(self, *args: Any) -> bytes:
        return self.host.tobytes(*args)

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("Implicit conversion to a NumPy array is not allowed. Please use `.get()`")

    def __array_ufunc__(self, ufunc: Any, kind: str, *inputs: Any, **kwargs: Any) -> Any:
        if kind != "__call__":
            return NotImplemented
        if "out" in kwargs:
            (kwargs["out"],) = kwargs["out"]
        return getattr(stand_in, ufunc.__name__)(*inputs, **kwargs)

    def __array_function__(self, function: Any, _: Any, args: Any, kwargs: Any) -> Any:
        place: Any = stand_in
        for part in function.__module__.split(".")[1:]:
            place = getattr(place, part)
        return getattr(place, function.__name__)(*args, **kwargs)

    def __getitem__(self, index: Any) -> Any:
        return wrapped(self.host[unwrapped(index, True)], (self,))

    def __setitem__(self, index: Any, value: Any) -> None:
        if isinstance(value, np.ndarray) and index is Ellipsis:
            self.set(value)
        else:
            self.host[unwrapped(index, True)] = unwrapped(value)

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self)))

    def __len__(self) -> int:
        return len(self.host)

    def __repr__(self) -> str:
        return f"device {self.host!r}"

    def __dlpack__(self, **kwargs: Any) -> Any:
        raise BufferError("a stand-in's memory is no GPU's")

    def __deepcopy__(self, _: Any) -> ndarray:
        return ndarray.of(self.host.copy())


for name in ("dtype", "ndim", "size", "strides", "nbytes", "itemsize"):
    setattr(ndarray, name, property(lambda self, name=name: getattr(self.host, name)))
for name in dir(real.ndarray):
    if not name.startswith("_") and name not in ndarray.__dict__ and callable(getattr(np.ndarray, name, None)):
        setattr(ndarray, name, method(name))
for name in (
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "and",
    "or",
    "xor",
    "lshift",
    "rshift",
    "matmul",
):
    ufunc = {"sub": "subtract", "mul": "multiply", "truediv": "true_divide", "floordiv": "floor_divide",
             "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor", "lshift": "left_shift",
             "rshift": "right_shift", "pow": "power", "mod": "remainder"}.get(name, name)  # fmt: skip
    function = getattr(operator, f"__{name}__")
    setattr(ndarray, f"__{name}__", operation(function))
    setattr(ndarray, f"__r{name}__", operation(function, reflected=True))
    setattr(ndarray, f"__i{name}__", in_place(getattr(np, ufunc)))
for name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(ndarray, f"__{name}__", operation(getattr(operator, name)))
for name in ("neg", "pos", "invert", "abs"):
    setattr(ndarray, f"__{name}__", operation(getattr(operator, f"__{name}__")))
for name, kind in (("__bool__", bool), ("__int__", int), ("__float__", float), ("__index__", operator.index)):
    setattr(ndarray, name, lambda self, kind=kind: kind(self.host[()]))


class Generator:
    """CuPy's generator, by NumPy's of the same name."""

    def __init__(self, seed: Any = None) -> None:
        self._host = np.random.default_rng(seed)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return checked(name, getattr(self._host, name), getattr(GENUINE_GENERATOR, name))


class Device:
    """The one device there is."""

    def __init__(self, index: int = 0) -> None:
        self.id = index

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def use(self) -> None:
        pass

    def synchronize(self) -> None:
        pass


class ElementwiseKernel(CompiledForCPU):
    """A kernel that is compiled for the processor."""

    def __call__(self, *arguments: Any) -> None:
        super().__call__(*map(unwrapped, arguments))


stand_in = Namespace("cupy", real, np)
stand_in.ElementwiseKernel = ElementwiseKernel  # type: ignore[attr-defined]
stand_in.ndarray = ndarray  # type: ignore[attr-defined]
stand_in.asnumpy = lambda array, *_, **__: array.get() if isinstance(array, ndarray) else np.asarray(array)  # type: ignore[attr-defined]
stand_in.linalg = Namespace("cupy.linalg", real.linalg, np.linalg)  # type: ignore[attr-defined]
stand_in.random = types.SimpleNamespace(default_rng=Generator, Generator=Generator, seed=lambda seed: None)  # type: ignore[attr-defined]
stand_in.cuda = types.SimpleNamespace(  # type: ignore[attr-defined]
    Device=Device,
    runtime=types.SimpleNamespace(getDeviceCount=lambda: 1),
    Stream=types.SimpleNamespace(null=contextlib.nullcontext()),
)


def install() -> None:
    """Let ``import cupy`` give the stand-in."""
    special = Namespace("cupyx.scipy.special", cupyx.scipy.special, scipy.special)
    package, scipy_part = types.ModuleType("cupyx"), types.ModuleType("cupyx.scipy")
    package.scipy, scipy_part.special = scipy_part, special  # type: ignore[attr-defined]
    package.scatter_add = lambda a, index, values: np.add.at(a.host, unwrapped(index), unwrapped(values))  # type: ignore[attr-defined]
    sys.modules.update(
        {"cupy": stand_in, "cupy.linalg": stand_in.linalg, "cupyx": package, "cupyx.scipy": scipy_part, "cupyx.scipy.special": special}
    )  # fmt: skip
