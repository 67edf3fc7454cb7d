"""Functions of one example applied to a batch."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from rlgrad.autograd.ops.joining import stack
from rlgrad.autograd.ops.parts import unbind
from rlgrad.autograd.tensor import Tensor
from rlgrad.backend.random import get_rng_state, refuse_draws, set_rng_state
from rlgrad.func.levels import Function
from rlgrad.func.trees import Structure, flatten, spread


def _name(func: Function) -> str:
    return getattr(func, "__name__", repr(func))


def _checked_dims(func: Function, in_dims: Any, args: tuple[Any, ...]) -> tuple[list[Any], list[int | None], Structure]:
    """The leaves of the arguments and the dimension of each to map over."""
    call = f"vmap({_name(func)}, in_dims={in_dims}, ...)(<inputs>)"
    if not isinstance(in_dims, (int, tuple)):
        raise ValueError(
            f"{call}: expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, got: "
            f"{type(in_dims)}."
        )
    if not args:
        raise ValueError(f"vmap({_name(func)})(<inputs>): got no inputs. There is nothing to map over.")
    leaves, structure = flatten(args)
    dims = spread(in_dims, structure)
    if dims is None:
        raise ValueError(
            f"{call}: in_dims is not compatible with the structure of `inputs`. in_dims has structure {flatten(in_dims)[1]} "
            f"but inputs has structure {structure}."
        )
    for leaf, dim in zip(leaves, dims, strict=True):
        if dim is None:
            continue
        if not isinstance(dim, int):
            raise ValueError(f"{call}: Got in_dim={dim} for an input but in_dim must be an integer dimension or None.")
        if not isinstance(leaf, Tensor):
            raise ValueError(
                f"{call}: Got in_dim={dim} for an input but the input is of type {type(leaf)}. We cannot vmap over "
                "non-Tensor arguments, please use None as the respective in_dim"
            )
        if not -leaf.ndim <= dim < leaf.ndim:
            raise ValueError(
                f"{call}: Got in_dim={dim} for some input, but that input is a Tensor of dimensionality {leaf.ndim} so "
                f"expected in_dim to satisfy -{leaf.ndim} <= in_dim < {leaf.ndim}."
            )
    return leaves, dims, structure


def _batch_size(leaves: Sequence[Any], dims: Sequence[int | None]) -> int:
    sizes = [leaf.shape[dim] for leaf, dim in zip(leaves, dims, strict=True) if dim is not None]
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if len(set(sizes)) > 1:
        raise ValueError(
            f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the mapped "
            "dimension"
        )
    return sizes[0]


def _examples(leaf: Any, dim: int | None, count: int) -> Sequence[Any]:
    """An argument for each call; for an empty batch one of zeros, which shows what the function would return."""
    if dim is None:
        return [leaf] * max(count, 1)
    if not count:
        shape = list(leaf.shape)
        del shape[dim]
        return [leaf.new_zeros(shape)]
    return unbind(leaf, dim)


def _joined(func: Function, values: Sequence[Any], dim: int | None, count: int) -> Any:
    """The results of all calls for one output as one value."""
    first = values[0]
    if dim is None:
        same = (bool((v == first).all()) if isinstance(first, Tensor) else v == first for v in values)
        if not all(same):
            raise ValueError(
                f"vmap({_name(func)}, ...): `{_name(func)}` can not return what differs within the batch when out_dim is None"
            )
        return first
    if not isinstance(first, Tensor):
        raise ValueError(
            f"vmap({_name(func)}, ...): `{_name(func)}` must only return Tensors, got type {type(first)}. Did you mean to "
            "set out_dims= to None for output?"
        )
    return stack(values, dim) if count else first.unsqueeze(dim).narrow(dim, 0, 0)


def vmap(
    func: Function,
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Function:
    """A function of batches from a function of one example: the examples are taken one after the other.

    It is a loop, so it saves writing and not time; ``func`` may branch on values and call ``item()``.

    Args:
        func: takes tensors without the mapped dimension and anything else, and returns tensors, which may be nested.
        in_dims: the dimension of the inputs to map over, ``None`` for what all calls share; or nested as the inputs are.
            All calls share the keyword arguments.
        out_dims: where the batch appears in the results, ``None`` for what is the same for all examples; or nested as the
            results are.
        randomness: ``"error"`` refuses random numbers, ``"different"`` draws anew for each example, ``"same"`` gives all
            of them the same numbers of the default generator.
        chunk_size: accepted as in PyTorch.

    Raises:
        ValueError: where dimensions do not fit the inputs or results, or batches differ in size.
        RuntimeError: for random numbers with ``randomness="error"``.

    Example:
        >>> import rlgrad
        >>> gradients = rlgrad.vmap(rlgrad.func.grad(lambda x: x**2))
        >>> gradients(rlgrad.tensor([1.0, 2.0, 3.0]))
        tensor([2., 4., 6.])
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if any(dim is not None and not isinstance(dim, int) for dim in flatten(out_dims)[0]):
            raise ValueError(
                f"vmap({_name(func)}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a python collection of "
                "ints representing where in the outputs the vmapped dimension should appear."
            )
        leaves, dims, structure = _checked_dims(func, in_dims, args)
        count = _batch_size(leaves, dims)
        columns = [_examples(leaf, dim, count) for leaf, dim in zip(leaves, dims, strict=True)]
        state = get_rng_state() if randomness == "same" else None
        found: list[list[Any]] = []
        shape = None
        with refuse_draws(randomness == "error"):
            for row in zip(*columns, strict=True):
                if state is not None:
                    set_rng_state(state)
                results, shape = flatten(func(*structure.build(row), **kwargs))
                found.append(results)
        assert shape is not None
        places = _out_places(func, out_dims, shape)
        outputs = zip(*found, strict=True)
        return shape.build([_joined(func, v, dim, count) for v, dim in zip(outputs, places, strict=True)])

    return wrapper


def _out_places(func: Function, out_dims: Any, shape: Structure) -> list[Any]:
    single = shape.kind is None and isinstance(out_dims, tuple) and len(out_dims) == 1
    places = list(out_dims) if single else spread(out_dims, shape)
    if places is None:
        raise ValueError(
            f"vmap({_name(func)}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure of "
            f"`outputs`. out_dims has structure {flatten(out_dims)[1]} but outputs has structure {shape}."
        )
    return places
