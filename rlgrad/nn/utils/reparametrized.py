"""Spectral and weight normalisation by hooks before the forward pass, with the names that PyTorch's first forms had."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeVar

from rlgrad.autograd.modes import no_grad
from rlgrad.autograd.ops.sampling import randn
from rlgrad.autograd.tensor import Tensor
from rlgrad.nn.functional import normalize
from rlgrad.nn.module import Module
from rlgrad.nn.parameter import Parameter
from rlgrad.nn.uninitialized import is_lazy
from rlgrad.nn.utils.parametrizations import as_matrix, norm_except_dim, output_dim

__all__ = ["remove_spectral_norm", "remove_weight_norm", "spectral_norm", "weight_norm"]

M = TypeVar("M", bound=Module)


class _Reparametrization(ABC):
    """A hook that computes a weight, kept as a plain attribute, from other parameters of its module."""

    kind: str

    def __init__(self, name: str) -> None:
        self.name = name

    @abstractmethod
    def compute(self, module: Module) -> Tensor:
        """The weight."""

    @abstractmethod
    def split(self, module: Module, weight: Parameter) -> None:
        """Register what the weight is computed from."""

    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """What :meth:`split` registered."""

    def __call__(self, module: Module, args: Any) -> None:
        setattr(module, self.name, self.compute(module))

    def install(self, module: Module) -> None:
        if self._find(module, self.kind, self.name) is not None:
            raise RuntimeError(f"Cannot register two {self.kind} hooks on the same parameter {self.name}")
        weight = module._parameters[self.name]
        if weight is None:
            raise ValueError(f"{self.kind} cannot be applied as parameter `{self.name}` is None")
        if is_lazy(weight):
            raise ValueError(f"{self.kind} needs an initialized parameter: run a first batch through the module before")
        del module._parameters[self.name]
        self.split(module, weight)
        setattr(module, self.name, self.compute(module))
        module.register_forward_pre_hook(self)

    @staticmethod
    def _find(module: Module, kind: str, name: str) -> tuple[int, _Reparametrization] | None:
        for key, hook in (module._hooks or {"forward_pre": {}})["forward_pre"].items():
            found = hook.function
            if isinstance(found, _Reparametrization) and (found.kind, found.name) == (kind, name):
                return key, found
        return None

    @classmethod
    def remove(cls, module: Module, name: str) -> None:
        found = cls._find(module, cls.kind, name)
        if found is None or module._hooks is None:
            raise ValueError(f"{cls.kind} of '{name}' not found in {module}")
        key, hook = found
        with no_grad():
            training, module.training = module.training, False
            value = hook.compute(module).detach()
            module.training = training
        for part in (name, *hook.names()):
            delattr(module, part)
        del module._hooks["forward_pre"][key]
        module.register_parameter(name, Parameter(value))


class _WeightNorm(_Reparametrization):
    kind = "weight_norm"

    def __init__(self, name: str, dim: int | None) -> None:
        super().__init__(name)
        self.dim = -1 if dim is None else dim

    def names(self) -> tuple[str, ...]:
        return self.name + "_g", self.name + "_v"

    def split(self, module: Module, weight: Parameter) -> None:
        g, v = self.names()
        module.register_parameter(g, Parameter(norm_except_dim(weight.detach(), self.dim)))
        module.register_parameter(v, Parameter(weight.detach()))

    def compute(self, module: Module) -> Tensor:
        g, v = (getattr(module, name) for name in self.names())
        return v * (g / norm_except_dim(v, self.dim))


class _SpectralNorm(_Reparametrization):
    kind = "spectral_norm"

    def __init__(self, name: str, n_power_iterations: int, dim: int, eps: float) -> None:
        super().__init__(name)
        if n_power_iterations <= 0:
            raise ValueError(f"Expected n_power_iterations to be positive, but got {n_power_iterations=}")
        self.n_power_iterations, self.dim, self.eps = n_power_iterations, dim, eps

    def names(self) -> tuple[str, ...]:
        return self.name + "_orig", self.name + "_u", self.name + "_v"

    def split(self, module: Module, weight: Parameter) -> None:
        original, *vectors = self.names()
        module.register_parameter(original, weight)
        for name, size in zip(vectors, as_matrix(weight.detach(), self.dim).shape, strict=True):
            start = randn(size, dtype=weight.dtype).to(weight.device)
            module.register_buffer(name, normalize(start, dim=0, eps=self.eps))

    def __call__(self, module: Module, args: Any) -> None:
        if module.training:
            original, u_name, v_name = self.names()
            matrix = as_matrix(getattr(module, original).detach(), self.dim)
            u, v = getattr(module, u_name), getattr(module, v_name)
            with no_grad():
                for _ in range(self.n_power_iterations):
                    v = normalize(matrix.t() @ u, dim=0, eps=self.eps)
                    u = normalize(matrix @ v, dim=0, eps=self.eps)
            setattr(module, u_name, u)
            setattr(module, v_name, v)
        super().__call__(module, args)

    def compute(self, module: Module) -> Tensor:
        weight, u, v = (getattr(module, name) for name in self.names())
        return weight / (u @ (as_matrix(weight, self.dim) @ v))


def weight_norm(module: M, name: str = "weight", dim: int | None = 0) -> M:
    """Train length ``<name>_g`` and direction ``<name>_v`` of a weight's rows apart (Salimans and Kingma, 2016).

    :func:`rlgrad.nn.utils.parametrizations.weight_norm` is the newer form.

    Args:
        dim: dimension that keeps a length for each index; ``None`` for one length in all.
    """
    warnings.warn(
        "nn.utils.weight_norm is deprecated in favor of nn.utils.parametrizations.weight_norm",
        FutureWarning,
        stacklevel=2,
    )
    _WeightNorm(name, dim).install(module)
    return module


def spectral_norm(
    module: M, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> M:
    """Divide a weight, kept as ``<name>_orig``, by its largest singular value (Miyato et al., 2018).

    :func:`rlgrad.nn.utils.parametrizations.spectral_norm` is the newer form.

    Args:
        n_power_iterations: steps of power iteration for each forward pass in training.
        dim: dimension of the outputs; 1 for transposed convolutions, else 0.
    """
    _SpectralNorm(name, n_power_iterations, output_dim(module) if dim is None else dim, eps).install(module)
    return module


def _remover(kind: type[_Reparametrization]) -> Callable[..., Any]:
    def remove(module: M, name: str = "weight") -> M:
        kind.remove(module, name)
        return module

    remove.__name__ = remove.__qualname__ = "remove_" + kind.kind
    remove.__doc__ = f"Make a weight under :func:`{kind.kind}` an ordinary parameter again, with its present value."
    return remove


remove_weight_norm = _remover(_WeightNorm)
remove_spectral_norm = _remover(_SpectralNorm)
