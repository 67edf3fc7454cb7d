"""Gradients of functions, as functions."""

from __future__ import annotations

import functools
from typing import Any

from rlgrad.autograd.modes import enable_grad, is_grad_enabled
from rlgrad.autograd.tensor import Tensor
from rlgrad.func.levels import Argnums, Function, Level, chosen, floating_outputs, gradients, replaced, without_aux
from rlgrad.func.trees import flatten


def grad_and_value(func: Function, argnums: Argnums = 0, has_aux: bool = False) -> Function:
    """A function that gives the gradient of ``func`` and its value.

    Args:
        func: returns a tensor of no dimensions; or with ``has_aux`` a pair of that and anything else.
        argnums: the position of the argument to differentiate, a tensor or nested tensors; or several positions, for which
            the gradients come as a tuple.

    Returns:
        ``(gradients, value)``, or ``(gradients, (value, aux))``.

    Raises:
        RuntimeError: where ``func`` returns no such tensor, or there are no such arguments.

    Example:
        >>> import rlgrad
        >>> rlgrad.func.grad_and_value(lambda x: (x**2).sum())(rlgrad.tensor([1.0, 3.0]))
        (tensor([2., 6.]), tensor(10.))
    """

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        name = "grad_and_value(f)(*args)"
        positions = chosen(args, argnums, name)
        level = Level()
        with enable_grad():
            inner, leaves, structure = level.enter([args[i] for i in positions], name)
            output, aux = without_aux(func(*replaced(args, positions, inner), **kwargs), has_aux, name)
            if not isinstance(output, Tensor):
                raise RuntimeError(f"{name}: Expected f(*args) to return a Tensor, got {type(output)}")
            if output.ndim:
                raise RuntimeError(
                    f"{name}: Expected f(*args) to return a scalar Tensor, got tensor with {output.ndim} dims. Maybe you "
                    "wanted to use the vjp or jacrev APIs instead?"
                )
            create_graph = level.attached([output])
            found = structure.build(gradients([output], leaves, [None], create_graph, create_graph))
            slopes = tuple(level.leave(found)) if isinstance(argnums, tuple) else level.leave(found[0])
            value = level.leave(output)
            return slopes, ((value, level.leave(aux)) if has_aux else value)

    return wrapper


def grad(func: Function, argnums: Argnums = 0, has_aux: bool = False) -> Function:
    """A function that gives the gradient of ``func``; arguments and errors are those of :func:`grad_and_value`.

    It nests: ``grad(grad(f))`` is the second derivative. ``no_grad`` inside ``func`` counts, around it it does not.

    Returns:
        The gradients, or with ``has_aux`` the pair ``(gradients, aux)``.

    Example:
        >>> import rlgrad
        >>> second = rlgrad.func.grad(rlgrad.func.grad(lambda x: x**3))
        >>> second(rlgrad.tensor(2.0))
        tensor(12.)
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        slopes, value = both(*args, **kwargs)
        return (slopes, value[1]) if has_aux else slopes

    return wrapper


def vjp(func: Function, *primals: Any, has_aux: bool = False) -> Any:
    """The value of ``func``, and the function that multiplies vectors with its Jacobian.

    Args:
        func: returns tensors, which may be nested; with ``has_aux`` a pair of them and anything else.
        primals: its arguments, all of them tensors or nested tensors.

    Returns:
        ``(output, vjp_fn)`` or ``(output, vjp_fn, aux)``. ``vjp_fn(cotangents)`` takes tensors nested and shaped as the
        output is, and gives a tuple with a gradient for each of ``primals``.

    Raises:
        RuntimeError: where ``func`` returns anything but floating tensors, or cotangents do not fit.

    Example:
        >>> import rlgrad
        >>> output, vjp_fn = rlgrad.func.vjp(lambda x, y: x * y, rlgrad.tensor(2.0), rlgrad.tensor(3.0))
        >>> vjp_fn(rlgrad.tensor(1.0))
        (tensor(3.), tensor(2.))
    """
    name = "vjp(f, *primals)"
    level = Level()
    with enable_grad():
        inner, leaves, structure = level.enter(primals, name)
        output, aux = without_aux(func(*inner), has_aux, name)
        outputs, shape = floating_outputs(output, name)
        attached = level.attached(outputs)

    def vjp_fn(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        """The gradients of ``primals`` for these gradients of the output."""
        vectors, given = flatten(cotangents)
        if given != shape:
            raise RuntimeError(
                f"Expected pytree structure of cotangents to be the same as pytree structure of outputs to the function. "
                f"cotangents: {given}, primal output: {shape}"
            )
        recorded = is_grad_enabled() if create_graph is None else create_graph
        recorded = recorded and (attached or any(v.requires_grad for v in vectors))
        return level.leave(structure.build(gradients(outputs, leaves, vectors, recorded, retain_graph)))

    value = level.leave(output)
    return (value, vjp_fn, level.leave(aux)) if has_aux else (value, vjp_fn)
