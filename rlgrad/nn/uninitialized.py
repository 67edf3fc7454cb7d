"""Parameters and buffers whose shape is not known yet."""

from __future__ import annotations

from typing import Any, NoReturn, TypeVar

from rlgrad.autograd.graph import LeafNode
from rlgrad.autograd.ops.creation import empty
from rlgrad.autograd.tensor import Tensor
from rlgrad.backend.devices import as_device, get_default_device
from rlgrad.backend.dtypes import dtype as Dtype
from rlgrad.backend.dtypes import get_default_dtype
from rlgrad.nn.parameter import Buffer, Parameter

__all__ = ["UninitializedBuffer", "UninitializedParameter", "is_lazy"]

U = TypeVar("U", bound="_Uninitialized")
_MISSING = "call the module with a first batch to initialize it"


def is_lazy(param: Any) -> bool:
    """Whether a tensor still waits for its shape."""
    return isinstance(param, _Uninitialized)


class _Uninitialized(Tensor):
    """A tensor with a dtype and a device but without elements: whatever needs these raises."""

    __slots__ = ()
    becomes: type[Tensor]

    def _set_up(self, requires_grad: bool, device: Any, dtype: Any) -> None:
        self._cell = [0]
        self._view = self._extra = self._edge = None
        self.__dict__.update(
            wanted=requires_grad,
            place=get_default_device() if device is None else as_device(device),
            kind=dtype or get_default_dtype(),
        )

    @property
    def _array(self) -> NoReturn:
        raise ValueError(f"Attempted to use an uninitialized parameter or buffer: {_MISSING}")

    @property
    def shape(self) -> NoReturn:
        raise RuntimeError(f"Can't access the shape of an uninitialized parameter or buffer: {_MISSING}")

    @property
    def dtype(self) -> Dtype:
        return self.__dict__["kind"]

    @property
    def device(self) -> Any:
        return self.__dict__["place"]

    @property
    def requires_grad(self) -> bool:
        return self.__dict__["wanted"]

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self.__dict__["wanted"] = value

    def requires_grad_(self: U, requires_grad: bool = True) -> U:
        self.requires_grad = requires_grad
        return self

    def is_floating_point(self) -> bool:
        return self.dtype.is_floating_point

    def detach(self: U) -> U:
        return self

    @property
    def data(self: U) -> U:
        return self

    @data.setter
    def data(self, value: Tensor) -> None:
        self.__dict__.update(place=value.device, kind=value.dtype)

    def to(self: U, *args: Any, **kwargs: Any) -> U:
        """The same without a shape, on another device or of another dtype."""
        dtype = kwargs.get("dtype") or next((a for a in args if isinstance(a, Dtype)), None) or self.dtype
        device = kwargs.get("device") or next((a for a in args if not isinstance(a, (Dtype, bool))), None)
        return type(self)(self.requires_grad, self.device if device is None else device, dtype)

    type_ = to

    def __deepcopy__(self: U, memo: dict[int, Any]) -> U:
        if id(self) not in memo:
            memo[id(self)] = self.to()
        return memo[id(self)]

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Become an ordinary parameter or buffer of this shape, with arbitrary values."""
        array = empty(*shape, device=device or self.device, dtype=dtype or self.dtype)._array
        wanted = self.requires_grad
        for name in ("wanted", "place", "kind"):
            del self.__dict__[name]
        self.__class__ = self.becomes  # type: ignore[assignment]
        self._array = array  # type: ignore[misc]
        if wanted:
            self._edge = LeafNode(self)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


class UninitializedParameter(_Uninitialized, Parameter):
    """A parameter whose shape is not known yet; it becomes a :class:`Parameter` by ``materialize``.

    Example:
        >>> import rlgrad
        >>> weight = rlgrad.nn.UninitializedParameter()
        >>> weight.materialize((2, 3))
        >>> weight.shape, type(weight).__name__
        (torch.Size([2, 3]), 'Parameter')
    """

    __slots__ = ()
    becomes = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> UninitializedParameter:
        self = object.__new__(cls)
        self._name = None
        self._set_up(requires_grad, device, dtype)
        return self

    def __init__(self, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> None: ...


class UninitializedBuffer(_Uninitialized, Buffer):
    """A buffer whose shape is not known yet; it becomes a :class:`Buffer` by ``materialize``."""

    __slots__ = ()
    becomes = Buffer

    def __new__(
        cls, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True
    ) -> UninitializedBuffer:
        self = object.__new__(cls)
        self.persistent = persistent
        self._set_up(requires_grad, device, dtype)
        return self

    def __init__(
        self, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True
    ) -> None: ...
