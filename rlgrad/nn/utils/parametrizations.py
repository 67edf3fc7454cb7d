"""Weights of bounded norm."""

from __future__ import annotations

from typing import Any

from rlgrad.autograd.modes import no_grad
from rlgrad.autograd.ops.sampling import randn
from rlgrad.autograd.tensor import Tensor
from rlgrad.nn.functional import normalize
from rlgrad.nn.module import Module
from rlgrad.nn.utils.parametrize import register_parametrization

__all__ = ["spectral_norm", "weight_norm"]


class _SpectralNorm(Module):
    _u: Tensor
    _v: Tensor

    def __init__(self, weight: Tensor, n_power_iterations: int, dim: int, eps: float) -> None:
        super().__init__()
        self.n_power_iterations, self.eps = n_power_iterations, eps
        self.dim = dim % weight.ndim
        if weight.ndim > 1:
            matrix = self._matrix(weight.detach())
            rows, columns = matrix.shape
            u, v = randn(rows, dtype=weight.dtype), randn(columns, dtype=weight.dtype)
            self.register_buffer("_u", normalize(u.to(weight.device), dim=0, eps=eps))
            self.register_buffer("_v", normalize(v.to(weight.device), dim=0, eps=eps))
            self._iterate(matrix, 15)

    def _matrix(self, weight: Tensor) -> Tensor:
        return weight.movedim(self.dim, 0).flatten(1)

    def _iterate(self, matrix: Tensor, count: int) -> None:
        with no_grad():
            for _ in range(count):
                self._u = normalize(matrix @ self._v, dim=0, eps=self.eps)
                self._v = normalize(matrix.t() @ self._u, dim=0, eps=self.eps)

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return normalize(weight, dim=0, eps=self.eps)
        matrix = self._matrix(weight)
        if self.training:
            self._iterate(matrix.detach(), self.n_power_iterations)
        return weight / (self._u @ (matrix @ self._v))

    def right_inverse(self, value: Tensor) -> Tensor:
        return value


def spectral_norm(
    module: Any, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Any:
    """Divide a weight by its largest singular value (Miyato et al., 2018), followed by power iteration in training.

    Args:
        n_power_iterations: steps of the iteration for each forward pass.
        dim: dimension of the outputs; 1 for transposed convolutions, else 0.
    """
    if dim is None:
        dim = 1 if type(module).__name__.startswith("ConvTranspose") else 0
    weight = getattr(module, name)
    return register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))


class _WeightNorm(Module):
    def __init__(self, dim: int | None) -> None:
        super().__init__()
        self.dim = dim

    def _norm(self, v: Tensor) -> Tensor:
        if self.dim is None or self.dim == -1:
            return (v * v).sum().sqrt()
        dims = [d for d in range(v.ndim) if d != self.dim % v.ndim]
        return (v * v).sum(dims, keepdim=True).sqrt() if dims else v.abs()

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return weight_v * (weight_g / self._norm(weight_v))

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return self._norm(weight), weight


def weight_norm(module: Any, name: str = "weight", dim: int | None = 0) -> Any:
    """Train length and direction of a weight's rows apart (Salimans and Kingma, 2016).

    Args:
        dim: dimension that keeps a length for each index; ``None`` for one length in all.
    """
    return register_parametrization(module, name, _WeightNorm(dim), unsafe=True)
