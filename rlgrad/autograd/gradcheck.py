"""Derivatives checked against finite differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rlgrad.autograd.differentiate import grad
from rlgrad.autograd.modes import no_grad
from rlgrad.autograd.ops.sampling import rand_like
from rlgrad.autograd.tensor import Tensor, wrap


class GradcheckError(RuntimeError):
    """The derivative that an operation reports is not its derivative."""


def _tensors(value: Any) -> list[Tensor]:
    items = value if isinstance(value, (tuple, list)) else (value,)
    return [x for x in items if isinstance(x, Tensor)]


def _differentiable(value: Any) -> list[Tensor]:
    return [x for x in _tensors(value) if x.is_floating_point()]


def _numerical(function: Callable[..., Any], inputs: Sequence[Any], index: int, eps: float) -> list[np.ndarray]:
    """For each output its Jacobian ``(input elements, output elements)`` by central differences."""
    base = inputs[index]
    columns: list[list[np.ndarray]] = []
    for k in range(base.numel()):
        sides = []
        for step in (eps, -eps):
            moved = base.detach().numpy(force=True).copy()
            moved.reshape(-1)[k] += step
            replaced = wrap(moved).to(base.device).requires_grad_()
            arguments = [replaced if i == index else x for i, x in enumerate(inputs)]
            sides.append(
                [y.detach().numpy(force=True).reshape(-1).copy() for y in _differentiable(function(*arguments))]
            )
        columns.append([(a - b) / (2 * eps) for a, b in zip(*sides, strict=True)])
    if not columns:
        return [np.zeros((0, y.numel())) for y in _differentiable(function(*inputs))]
    return [np.stack(c) for c in zip(*columns, strict=True)]


def _analytical(function: Callable[..., Any], inputs: Sequence[Any], index: int) -> list[np.ndarray]:
    base = inputs[index]
    jacobians = []
    for output in _differentiable(function(*inputs)):
        rows = np.zeros((base.numel(), output.numel()))
        for k in range(output.numel()):
            if not output.requires_grad:
                continue
            seed = np.zeros(output.shape, output._array.dtype)
            seed.reshape(-1)[k] = 1
            (found,) = grad(
                output, base, wrap(seed).to(output.device), retain_graph=True, allow_unused=True, materialize_grads=True
            )
            rows[:, k] = found.numpy(force=True).reshape(-1)
        jacobians.append(rows)
    return jacobians


def _directions(rng: np.random.Generator, tensor: Tensor) -> np.ndarray:
    direction = rng.standard_normal(tensor.shape)
    return np.asarray(direction / max(float(np.linalg.norm(direction)), 1e-300))


def _projected(
    function: Callable[..., Any], inputs: Sequence[Any], index: int, eps: float, rng: np.random.Generator
) -> list[tuple[np.ndarray, np.ndarray]]:
    """For each output ``v^T J u``, analytical and numerical, with random ``u`` and ``v``: one backward, two forwards."""
    base = inputs[index]
    u = _directions(rng, base)
    start = base.detach().numpy(force=True)
    sides = []
    for step in (eps, -eps):
        moved = wrap(np.asarray(start + step * u, start.dtype)).to(base.device).requires_grad_()
        arguments = [moved if i == index else x for i, x in enumerate(inputs)]
        sides.append([y.detach().numpy(force=True).copy() for y in _differentiable(function(*arguments))])
    pairs = []
    for output, ahead, behind in zip(_differentiable(function(*inputs)), *sides, strict=True):
        v = _directions(rng, output)
        numerical = np.asarray((v * (ahead - behind)).sum() / (2 * eps))
        analytical = np.zeros(())
        if output.requires_grad:
            seed = wrap(v.astype(output._array.dtype)).to(output.device)
            (found,) = grad(output, base, seed, retain_graph=True, allow_unused=True, materialize_grads=True)
            analytical = np.asarray((found.numpy(force=True) * u).sum())
        pairs.append((analytical, numerical))
    return pairs


def _repeats(function: Callable[..., Any], inputs: Sequence[Any], index: int, tolerance: float) -> bool:
    """Whether differentiating twice gives the same."""
    base, rng = inputs[index], np.random.default_rng(1)
    for output in _differentiable(function(*inputs)):
        if not output.requires_grad:
            continue
        seed = wrap(_directions(rng, output).astype(output._array.dtype)).to(output.device)
        first, second = (
            grad(output, base, seed, retain_graph=True, allow_unused=True, materialize_grads=True)[0].numpy(force=True)
            for _ in range(2)
        )
        if first.size and float(np.abs(first - second).max()) > tolerance:
            return False
    return True


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    fast_mode: bool = False,
    **_: Any,
) -> bool:
    """Compare the derivatives of ``func`` with central differences.

    Args:
        func: takes tensors, returns one or several.
        inputs: its arguments; those that require grad should be float64.
        eps: step of the differences.
        atol, rtol: how far the two may be apart.
        raise_exception: raise :class:`GradcheckError` instead of returning ``False``.
        nondet_tol: how far two backward passes over the same graph may be apart.
        check_undefined_grad, check_grad_dtypes, check_batched_grad: accepted as in PyTorch.
        fast_mode: compare the derivative along random directions, at the cost of one backward and two calls per input,
            instead of every entry.
    """
    given = list(inputs) if isinstance(inputs, (tuple, list)) else [inputs]
    checked = [i for i, x in enumerate(given) if isinstance(x, Tensor) and x.requires_grad]
    if not checked:
        raise ValueError("gradcheck expects at least one input tensor to require gradient, but none of them have it.")
    for i in checked:
        if given[i]._array.dtype == np.float32:
            import warnings

            warnings.warn(f"Input #{i} is float32; finite differences need float64 to be meaningful", stacklevel=2)
    rng = np.random.default_rng(0)
    for i in checked:
        if fast_mode:
            pairs = _projected(func, given, i, eps, rng)
        else:
            numerical = _numerical(func, given, i, eps)
            pairs = list(zip(_analytical(func, given, i), numerical, strict=True))
        if not _repeats(func, given, i, nondet_tol):
            if not raise_exception:
                return False
            raise GradcheckError(
                "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives "
                f"different values, although analytical gradient matches numerical gradient. The tolerance for "
                f"nondeterminism was {nondet_tol}."
            )
        for j, (a, n) in enumerate(pairs):
            if not np.allclose(a, n, rtol, atol):
                if not raise_exception:
                    return False
                raise GradcheckError(
                    f"Jacobian mismatch for output {j} with respect to input {i},\nnumerical:\n{n}\nanalytical:\n{a}"
                )
    return True


def gradgradcheck(func: Callable[..., Any], inputs: Any, grad_outputs: Any = None, **options: Any) -> bool:
    """Compare the second derivatives of ``func`` with differences of its first ones; options as for :func:`gradcheck`."""
    given = list(inputs) if isinstance(inputs, (tuple, list)) else [inputs]
    if grad_outputs is None:
        with no_grad():
            outputs = _differentiable(func(*given))
        seeds = [(rand_like(y) * 2 - 1).requires_grad_() for y in outputs]
    else:
        seeds = _tensors(grad_outputs)
    count = len(given)
    wanted = [i for i, x in enumerate(given) if isinstance(x, Tensor) and x.requires_grad]

    def first_derivatives(*arguments: Any) -> tuple[Tensor, ...]:
        values, directions = arguments[:count], arguments[count:]
        chosen = [values[i] for i in wanted]
        outputs = [y for y in _differentiable(func(*values)) if y.requires_grad]
        return grad(
            outputs, chosen, directions[: len(outputs)], create_graph=True, allow_unused=True, materialize_grads=True
        )

    return gradcheck(first_derivatives, [*given, *seeds], **options)
