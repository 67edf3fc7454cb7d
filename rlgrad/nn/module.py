"""Module: what networks are built from."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

import numpy as np

from rlgrad.autograd.graph import RemovableHandle
from rlgrad.autograd.modes import no_grad
from rlgrad.autograd.tensor import Tensor
from rlgrad.backend.dtypes import dtype as Dtype
from rlgrad.backend.errors import nearest
from rlgrad.nn.parameter import Buffer, Parameter

M = TypeVar("M", bound="Module")


class IncompatibleKeys(NamedTuple):
    """What ``load_state_dict(strict=False)`` could not match."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"


class Module:
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
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Module | None]
    _transient: set[str]
    _hooks: dict[str, dict[int, Any]] | None
    forward: Callable[..., Any]

    def __init__(self) -> None:
        fields = self.__dict__
        fields["training"] = True
        fields["_parameters"] = {}
        fields["_buffers"] = {}
        fields["_modules"] = {}
        fields["_transient"] = set()
        fields["_hooks"] = None

    # Attributes

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
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            self._clear(name)
            self._modules[name] = value
        elif isinstance(value, Buffer):
            self.register_buffer(name, value, persistent=value.persistent)
        elif name in self._parameters:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{type(value).__name__}' as parameter '{name}' (nn.Parameter or None expected)"
                )
            self._parameters[name] = None
        elif name in self._modules:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{type(value).__name__}' as child module '{name}' (nn.Module or None expected)"
                )
            self._modules[name] = None
        elif name in self._buffers:
            if value is not None and not isinstance(value, Tensor):
                raise TypeError(
                    f"cannot assign '{type(value).__name__}' object to buffer '{name}' (Tensor or None required)"
                )
            self._buffers[name] = value
        else:
            object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        fields = self.__dict__
        for table in ("_parameters", "_buffers", "_modules"):
            entries = fields.get(table)
            if entries is not None and name in entries:
                return entries[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'.{nearest(name, dir(self))}")

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
        return sorted(names)

    def _clear(self, name: str) -> None:
        self.__dict__.pop(name, None)
        for table in (self._parameters, self._buffers):
            table.pop(name, None)

    def _check_name(self, name: str, table: dict[str, Any], kind: str) -> None:
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {type(name).__name__}")
        if "." in name:
            raise KeyError(f'{kind} name can\'t contain "."')
        if not name:
            raise KeyError(f'{kind} name can\'t be empty string ""')
        if hasattr(self, name) and name not in table:
            raise KeyError(f"attribute '{name}' already exists")

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter, or the place of one that may come later (``None``)."""
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{type(param).__name__}' object to parameter '{name}' (nn.Parameter or None required)"
            )
        if param is not None and not param.is_leaf:
            raise ValueError(f"Cannot assign non-leaf Tensor to parameter '{name}'; detach() it first")
        self.__dict__.pop(name, None)
        if name not in self._parameters:
            self._check_name(name, self._parameters, "parameter")
        self._parameters[name] = param
        if param is not None and param._name is None:
            param._name = name

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that belongs to the state but is not trained.

        Args:
            persistent: whether ``state_dict`` includes it.
        """
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{type(tensor).__name__}' object to buffer '{name}' (Tensor or None required)"
            )
        if name not in self._buffers:
            self._check_name(name, self._buffers, "buffer")
        self._buffers[name] = tensor
        (self._transient.discard if persistent else self._transient.add)(name)

    def register_module(self, name: str, module: Module | None) -> None:
        """Add a child module under a name."""
        self.add_module(name, module)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a child module under a name."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{type(module).__name__} is not a Module subclass")
        self._check_name(name, self._modules, "module")
        self._modules[name] = module

    # Calling

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._hooks is None:
            return self.forward(*args, **kwargs)
        return self._call_hooked(args, kwargs)

    def _call_hooked(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        hooks = self._hooks
        assert hooks is not None
        for key, hook in tuple(hooks["forward_pre"].items()):
            if key in hooks["with_kwargs"]:
                result = hook(self, args, kwargs)
                if result is not None:
                    args, kwargs = result
            else:
                result = hook(self, args)
                if result is not None:
                    args = result if isinstance(result, tuple) else (result,)
        boundary = None
        if hooks["full_backward"] or hooks["full_backward_pre"]:
            from rlgrad.nn.hooks import BackwardBoundary

            boundary = BackwardBoundary(self, hooks["full_backward"], hooks["full_backward_pre"])
            args = boundary.enter(args)
        output = self.forward(*args, **kwargs)
        for key, hook in tuple(hooks["forward"].items()):
            result = hook(self, args, kwargs, output) if key in hooks["with_kwargs"] else hook(self, args, output)
            if result is not None:
                output = result
        return output if boundary is None else boundary.leave(output)

    def _add_hook(
        self, kind: str, hook: Callable[..., Any], with_kwargs: bool = False, prepend: bool = False
    ) -> RemovableHandle:
        if self._hooks is None:
            kinds = (
                "forward_pre",
                "forward",
                "full_backward",
                "full_backward_pre",
                "with_kwargs",
                "state_dict",
                "load",
            )
            self.__dict__["_hooks"] = {name: OrderedDict() for name in kinds}
        hooks = self._hooks
        assert hooks is not None
        key = 1 + max((k for table in hooks.values() for k in table), default=0)
        hooks[kind][key] = hook
        if prepend:
            hooks[kind].move_to_end(key, last=False)  # type: ignore[attr-defined]
        if with_kwargs:
            hooks["with_kwargs"][key] = True
        return RemovableHandle(hooks[kind], key)

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, args)`` before ``forward``; what it returns replaces the arguments."""
        return self._add_hook("forward_pre", hook, with_kwargs, prepend)

    def register_forward_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, args, output)`` after ``forward``; what it returns replaces the output."""
        return self._add_hook("forward", hook, with_kwargs, prepend)

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(module, grad_input, grad_output)`` in backward; what it returns replaces ``grad_input``."""
        return self._add_hook("full_backward", hook, prepend=prepend)

    def register_full_backward_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(module, grad_output)`` before backward enters the module; its result replaces ``grad_output``."""
        return self._add_hook("full_backward_pre", hook, prepend=prepend)

    # Walking through it

    def named_modules(
        self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """This module and all below it, with dotted names; a shared module comes once."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, prefix + ("." if prefix else "") + name, remove_duplicate)

    def modules(self) -> Iterator[Module]:
        for _, module in self.named_modules():
            yield module

    def named_children(self) -> Iterator[tuple[str, Module]]:
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self) -> Iterator[Module]:
        for _, module in self.named_children():
            yield module

    def _named(self, table: str, prefix: str, recurse: bool, remove_duplicate: bool) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for path, module in modules:
            for name, value in getattr(module, table).items():
                if value is None or (remove_duplicate and id(value) in seen):
                    continue
                seen.add(id(value))
                yield path + ("." if path else "") + name, value

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Parameters with their dotted names; a shared one comes once."""
        yield from self._named("_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        yield from self._named("_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def get_submodule(self, target: str) -> Module:
        """The module at a dotted path."""
        module: Module = self
        for name in target.split(".") if target else ():
            if name not in module._modules or module._modules[name] is None:
                raise AttributeError(
                    f"{type(module).__name__} has no attribute `{name}`{nearest(name, module._modules)}"
                )
            module = module._modules[name]  # type: ignore[assignment]
        return module

    def get_parameter(self, target: str) -> Parameter:
        """The parameter at a dotted path."""
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        found = module._parameters.get(name)
        if found is None:
            raise AttributeError(
                f"{type(module).__name__} has no parameter `{name}`{nearest(name, module._parameters)}"
            )
        return found

    def get_buffer(self, target: str) -> Tensor:
        """The buffer at a dotted path."""
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        found = module._buffers.get(name)
        if found is None:
            raise AttributeError(f"`{name}` is not a buffer{nearest(name, module._buffers)}")
        return found

    # Changing it

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
        for module in self.modules():
            module.__dict__["training"] = mode
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

    def _convert(self: M, function: Callable[[Tensor], Tensor]) -> M:
        with no_grad():
            for module in self.modules():
                for parameter in module._parameters.values():
                    if parameter is None:
                        continue
                    gradient = parameter.grad
                    parameter.data = function(parameter.detach())
                    if gradient is not None:
                        parameter.grad = function(gradient)
                for name, buffer in module._buffers.items():
                    if buffer is not None:
                        module._buffers[name] = function(buffer)
        return self

    def to(self: M, *args: Any, **kwargs: Any) -> M:
        """Move to a device, convert floating-point state to a dtype, or both, in place."""
        dtype = kwargs.get("dtype") or next((a for a in args if isinstance(a, Dtype)), None)
        if dtype is not None and not dtype.is_floating_point:
            raise TypeError(f"nn.Module.to only accepts floating point dtypes, but got desired dtype={dtype!r}")
        device = kwargs.get("device") or next((a for a in args if not isinstance(a, (Dtype, bool, Tensor))), None)
        for argument in args:
            if isinstance(argument, Tensor):
                dtype, device = argument.dtype, argument.device
        return self._convert(lambda x: x.to(device=device, dtype=dtype if x.is_floating_point() else None))

    def cpu(self: M) -> M:
        return self.to("cpu")

    def cuda(self: M, device: Any = None) -> M:
        return self.to("cuda" if device is None else device)

    def float(self: M) -> M:
        return self._convert(lambda x: x.float() if x.is_floating_point() else x)

    def double(self: M) -> M:
        return self._convert(lambda x: x.double() if x.is_floating_point() else x)

    def half(self: M) -> M:
        return self._convert(lambda x: x.half() if x.is_floating_point() else x)

    # State

    def state_dict(self, *, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> dict[str, Any]:
        """Parameters and persistent buffers by dotted name, sharing their memory."""
        state = OrderedDict() if destination is None else destination
        self._save_to_state_dict(state, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=state, prefix=prefix + name + ".", keep_vars=keep_vars)
        extra = self.get_extra_state()
        if extra is not None:
            state[prefix + "_extra_state"] = extra
        return state

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        for name, parameter in self._parameters.items():
            if parameter is not None:
                destination[prefix + name] = parameter if keep_vars else parameter.detach()
        for name, buffer in self._buffers.items():
            if buffer is not None and name not in self._transient:
                destination[prefix + name] = buffer if keep_vars else buffer.detach()

    def get_extra_state(self) -> Any:
        """More state to save beside tensors; nothing unless a subclass says so."""
        return None

    def set_extra_state(self, state: Any) -> None:
        """Take back what :meth:`get_extra_state` gave."""
        raise RuntimeError(f"{type(self).__name__} saved extra state but does not define set_extra_state")

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> IncompatibleKeys:
        """Copy parameters and buffers from tensors or NumPy arrays under the names of :meth:`state_dict`.

        Args:
            state_dict: values by dotted name.
            strict: raise unless the names are exactly this module's.
            assign: take the given tensors themselves instead of copying into the present ones.

        Raises:
            RuntimeError: listing every missing, unexpected and mis-shaped key.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict).__name__}.")
        own: dict[str, tuple[Module, str]] = {}
        extra: list[str] = []
        for path, module in self.named_modules(remove_duplicate=False):
            prefix = path + "." if path else ""
            for table in (module._parameters, module._buffers):
                for name, value in table.items():
                    if value is not None and name not in module._transient:
                        own[prefix + name] = (module, name)
            if prefix + "_extra_state" in state_dict:
                module.set_extra_state(state_dict[prefix + "_extra_state"])
                extra.append(prefix + "_extra_state")
        missing = [key for key in own if key not in state_dict]
        unexpected = [key for key in state_dict if key not in own and key not in extra]
        problems = []
        if strict and unexpected:
            problems.append("Unexpected key(s) in state_dict: " + ", ".join(f'"{k}"' for k in unexpected) + ". ")
        if strict and missing:
            problems.append("Missing key(s) in state_dict: " + ", ".join(f'"{k}"' for k in missing) + ". ")
        for key, (module, name) in own.items():
            if key in state_dict:
                target = module._parameters.get(name)
                have = tuple(state_dict[key].shape)
                wanted = tuple((module._buffers[name] if target is None else target).shape)  # type: ignore[union-attr]
                if have != wanted:
                    problems.append(
                        f"size mismatch for {key}: copying a param with shape {list(have)} from checkpoint, the shape in current "
                        f"model is {list(wanted)}."
                    )
        if problems:
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t" + "\n\t".join(problems))
        with no_grad():
            for key, (module, name) in own.items():
                if key in state_dict:
                    self._load_one(module, name, state_dict[key], assign)
        return IncompatibleKeys(missing, unexpected)

    @staticmethod
    def _load_one(module: Module, name: str, value: Any, assign: bool) -> None:
        from rlgrad.autograd.ops.creation import as_tensor

        value = as_tensor(np.asarray(value) if not isinstance(value, Tensor) else value)
        parameter = module._parameters.get(name)
        target = module._buffers[name] if parameter is None else parameter
        assert target is not None
        if not assign:
            target.copy_(value)
        elif parameter is not None:
            module._parameters[name] = Parameter(value.detach(), parameter.requires_grad)
        else:
            module._buffers[name] = value

    # Printing

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
