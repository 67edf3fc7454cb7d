"""Parameters that are computed from others, such as weights of bounded norm."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rlgrad.autograd.modes import no_grad
from rlgrad.autograd.tensor import Tensor
from rlgrad.nn.containers import ModuleDict, ModuleList
from rlgrad.nn.module import Module
from rlgrad.nn.parameter import Parameter

__all__ = ["ParametrizationList", "cached", "is_parametrized", "register_parametrization", "remove_parametrizations"]

_cache: dict[tuple[int, str], Tensor] | None = None


@contextmanager
def cached() -> Iterator[None]:
    """Within this block each parametrized tensor is computed once."""
    global _cache
    outer = _cache
    _cache = {} if outer is None else outer
    try:
        yield
    finally:
        _cache = outer


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, and the tensors that it is computed from."""

    def __init__(self, modules: list[Module], original: Tensor) -> None:
        super().__init__(modules)
        value: Any = original.detach()
        with no_grad():
            for module in reversed(modules):
                inverse = getattr(module, "right_inverse", None)
                if inverse is not None:
                    value = inverse(value)
        self.__dict__["is_tensor"] = isinstance(value, Tensor)
        parts = [value] if isinstance(value, Tensor) else list(value)
        self.__dict__["ntensors"] = len(parts)
        for index, part in enumerate(parts):
            name = "original" if self.is_tensor else f"original{index}"
            if isinstance(original, Parameter):
                if self.is_tensor:
                    original.data = part
                    self.register_parameter(name, original)
                else:
                    self.register_parameter(name, Parameter(part.clone(), original.requires_grad))
            else:
                self.register_buffer(name, part.clone())

    def forward(self) -> Tensor:
        first, *rest = self
        if self.is_tensor:
            value = first(self.original)
        else:
            value = first(*[getattr(self, f"original{i}") for i in range(self.ntensors)])
        for module in rest:
            value = module(value)
        return value


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a module, or one of its tensors, is parametrized."""
    entries = module._modules.get("parametrizations")
    if not isinstance(entries, ModuleDict):
        return False
    return len(entries) > 0 if tensor_name is None else tensor_name in entries


def _computed(name: str) -> property:
    def get(self: Any) -> Tensor:
        if _cache is None:
            return self.parametrizations[name]()
        key = (id(self), name)
        if key not in _cache:
            _cache[key] = self.parametrizations[name]()
        return _cache[key]

    return property(get)


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Compute a parameter or buffer of ``module`` with ``parametrization`` from now on.

    Args:
        tensor_name: the parameter's name; its own value moves to ``parametrizations.<name>.original``.
        parametrization: maps the original to the tensor; ``right_inverse``, where there is one, gives the first original.
        unsafe: skip the check that shape and dtype stay as they are.
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        entries: Any = module._modules["parametrizations"]
        entries[tensor_name].append(parametrization)
        return module
    own = module._parameters if tensor_name in module._parameters else module._buffers
    original = own.get(tensor_name)
    if original is None:
        raise ValueError(
            f"Module '{type(module).__name__}' does not have a parameter, a buffer, or a parametrized element with name "
            f"'{tensor_name}'"
        )
    shape, dtype = original.shape, original.dtype
    wrapped = ParametrizationList([parametrization], original)
    with no_grad():
        value = wrapped()
    if not unsafe and (value.shape != shape or value.dtype != dtype):
        raise ValueError(
            f"Registering a parametrization may not change the shape or dtype of the tensor: {list(shape)} of {dtype!r} "
            f"became {list(value.shape)} of {value.dtype!r}; pass unsafe=True if that is meant"
        )
    del own[tensor_name]
    if not is_parametrized(module):
        base = type(module)
        module.__class__ = type(f"Parametrized{base.__name__}", (base,), {"__module__": base.__module__})
        module.parametrizations = ModuleDict()
    setattr(type(module), tensor_name, _computed(tensor_name))
    module.parametrizations[tensor_name] = wrapped
    return module


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Make a tensor an ordinary one again, with its present value or with its original."""
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    entries: Any = module._modules["parametrizations"]
    wrapped = entries[tensor_name]
    if not leave_parametrized and not wrapped.is_tensor:
        raise ValueError("Cannot leave unparametrized a tensor that is computed from several")
    trained = bool(wrapped._parameters)
    if leave_parametrized:
        with no_grad():
            value = getattr(module, tensor_name).detach().clone()
    else:
        value = wrapped.original.detach()
    delattr(type(module), tensor_name)
    del entries[tensor_name]
    if trained:
        module.register_parameter(tensor_name, Parameter(value))
    else:
        module.register_buffer(tensor_name, value)
    if not len(entries):
        del module._modules["parametrizations"]
        module.__class__ = type(module).__bases__[0]
    return module
