"""Derivatives of functions: Jacobians, Hessians and their products with vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rlgrad.autograd.differentiate import grad
from rlgrad.autograd.modes import enable_grad
from rlgrad.autograd.ops.creation import zeros_like
from rlgrad.autograd.ops.joining import stack
from rlgrad.autograd.tensor import Tensor

Function = Callable[..., Any]


def _as_tuple(value: Any, role: str, function: str) -> tuple[tuple[Tensor, ...], bool]:
    several = isinstance(value, (tuple, list))
    items = tuple(value) if several else (value,)
    for index, item in enumerate(items):
        if not isinstance(item, Tensor):
            where = f"Value at index {index}" if several else "The value"
            raise TypeError(
                f"The {role} given to {function} must be either a Tensor or a tuple of Tensors but the given {role} has "
                f"type {type(value).__name__}. {where} has type {type(item).__name__}"
            )
    return items, several


def _prepare(inputs: Any, function: str, create_graph: bool) -> tuple[tuple[Tensor, ...], bool]:
    items, several = _as_tuple(inputs, "inputs", function)
    if create_graph:
        return tuple([x.view_as(x) if x.requires_grad else x.detach().requires_grad_() for x in items]), several
    return tuple([x.detach().requires_grad_() for x in items]), several


def _vectors(v: Any, like: Sequence[Tensor], several: bool, function: str) -> tuple[Tensor, ...]:
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise RuntimeError(
                "The vector v can only be None if the user-provided function returns a single Tensor with a single element."
            )
        return (like[0].detach() * 0 + 1,)
    vectors, _ = _as_tuple(v, "v", function)
    if len(vectors) != len(like):
        raise RuntimeError(f"v is a tuple of invalid length: should be {len(like)} but got {len(vectors)}.")
    for index, (vector, tensor) in enumerate(zip(vectors, like, strict=True)):
        if vector.shape != tensor.shape:
            prefix = f"Entry {index} in " if several else ""
            raise RuntimeError(f"{prefix}v has invalid size: should be {tensor.shape} but got {vector.shape}.")
    return vectors


def _call(func: Function, inputs: Sequence[Tensor], function: str, strict: bool) -> tuple[tuple[Tensor, ...], bool]:
    outputs, several = _as_tuple(func(*inputs), "outputs of the user-provided function", function)
    if strict:
        for index, output in enumerate(outputs):
            if not output.requires_grad:
                raise RuntimeError(
                    f"Output {index} of the user-provided function does not require gradients. The outputs must be "
                    "computed in a differentiable manner from the input when running in strict mode."
                )
    return outputs, several


def _grads(
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    vectors: Sequence[Tensor | None],
    strict: bool,
    create_graph: bool = False,
    double: bool = False,
    retain_graph: bool = True,
) -> tuple[Tensor, ...]:
    """Gradients with zeros for what does not depend on an input, which ``strict`` refuses."""
    pairs = [(y, v) for y, v in zip(outputs, vectors, strict=True) if y.requires_grad]
    found: tuple[Any, ...] = (None,) * len(inputs)
    if pairs:
        found = grad(
            [y for y, _ in pairs],
            inputs,
            [v for _, v in pairs],
            retain_graph=retain_graph,
            create_graph=create_graph,
            allow_unused=True,
        )
    for index, value in enumerate(found):
        if strict and value is None:
            what = "The gradient with respect to" if double else "The output of"
            raise RuntimeError(
                f"{what} the user-provided function is independent of input {index}. This is not allowed in strict mode."
            )
        if strict and create_graph and value is not None and not value.requires_grad:
            raise RuntimeError(
                f"The jacobian of the user-provided function is independent of input {index}. This is not allowed in "
                "strict mode when create_graph=True."
            )
    return tuple([zeros_like(x) if g is None else g for g, x in zip(found, inputs, strict=True)])


def _finish(value: Any, create_graph: bool) -> Any:
    if isinstance(value, tuple):
        return tuple([_finish(v, create_graph) for v in value])
    return value if create_graph else value.detach()


def _shaped(values: Sequence[Any], several: bool) -> Any:
    return tuple(values) if several else values[0]


def vjp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The product of a vector with the Jacobian of ``func``: ``(outputs, v^T J)``.

    Args:
        func: takes tensors, returns one or several.
        inputs: a tensor or a tuple of them.
        v: of the shapes of the outputs; may be left out for an output with one element.
        create_graph: make the result differentiable.
        strict: raise where an output does not depend on an input, instead of returning zeros.
    """
    with enable_grad():
        items, several = _prepare(inputs, "vjp", create_graph)
        outputs, many = _call(func, items, "vjp", strict)
        vectors = _vectors(v, outputs, many, "vjp")
        products = _grads(outputs, items, vectors, strict, create_graph)
    return _finish(_shaped(outputs, many), create_graph), _finish(_shaped(products, several), create_graph)


def jvp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The product of the Jacobian of ``func`` with a vector: ``(outputs, J v)``, by differentiating twice backward.

    Args:
        v: of the shapes of the inputs; may be left out for an input with one element.
        create_graph, strict: as for :func:`vjp`.
    """
    with enable_grad():
        items, several = _prepare(inputs, "jvp", create_graph)
        vectors = _vectors(v, items, several, "jvp")
        outputs, many = _call(func, items, "jvp", strict)
        seeds = tuple([zeros_like(y).requires_grad_() for y in outputs])
        first = _grads(outputs, items, seeds, strict, True) if any(y.requires_grad for y in outputs) else ()
        products = _grads(first, seeds, vectors[: len(first)], strict and bool(first), create_graph, True)
    return _finish(_shaped(outputs, many), create_graph), _finish(_shaped(products, many), create_graph)


def jacobian(
    func: Function,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The Jacobian of ``func``: for each output and each input a tensor of shape ``(*output, *input)``.

    Args:
        create_graph, strict: as for :func:`vjp`.
        vectorize, strategy: accepted as in PyTorch; rows are computed one after the other.

    Example:
        >>> import rlgrad
        >>> rlgrad.autograd.functional.jacobian(lambda x: x**2, rlgrad.tensor([1.0, 2.0]))
        tensor([[2., 0.],
                [0., 4.]])
    """
    with enable_grad():
        items, several = _prepare(inputs, "jacobian", create_graph)
        outputs, many = _call(func, items, "jacobian", strict)
        rows = [_rows(y, items, create_graph, strict) for y in outputs]
    result = _shaped([_shaped(row, several) for row in rows], many)
    return _finish(result, create_graph)


def _rows(output: Tensor, inputs: Sequence[Tensor], create_graph: bool, strict: bool) -> list[Tensor]:
    columns: list[list[Tensor]] = [[] for _ in inputs]
    for k in range(output.numel()):
        seed = zeros_like(output)
        seed._array.reshape(-1)[k] = 1
        for column, g in zip(columns, _grads([output], inputs, [seed], strict, create_graph), strict=True):
            column.append(g)
    return [
        (stack(column) if column else zeros_like(x).new_zeros((0, *x.shape))).reshape((*output.shape, *x.shape))
        for column, x in zip(columns, inputs, strict=True)
    ]


def _scalar(func: Function, function: str) -> Function:
    def checked(*inputs: Tensor) -> Tensor:
        output = func(*inputs)
        if not isinstance(output, Tensor):
            raise RuntimeError(f"The function given to {function} should return a single Tensor")
        if output.numel() != 1:
            raise RuntimeError(
                f"The Tensor returned by the function given to {function} should contain a single element"
            )
        return output.reshape(())

    return checked


def hessian(
    func: Function,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The matrix of second derivatives of a scalar ``func``, for each pair of inputs ``(*input_i, *input_j)``."""
    several = isinstance(inputs, (tuple, list))
    scalar = _scalar(func, "hessian")

    def gradient(*items: Tensor) -> Any:
        return jacobian(scalar, items if several else items[0], create_graph=True, strict=strict)

    return jacobian(gradient, inputs, create_graph=create_graph, strict=strict)


def vhp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The product of a vector with the Hessian of a scalar ``func``: ``(output, v^T H)``; arguments as for :func:`vjp`."""
    with enable_grad():
        items, several = _prepare(inputs, "vhp", create_graph)
        vectors = _vectors(v, items, several, "vhp")
        outputs, _ = _call(_scalar(func, "vhp"), items, "vhp", strict)
        slopes = _grads(outputs, items, (None,), strict, True)
        products = _grads(slopes, items, vectors, strict, create_graph, True)
    return _finish(outputs[0], create_graph), _finish(_shaped(products, several), create_graph)


def hvp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The product of the Hessian of a scalar ``func`` with a vector, which equals :func:`vhp` as the Hessian is symmetric."""
    return vhp(func, inputs, v, create_graph, strict)
