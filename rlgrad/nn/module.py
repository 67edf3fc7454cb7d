"""Module: what networks are built from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from rlgrad.autograd.modes import no_grad
from rlgrad.autograd.ops.creation import empty_like
from rlgrad.autograd.tensor import Tensor
from rlgrad.backend.dtypes import dtype as Dtype
from rlgrad.backend.dtypes import float16, float32, float64
from rlgrad.backend.errors import nearest
from rlgrad.nn.hooks import *  # noqa: F403 - PyTorch has the hooks on all modules here
from rlgrad.nn.hooks import Hooked, registered
from rlgrad.nn.parameter import Buffer, Parameter
from rlgrad.nn.state import Stateful
from rlgrad.nn.tree import Tree

M = TypeVar("M", bound="Module")


class _NoAttribute(AttributeError):
    """Looks for the nearest name only when somebody reads the message: :func:`hasattr` does not."""

    def __init__(self, module: Module, name: str) -> None:
        super().__init__(name=name, obj=module)

    def __str__(self) -> str:
        return f"'{type(self.obj).__name__}' object has no attribute '{self.name}'.{nearest(str(self.name), dir(self.obj))}"


_NoAttribute.__name__ = _NoAttribute.__qualname__ = "AttributeError"


class Module(Hooked, Stateful, Tree):
    """Base class of networks and layers: holds parameters, buffers and other modules, and maps inputs to outputs.

    Subclasses assign parameters and modules to attributes in ``__init__`` and define ``forward``.

    Example:
        >>> from rlgrad import nn
        >>> class Net(nn.Module):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.linear = nn.Linear(4, 2)
        ...     def forward(self, x):
        ...         return self.linear(x).relu()
        >>> list(Net().state_dict())
        ['linear.weight', 'linear.bias']
    """

    training: bool
    _modules: dict[str, Module | None]

    def __init__(self) -> None:
        fields = self.__dict__
        fields["training"] = True
        fields["_parameters"] = {}
        fields["_buffers"] = {}
        fields["_modules"] = {}
        fields["_transient"] = set()
        fields["_hooks"] = None

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module computes; every subclass defines it."""
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    def __setattr__(self, name: str, value: Any) -> None:
        fields = self.__dict__
        if "_parameters" not in fields:
            if isinstance(value, (Parameter, Module)):
                raise AttributeError(
                    f"cannot assign {type(value).__name__.lower()}s before Module.__init__() call: call super().__init__() "
                    f"first in {type(self).__name__}.__init__"
                )
            fields[name] = value
            return
        if isinstance(value, Parameter):
            self._clear(name, keep=self._parameters)
            self.register_parameter(name, value)
        elif name in self._parameters:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{type(value).__name__}' as parameter '{name}' (nn.Parameter or None expected)"
                )
            self._parameters[name] = None
        elif isinstance(value, Module):
            self._clear(name, keep=self._modules)
            self._modules[name] = registered("module", self, name, value)
        elif isinstance(value, Buffer):
            if name not in self._buffers:
                self._clear(name)
            self.register_buffer(name, value, persistent=value.persistent)
        elif name in self._modules:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{type(value).__name__}' as child module '{name}' (nn.Module or None expected)"
                )
            self._modules[name] = registered("module", self, name, None)
        elif name in self._buffers:
            if value is not None and not isinstance(value, Tensor):
                raise TypeError(
                    f"cannot assign '{type(value).__name__}' object to buffer '{name}' (Tensor or None required)"
                )
            self._buffers[name] = registered("buffer", self, name, value)
        else:
            object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        fields = self.__dict__
        for table in ("_parameters", "_buffers", "_modules"):
            entries = fields.get(table)
            if entries is not None and name in entries:
                return entries[name]
        raise _NoAttribute(self, name)

    def __delattr__(self, name: str) -> None:
        for table in (self._parameters, self._buffers, self._modules):
            if name in table:
                del table[name]
                self._transient.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        names = set(object.__dir__(self))
        for table in ("_parameters", "_buffers", "_modules"):
            names.update(self.__dict__.get(table, {}))
        return sorted(name for name in names if not name[0].isdigit())

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__dict__.setdefault("_transient", set())
        self.__dict__.setdefault("_hooks", None)

    def _clear(self, name: str, keep: dict[str, Any] | None = None) -> None:
        """Make place for an attribute in every table but the one whose order it keeps."""
        self.__dict__.pop(name, None)
        for table in (self._parameters, self._buffers, self._modules):
            if table is not keep:
                table.pop(name, None)
        self._transient.discard(name)

    def _has(self, name: str) -> bool:
        """:func:`hasattr` without looking for the nearest name there is."""
        tables = (self.__dict__, self._parameters, self._buffers, self._modules)
        return any(name in table for table in tables) or hasattr(type(self), name)

    def _check_name(self, name: str, table: dict[str, Any], kind: str) -> None:
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {type(name).__name__}")
        if "." in name:
            raise KeyError(f'{kind} name can\'t contain ".", got: {name}')
        if not name:
            raise KeyError(f'{kind} name can\'t be empty string ""')
        if name not in table and self._has(name):
            raise KeyError(f"attribute '{name}' already exists")

    def _table(self, kind: str) -> dict[str, Any]:
        """Where parameters, buffers or modules are kept."""
        fields = self.__dict__
        if "_" + kind + "s" not in fields:
            raise AttributeError(
                f"cannot assign {kind} before Module.__init__() call: call super().__init__() first in "
                f"{type(self).__name__}.__init__"
            )
        return fields["_" + kind + "s"]

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter, or the place of one that may come later (``None``)."""
        table = self._table("parameter")
        self._check_name(name, table, "parameter")
        if param is None:
            table[name] = None
            return
        if not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{type(param).__name__}' object to parameter '{name}' (nn.Parameter or None required)"
            )
        if not param.is_leaf:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created explicitly; detach() "
                "it first, or compute it in forward()"
            )
        table[name] = param = registered("parameter", self, name, param)
        if param is not None and param._name is None:
            param._name = name

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that belongs to the state but is not trained.

        Args:
            persistent: whether ``state_dict`` includes it.
        """
        table = self._table("buffer")
        self._check_name(name, table, "buffer")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{type(tensor).__name__}' object to buffer '{name}' (Tensor or None required)"
            )
        table[name] = registered("buffer", self, name, tensor)
        (self._transient.discard if persistent else self._transient.add)(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a child module under a name."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{type(module).__name__} is not a Module subclass")
        table = self._table("module")
        self._check_name(name, table, "module")
        table[name] = registered("module", self, name, module)

    def register_module(self, name: str, module: Module | None) -> None:
        """Add a child module under a name."""
        self.add_module(name, module)

    def apply(self: M, fn: Callable[[Module], None]) -> M:
        """Call ``fn`` on every module, children first."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def train(self: M, mode: bool = True) -> M:
        """Set training mode, here and below: dropout drops, batch norm learns."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.__dict__["training"] = mode
        for module in self._modules.values():
            if module is not None:
                module.train(mode)
        return self

    def eval(self: M) -> M:
        """Set evaluation mode."""
        return self.train(False)

    def requires_grad_(self: M, requires_grad: bool = True) -> M:
        """Let all parameters collect gradients, or none."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters."""
        for parameter in self.parameters():
            if parameter.grad is None:
                continue
            if set_to_none:
                parameter.grad = None
            else:
                parameter.grad.detach_().zero_()

    def _apply(self: M, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> M:
        """Convert the values of all parameters, their gradients and all buffers."""
        for module in self.children() if recurse else ():
            module._apply(fn)
        with no_grad():
            for parameter in self._parameters.values():
                if parameter is not None:
                    gradient = parameter.grad
                    parameter.data = fn(parameter.detach())
                    if gradient is not None:
                        parameter.grad = fn(gradient)
            for name, buffer in self._buffers.items():
                if buffer is not None:
                    self._buffers[name] = fn(buffer)
        return self

    def to(self: M, *args: Any, **kwargs: Any) -> M:
        """Move to a device, convert floating-point state to a dtype, or both, in place.

        Called as ``to(device, dtype)``, ``to(dtype)`` or ``to(tensor)``, whose device and dtype are then taken;
        ``non_blocking`` is accepted for PyTorch's sake.
        """
        dtype = kwargs.get("dtype") or next((a for a in args if isinstance(a, Dtype)), None)
        device = kwargs.get("device")
        if device is None:
            device = next((a for a in args if a is not None and not isinstance(a, (Dtype, bool, Tensor))), None)
        for example in (*args, kwargs.get("tensor")):
            if isinstance(example, Tensor):
                dtype, device = example.dtype, example.device
        if dtype is not None and not dtype.is_floating_point:
            raise TypeError(f"nn.Module.to only accepts floating point dtypes, but got desired dtype={dtype!r}")
        return self._apply(lambda x: x.to(device=device, dtype=dtype if x.is_floating_point() else None))

    def to_empty(self: M, *, device: Any, recurse: bool = True) -> M:
        """Move to a device without copying the values."""
        return self._apply(lambda x: empty_like(x, device=device), recurse)

    def cpu(self: M) -> M:
        """Move to main memory."""
        return self.to("cpu")

    def cuda(self: M, device: Any = None) -> M:
        """Move to a GPU."""
        return self.to("cuda" if device is None else device)

    def type(self: M, dst_type: Any) -> M:
        """Convert all parameters and buffers to a dtype."""
        return self._apply(lambda x: x.type(dst_type))

    def _cast(self: M, dtype: Dtype) -> M:
        return self._apply(lambda x: x.to(dtype) if x.is_floating_point() else x)

    def float(self: M) -> M:
        """Convert floating-point parameters and buffers to float32."""
        return self._cast(float32)

    def double(self: M) -> M:
        """Convert floating-point parameters and buffers to float64."""
        return self._cast(float64)

    def half(self: M) -> M:
        """Convert floating-point parameters and buffers to float16."""
        return self._cast(float16)

    def extra_repr(self) -> str:
        """What to print between the parentheses."""
        return ""

    def _get_name(self) -> str:
        return type(self).__name__

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [f"({name}): " + repr(module).replace("\n", "\n  ") for name, module in self._modules.items()]
        if not children and len(lines) <= 1:
            return f"{self._get_name()}({extra})"
        return f"{self._get_name()}(\n  " + "\n  ".join(lines + children) + "\n)"
