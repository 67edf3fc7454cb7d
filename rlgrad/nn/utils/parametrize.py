"""Parameters that are computed from others, such as weights of bounded norm."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from rlgrad.autograd.modes import no_grad
from rlgrad.autograd.tensor import Tensor
from rlgrad.nn.containers import ModuleDict, ModuleList
from rlgrad.nn.module import Module
from rlgrad.nn.parameter import Parameter

__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]

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


def _register(module: Module, name: str, tensor: Tensor) -> None:
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def _check_like(source: str, value: Any, like: Tensor, shape: bool = True) -> None:
    """Refuse a value that is no tensor of the dtype, and the shape, of another."""
    if not isinstance(value, Tensor):
        raise ValueError(f"{source} must return a tensor. Got {type(value).__name__}.")
    if value.dtype is not like.dtype:
        raise ValueError(
            f"{source} may not change the dtype of the tensor, unless the `unsafe` flag is enabled: {like.dtype!r} became "
            f"{value.dtype!r}"
        )
    if shape and value.shape != like.shape:
        raise ValueError(
            f"{source} may not change the shape of the tensor, unless the `unsafe` flag is enabled: {list(like.shape)} became "
            f"{list(value.shape)}"
        )


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, and the tensors that it is computed from.

    Args:
        modules: applied one after the other.
        original: the tensor so far; its values go back through every ``right_inverse`` to the first originals.
        unsafe: skip the check that shape and dtype stay as they are.
    """

    is_tensor: bool
    ntensors: int

    def __init__(self, modules: Sequence[Module], original: Tensor, unsafe: bool = False) -> None:
        if not modules:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        before = original.detach()
        value: Any = original
        with no_grad():
            for module in reversed(list(modules)):
                if hasattr(module, "right_inverse"):
                    try:
                        value = module.right_inverse(value)
                    except NotImplementedError:
                        continue
        if not isinstance(value, (Tensor, Sequence)):
            raise ValueError(
                f"'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got {type(value).__name__}"
            )
        self.is_tensor = isinstance(value, Tensor)
        self.ntensors = 1 if self.is_tensor else len(value)
        if isinstance(value, Tensor):
            if value.dtype is not original.dtype or value.device != original.device:
                raise ValueError(
                    f"When `right_inverse` outputs one tensor, it may change neither dtype nor device: {original.dtype!r} on "
                    f"{original.device} became {value.dtype!r} on {value.device}"
                )
            original.data = value.detach()
            _register(self, "original", original)
        else:
            for index, part in enumerate(value):
                if not isinstance(part, Tensor):
                    raise ValueError(
                        "'right_inverse' must return a Tensor or a Sequence of tensors. Got element "
                        f"{index} of the sequence with type {type(part).__name__}."
                    )
                part = part.detach().clone()
                trained = isinstance(original, Parameter)
                _register(self, f"original{index}", Parameter(part, original.requires_grad) if trained else part)
        if not unsafe:
            _check_like("A parametrization", self(), before)

    def _originals(self) -> list[Tensor]:
        names = ["original"] if self.is_tensor else [f"original{i}" for i in range(self.ntensors)]
        return [getattr(self, name) for name in names]

    def right_inverse(self, value: Any) -> None:
        """Give the originals values of which the tensor becomes ``value``."""
        with no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(
                        f"parametrization {type(module).__name__} does not implement right_inverse, so its tensor cannot be "
                        "assigned to"
                    )
                value = module.right_inverse(value)
            parts = [value] if self.is_tensor else value
            if not self.is_tensor and (isinstance(value, Tensor) or not isinstance(value, Sequence)):
                raise ValueError(f"'right_inverse' must return a sequence of tensors. Got {type(value).__name__}.")
            if len(parts) != self.ntensors:
                raise ValueError(
                    f"'right_inverse' must return a sequence of tensors of length {self.ntensors}. Got a sequence of length "
                    f"{len(parts)}."
                )
            for original, part in zip(self._originals(), parts, strict=True):
                _check_like("`right_inverse`", part, original, shape=False)
                original.data = part.detach()

    def forward(self) -> Tensor:
        first, *rest = self
        value = first(*self._originals())
        for module in rest:
            value = module(value)
        return value


def _lists(module: Module) -> Any:
    entries = module.__dict__.get("_modules", {}).get("parametrizations")
    return entries if isinstance(entries, ModuleDict) else {}


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a module, or one of its tensors, is parametrized."""
    entries = _lists(module)
    return len(entries) > 0 if tensor_name is None else tensor_name in entries


def type_before_parametrizations(module: Module) -> type[Module]:
    """The class of a module that is perhaps parametrized, which changes it."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def _computed(name: str) -> property:
    def get(self: Any) -> Tensor:
        if _cache is None:
            return self.parametrizations[name]()
        key = (id(self), name)
        if key not in _cache:
            _cache[key] = self.parametrizations[name]()
        return _cache[key]

    def assign(self: Any, value: Tensor) -> None:
        self.parametrizations[name].right_inverse(value)

    return property(get, assign)


def _append(module: Module, tensor_name: str, parametrization: Module, unsafe: bool) -> None:
    """Add a parametrization to a tensor that has one already."""
    if not unsafe:
        before = getattr(module, tensor_name)
        after = parametrization(before)
        _check_like("A parametrization", after, before)
        if hasattr(parametrization, "right_inverse"):
            with suppress(NotImplementedError):
                _check_like("parametrization.right_inverse", parametrization.right_inverse(after), before)
    entries = _lists(module)[tensor_name]
    entries.append(parametrization)
    entries.unsafe |= unsafe


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Compute a parameter or buffer of ``module`` with ``parametrization`` from now on.

    Args:
        tensor_name: the parameter's name; its own value moves to ``parametrizations.<name>.original``.
        parametrization: maps the original to the tensor; ``right_inverse``, where there is one, gives the first
            original and the one after an assignment to the tensor.
        unsafe: skip the check that shape and dtype stay as they are.

    Example:
        >>> import rlgrad
        >>> class Symmetric(rlgrad.nn.Module):
        ...     def forward(self, x):
        ...         return x.triu() + x.triu(1).t()
        >>> layer = rlgrad.nn.Linear(3, 3)
        >>> _ = rlgrad.nn.utils.parametrize.register_parametrization(layer, "weight", Symmetric())
        >>> bool((layer.weight == layer.weight.t()).all())
        True
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        _append(module, tensor_name, parametrization, unsafe)
        return module
    own = module._parameters if tensor_name in module._parameters else module._buffers
    original = own.get(tensor_name)
    if original is None:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name '{tensor_name}'"
        )
    entries = ParametrizationList([parametrization], original, unsafe)
    delattr(module, tensor_name)
    if not is_parametrized(module):
        base = type(module)
        module.__class__ = type(f"Parametrized{base.__name__}", (base,), {"__module__": base.__module__})
        module.parametrizations = ModuleDict()
    setattr(type(module), tensor_name, _computed(tensor_name))
    module.parametrizations[tensor_name] = entries
    return module


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Make a tensor an ordinary one again, with its present value or with its original."""
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    entries = _lists(module)
    wrapped = entries[tensor_name]
    if not leave_parametrized and not wrapped.is_tensor:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a sequence of "
            "tensors."
        )
    with no_grad():
        value = getattr(module, tensor_name).detach().clone()
    if wrapped.is_tensor:
        result = wrapped.original
        if leave_parametrized:
            result.data = value
    else:
        trained = [p.requires_grad for p in wrapped.parameters(recurse=False)]
        result = Parameter(value) if any(trained) else value
    delattr(type(module), tensor_name)
    del entries[tensor_name]
    _register(module, tensor_name, result)
    if not len(entries):
        del module._modules["parametrizations"]
        module.__class__ = type(module).__bases__[0]
    return module


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Give a module the parametrizations of another, and the originals they are computed from.

    Args:
        tensor_name: the only tensor to transfer; all parametrized ones when not given.
    """
    for name in list(_lists(from_module)) if tensor_name is None else [tensor_name]:
        source = _lists(from_module)[name]
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name).detach()))
        for parametrization in source:
            register_parametrization(to_module, name, parametrization)
        target = _lists(to_module)[name]
        for kind in ("_parameters", "_buffers"):
            getattr(target, kind).update(getattr(source, kind))
    return to_module
