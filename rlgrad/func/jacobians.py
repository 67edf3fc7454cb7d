"""Jacobians of functions, as functions, and their products with vectors."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from rlgrad.autograd.functional import _rows
from rlgrad.autograd.modes import enable_grad
from rlgrad.autograd.ops.creation import zeros_like
from rlgrad.autograd.ops.joining import stack
from rlgrad.autograd.tensor import Tensor
from rlgrad.func.levels import Argnums, Function, Level, chosen, floating_outputs, gradients, replaced, without_aux
from rlgrad.func.trees import Structure, flatten


class _Forward:
    """A function's value, and its derivative in any direction of its inputs.

    There is no forward mode: the gradient for some vector ``u`` of the outputs is linear in ``u``, and its own gradient
    with respect to ``u`` is the product of the Jacobian with a vector.

    Source: Townsend (2017), "A new trick for calculating Jacobian vector products".
    """

    def __init__(
        self, func: Function, args: tuple[Any, ...], positions: Sequence[int], has_aux: bool, name: str
    ) -> None:
        self.level, self.name = Level(), name
        with enable_grad():
            inner, self.inputs, self.structure = self.level.enter(tuple([args[i] for i in positions]), name)
            output, aux = without_aux(func(*replaced(args, positions, inner)), has_aux, name)
            self.outputs, self.shape = floating_outputs(output, name)
            self.attached = self.level.attached(self.outputs)
            self._vectors = [self.level.hide(zeros_like(y).requires_grad_()) for y in self.outputs]
            self._slopes = gradients(self.outputs, self.inputs, self._vectors, True)
        self.value, self.aux = self.level.leave(output), self.level.leave(aux)

    def along(self, tangents: Sequence[Tensor]) -> list[Tensor]:
        """The outputs' derivatives in the direction of ``tangents``, one for each input."""
        recorded = self.attached or (self.level.recorded and any(t.requires_grad for t in tangents))
        return self.level.leave(gradients(self._slopes, self._vectors, list(tangents), recorded))

    def check(self, tangents: Any, expected: Structure) -> list[Tensor]:
        """The leaves of ``tangents``, which have the inputs' structure and shapes."""
        leaves, given = flatten(tangents)
        if given != expected:
            raise RuntimeError(
                f"{self.name}: Expected primals and tangents to have the same python structure. Got primals with structure "
                f"{expected} and tangents with structure {given}"
            )
        for index, (tangent, x) in enumerate(zip(leaves, self.inputs, strict=True)):
            if not isinstance(tangent, Tensor):
                raise RuntimeError(f"{self.name}: Expected tangents to only contain Tensors, got {type(tangent)}")
            if tangent.shape != x.shape:
                raise RuntimeError(
                    f"{self.name}: tangent {index} has shape {list(tangent.shape)}, its primal {list(x.shape)}"
                )
        return leaves


def jvp(func: Function, primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False) -> Any:
    """The value of ``func``, and the product of its Jacobian with a vector.

    Args:
        func: returns tensors, which may be nested; with ``has_aux`` a pair of them and anything else.
        primals: a tuple of its arguments, tensors or nested tensors.
        tangents: the vector, nested and shaped as ``primals`` is.
        strict: refuse outputs that do not depend on ``primals`` instead of giving zeros.

    Returns:
        ``(output, jvp_out)`` or ``(output, jvp_out, aux)``.

    Raises:
        RuntimeError: where structures or shapes differ.

    Example:
        >>> import rlgrad
        >>> x = rlgrad.tensor([1.0, 2.0])
        >>> rlgrad.func.jvp(lambda x: x**2, (x,), (rlgrad.ones(2),))
        (tensor([1., 4.]), tensor([2., 4.]))
    """
    name = "jvp(f, primals, tangents)"
    if not isinstance(primals, tuple):
        raise RuntimeError(f"{name}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals).")
    for leaf in flatten(primals)[0]:
        if not isinstance(leaf, Tensor):
            raise RuntimeError(f"{name}: Expected primals to only contain Tensors, got {type(leaf)}")
    forward = _Forward(func, primals, range(len(primals)), has_aux, name)
    vector = forward.check(tangents, flatten(primals)[1])
    if strict and not all(y.requires_grad for y in forward.outputs):
        raise RuntimeError(
            f"{name}: The output of f is independent of the inputs. This is not allowed with strict=True."
        )
    product = forward.shape.build(forward.along(vector))
    return (forward.value, product, forward.aux) if has_aux else (forward.value, product)


def linearize(func: Function, *primals: Any) -> tuple[Any, Function]:
    """The value of ``func``, and the function that multiplies its Jacobian with vectors.

    Args:
        primals: arguments of ``func``, tensors or nested tensors.

    Returns:
        ``(output, jvp_fn)``, where ``jvp_fn(*tangents)`` takes tensors nested and shaped as ``primals`` are.

    Example:
        >>> import rlgrad
        >>> output, jvp_fn = rlgrad.func.linearize(rlgrad.exp, rlgrad.zeros(2))
        >>> jvp_fn(rlgrad.tensor([1.0, 2.0]))
        tensor([1., 2.])
    """
    forward = _Forward(func, primals, range(len(primals)), False, "linearize(f, *primals)")
    expected = flatten(primals)[1]

    def jvp_fn(*tangents: Any) -> Any:
        return forward.shape.build(forward.along(forward.check(tangents, expected)))

    return forward.value, jvp_fn


def _arranged(matrix: Sequence[Sequence[Tensor]], inputs: Structure, outputs: Structure, argnums: Argnums) -> Any:
    """Blocks by output and input, nested as the outputs and inside as the inputs are."""
    rows = [inputs.build(row) for row in matrix]
    return outputs.build([tuple(row) if isinstance(argnums, tuple) else row[0] for row in rows])


def jacrev(
    func: Function,
    argnums: Argnums = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Function:
    """A function that gives the Jacobian of ``func``, one backward pass for each element of its output.

    Args:
        func: returns tensors, which may be nested; with ``has_aux`` a pair of them and anything else.
        argnums: the position of the argument to differentiate, a tensor or nested tensors, or several positions.
        chunk_size: accepted as in PyTorch; rows are computed one after the other.

    Returns:
        Tensors of shape ``(*output, *input)``, nested as the output and inside as the inputs; with ``has_aux`` paired with
        what ``func`` returned beside its output.

    Example:
        >>> import rlgrad
        >>> rlgrad.func.jacrev(lambda x: x**2)(rlgrad.tensor([1.0, 2.0]))
        tensor([[2., 0.],
                [0., 4.]])
    """
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"jacrev: `chunk_size` should be greater than 0, got {chunk_size}")

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        positions = chosen(args, argnums, "jacrev")
        level = Level()
        with enable_grad():
            inner, inputs, structure = level.enter([args[i] for i in positions], "jacrev")
            output, aux = without_aux(func(*replaced(args, positions, inner), **kwargs), has_aux, "jacrev")
            outputs, shape = floating_outputs(output, "jacrev")
            attached = level.attached(outputs)
            matrix = [level.leave(_rows(y, inputs, attached, False)) for y in outputs]
            found = _arranged(matrix, structure, shape, argnums)
            return (found, level.leave(aux)) if has_aux else found

    return wrapper


def jacfwd(func: Function, argnums: Argnums = 0, has_aux: bool = False, *, randomness: str = "error") -> Function:
    """:func:`jacrev` column by column: one pass for each element of the inputs, as suits functions of few inputs.

    Args:
        randomness: accepted as in PyTorch; ``func`` is called once, so that all columns see the same random numbers.

    Example:
        >>> import rlgrad
        >>> rlgrad.func.jacfwd(lambda t: rlgrad.stack([t, t**2]))(rlgrad.tensor(3.0))
        tensor([1., 6.])
    """

    @functools.wraps(func)
    def wrapper(*args: Any) -> Any:
        positions = chosen(args, argnums, "jacfwd")
        forward = _Forward(func, args, positions, has_aux, "jacfwd")
        columns = [_columns(forward, index) for index in range(len(forward.inputs))]
        matrix = [[column[k] for column in columns] for k in range(len(forward.outputs))]
        found = _arranged(matrix, forward.structure, forward.shape, argnums)
        return (found, forward.aux) if has_aux else found

    return wrapper


def _columns(forward: _Forward, index: int) -> list[Tensor]:
    """For each output its derivatives by one of the inputs."""
    x = forward.inputs[index]
    columns: list[list[Tensor]] = []
    for k in range(x.numel()):
        tangents = [zeros_like(other) for other in forward.inputs]
        tangents[index]._array.reshape(-1)[k] = 1
        columns.append(forward.along(tangents))
    if not columns:
        return [y.new_zeros((*y.shape, *x.shape)) for y in forward.outputs]
    return [
        stack(parts, -1).reshape((*y.shape, *x.shape))
        for y, parts in zip(forward.outputs, zip(*columns, strict=True), strict=True)
    ]


def hessian(func: Function, argnums: Argnums = 0) -> Function:
    """A function that gives all second derivatives of ``func``: :func:`jacrev` twice.

    Returns:
        Tensors of shape ``(*output, *input_i, *input_j)``, nested as :func:`jacrev` nests them.

    Example:
        >>> import rlgrad
        >>> rlgrad.func.hessian(lambda x: (x**3).sum())(rlgrad.tensor([1.0, 2.0]))
        tensor([[ 6.,  0.],
                [ 0., 12.]])
    """
    return jacrev(jacrev(func, argnums), argnums)
