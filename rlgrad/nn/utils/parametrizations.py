"""Weights of bounded norm, of separate length and direction, and orthogonal ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from rlgrad.autograd.modes import no_grad
from rlgrad.autograd.ops.creation import eye
from rlgrad.autograd.ops.factorizations import geqrf, householder_product
from rlgrad.autograd.ops.joining import cat
from rlgrad.autograd.ops.matrix_functions import matrix_exp
from rlgrad.autograd.ops.sampling import randn
from rlgrad.autograd.tensor import Tensor, wrap
from rlgrad.backend.devices import device_of, move
from rlgrad.linalg import solve
from rlgrad.nn.functional import normalize
from rlgrad.nn.module import Module
from rlgrad.nn.utils.parametrize import register_parametrization

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


def as_matrix(weight: Tensor, dim: int) -> Tensor:
    """A weight with one dimension as rows and all others merged."""
    return weight.movedim(dim, 0).flatten(1)


def output_dim(module: Module) -> int:
    """The dimension of a weight that counts outputs: the second one of transposed convolutions, else the first."""
    return 1 if any(base.__name__.startswith("ConvTranspose") for base in type(module).__mro__) else 0


def _weight_of(module: Module, name: str) -> Tensor:
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    return weight


class _SpectralNorm(Module):
    _u: Tensor
    _v: Tensor

    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        if not -weight.ndim <= dim < weight.ndim:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [-{weight.ndim}, {weight.ndim - 1}] but got {dim})"
            )
        if n_power_iterations <= 0:
            raise ValueError(f"Expected n_power_iterations to be positive, but got {n_power_iterations=}")
        self.n_power_iterations, self.eps, self.dim = n_power_iterations, eps, dim % weight.ndim
        if weight.ndim > 1:
            matrix = as_matrix(weight.detach(), self.dim)
            for name, size in zip(("_u", "_v"), matrix.shape, strict=True):
                start = randn(size, dtype=weight.dtype).to(weight.device)
                self.register_buffer(name, normalize(start, dim=0, eps=eps))
            self._iterate(matrix, 15)

    def _iterate(self, matrix: Tensor, count: int) -> None:
        with no_grad():
            for _ in range(count):
                self._u = normalize(matrix @ self._v, dim=0, eps=self.eps)
                self._v = normalize(matrix.t() @ self._u, dim=0, eps=self.eps)

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return normalize(weight, dim=0, eps=self.eps)
        matrix = as_matrix(weight, self.dim)
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
    weight = _weight_of(module, name)
    dim = output_dim(module) if dim is None else dim
    return register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))


def norm_except_dim(v: Tensor, dim: int) -> Tensor:
    """The norms of a tensor's slices along a dimension, in a shape that broadcasts; one norm in all for -1."""
    if dim == -1:
        return (v * v).sum().sqrt()
    dims = [d for d in range(v.ndim) if d != dim % v.ndim]
    return (v * v).sum(dims, keepdim=True).sqrt() if dims else v.abs()


class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return weight_v * (weight_g / norm_except_dim(weight_v, self.dim))

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return norm_except_dim(weight, self.dim), weight


def weight_norm(module: Any, name: str = "weight", dim: int | None = 0) -> Any:
    """Train length and direction of a weight's rows apart (Salimans and Kingma, 2016).

    Args:
        dim: dimension that keeps a length for each index; ``None`` for one length in all.
    """
    _weight_of(module, name)
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def from_old_names(state: dict[str, Any], prefix: str, *rest: Any) -> None:
        for old, new in (("g", "original0"), ("v", "original1")):
            if f"{prefix}{name}_{old}" in state:
                state[f"{prefix}parametrizations.{name}.{new}"] = state.pop(f"{prefix}{name}_{old}")

    module._register_load_state_dict_pre_hook(from_old_names)
    return module


def _orthonormal(matrix: Tensor) -> Tensor:
    """The orthogonal factor that goes with a positive diagonal, for matrices or batches of them."""
    q, r = np.linalg.qr(matrix.numpy(force=True))
    q = q * np.sign(np.diagonal(r, axis1=-2, axis2=-1))[..., None, :]
    return wrap(move(np.ascontiguousarray(q), device_of(matrix._array)))


def _is_orthogonal(matrix: Tensor) -> bool:
    array = matrix.numpy(force=True)
    product = np.swapaxes(array, -2, -1) @ array
    return np.allclose(product, np.eye(array.shape[-1]), atol=10 * array.shape[-2] * np.finfo(array.dtype).eps)


class _Orthogonal(Module):
    base: Tensor | None

    def __init__(self, weight: Tensor, orthogonal_map: str, use_trivialization: bool = True) -> None:
        super().__init__()
        self.shape, self.orthogonal_map, self.use_trivialization = weight.shape, orthogonal_map, use_trivialization
        if use_trivialization:
            self.register_buffer("base", None)
        else:
            self.base = None

    def forward(self, x: Tensor) -> Tensor:
        wide = x.shape[-2] < x.shape[-1]
        tall = x.transpose(-2, -1) if wide else x
        q = self._householder(tall) if self.orthogonal_map == "householder" else self._of_skew(tall)
        if self.base is not None:
            q = self.base @ q
        return q.transpose(-2, -1) if wide else q

    def _of_skew(self, x: Tensor) -> Tensor:
        """The first columns of an orthogonal matrix, from the skew-symmetric one with this lower triangle."""
        rows, columns = x.shape[-2:]
        x = x.tril()
        if rows != columns:
            x = cat([x, x.new_zeros((*x.shape[:-1], rows - columns))], -1)
        skew = x - x.transpose(-2, -1)
        if self.orthogonal_map == "matrix_exp":
            q = matrix_exp(skew)
        else:
            identity = eye(rows, dtype=x.dtype, device=x.device)
            q = solve(identity - 0.5 * skew, identity + 0.5 * skew)
        return q if rows == columns else q[..., :columns]

    def _householder(self, x: Tensor) -> Tensor:
        """A product of reflections; the diagonal, which is 1 or -1, gives the columns their signs."""
        below = x.tril(-1)
        scale = 2.0 / (1.0 + (below * below).sum(-2))
        signs = x.detach().diagonal(0, -2, -1).trunc().unsqueeze(-2)
        return householder_product(below, scale) * signs

    def right_inverse(self, q: Tensor) -> Tensor:
        if q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {q.shape}."
            )
        with no_grad():
            wide = q.shape[-2] < q.shape[-1]
            tall = (q.transpose(-2, -1) if wide else q).detach()
            if not self.use_trivialization:
                found = self._reflections(tall)
                return found.transpose(-2, -1) if wide else found
            rows, columns = tall.shape[-2:]
            if rows != columns:
                filling = randn(*tall.shape[:-1], rows - columns, dtype=tall.dtype).to(tall.device)
                self.base = _orthonormal(cat([tall, filling], -1))
            else:
                self.base = tall.clone() if _is_orthogonal(tall) else _orthonormal(tall)
            return -eye(*q.shape[-2:], dtype=q.dtype, device=q.device).expand(q.shape).clone()

    def _reflections(self, tall: Tensor) -> Tensor:
        if self.orthogonal_map != "householder":
            raise NotImplementedError(
                "It is not possible to assign to the matrix exponential or the Cayley parametrizations when "
                "use_trivialization=False."
            )
        a, tau = geqrf(tall)
        a = a.clone()
        diagonal = a.diagonal(0, -2, -1)
        diagonal.copy_(diagonal.sign() * (1.0 - 2.0 * (tau == 0.0).to(a.dtype)))
        return a


_MAPS = ("matrix_exp", "cayley", "householder")


def orthogonal(
    module: Any, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True
) -> Any:
    """Keep a weight's columns (or rows, the fewer) orthonormal whatever the optimizer does.

    Args:
        name: a matrix or a batch of matrices.
        orthogonal_map: ``"matrix_exp"`` of, or ``"cayley"`` transform of, a skew-symmetric matrix, or the product of
            ``"householder"`` reflections; the first for square matrices and the last for others when not given.
        use_trivialization: parametrize relative to the present weight (Lezcano-Casado, 2019), which lets every
            orthogonal matrix be assigned.

    Raises:
        ValueError: for a tensor with fewer than two dimensions, or another name of a map.
    """
    weight = _weight_of(module, name)
    if weight.ndim < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    if orthogonal_map is None:
        orthogonal_map = "matrix_exp" if weight.shape[-2] == weight.shape[-1] else "householder"
    if orthogonal_map not in _MAPS:
        raise ValueError(
            f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}'
        )
    return register_parametrization(module, name, _Orthogonal(weight, orthogonal_map, use_trivialization), unsafe=True)
