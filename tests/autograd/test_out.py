"""``out=`` on PyTorch's own sample inputs: what is written, what is resized and what is refused are PyTorch's."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import rlgrad

torch = pytest.importorskip("torch")
pytest.importorskip("expecttest")  # PyTorch's sample inputs need it

from .test_torch_samples import HAD, RANDOM, problems, some  # noqa: E402
from .torch_samples import (  # noqa: E402
    COARSE,
    Comparison,
    Unsupported,
    compare_errors,
    convert,
    copied,
    differences,
    fill,
    flat,
)

Make = Callable[[Any, Any], Any]
"""From a library and the result's shape and dtype to the tensor given as ``out=``."""


def _of_dtype(name: str) -> Make:
    return lambda library, y: library.zeros(tuple(y.shape), dtype=getattr(library, name))


def _strided(library: Any, y: Any) -> Any:
    """With gaps between its elements."""
    shape = tuple(y.shape)
    return library.zeros((*shape, 2), dtype=_dtype(library, y))[..., 0]


def _dtype(library: Any, y: Any) -> Any:
    return getattr(library, str(y.dtype).removeprefix("torch."))


OUTS: dict[str, Make] = {
    "of the result's shape": lambda library, y: library.zeros(tuple(y.shape), dtype=_dtype(library, y)),
    "empty": lambda library, y: library.zeros(0, dtype=_dtype(library, y)),
    "of another shape": lambda library, y: library.zeros((*tuple(y.shape), 2), dtype=_dtype(library, y)),
    "strided": _strided,
    "that requires grad": lambda library, y: library.zeros(tuple(y.shape), dtype=_dtype(library, y)).requires_grad_(
        y.is_floating_point()
    ),
    **{f"of dtype {name}": _of_dtype(name) for name in ("float32", "float64", "int64", "int32", "bool")},
}

DIFFERENT = {
    **{
        (name, "of another shape"): "PyTorch keeps the shape of an output that has as many elements"
        for name in ("arange", "linspace", "linspace.tensor_overload", "logspace", "logspace.tensor_overload")
    },
    **{(name, "of another shape"): "PyTorch resizes without a word" for name in ("addbmm", "lu", "narrow_copy")},
    **{
        ("matmul", how): "PyTorch tells of resizing what it resizes to its own shape"
        for how in ("of the result's shape", "strided", "of dtype float64")
    },
    **{
        (name, "of dtype float32"): "PyTorch decides by the shapes whether the dtype may differ"
        for name in ("diff", "inner", "linalg.matrix_power")
    },
    **{("lu", f"of dtype {name}"): "PyTorch stores rounded factors" for name in ("bool", "int32", "int64")},
    **{(name, "of dtype bool"): "PyTorch has no such kernel" for name in ("cumprod", "cumsum")},
    ("histc", "of dtype float32"): "PyTorch names the dtypes of another function",
    ("narrow_copy", "strided"): "PyTorch writes as if there were no gaps",
    ("split_with_sizes_copy", "that requires grad"): "PyTorch writes to leaves unnoticed",
}
"""What is known to differ, and why."""


def written(library: Any, call: Callable[..., Any], filled: Any, expected: Any, make: Make) -> tuple[Any, Any, int]:
    """The tensors given as ``out=`` after the call, its error, and how many warnings told of resizing."""
    outs = [make(library, y) for y in flat(expected)]
    several = isinstance(expected, (tuple, list))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = call(*filled.args, **filled.kwargs, out=tuple(outs) if several else outs[0])
        except Exception as error:
            return outs, error, 0
    if not several:
        assert result is outs[0]
    return outs, None, sum("was resized since it had shape" in str(w.message) for w in caught)


def compare(c: Comparison, sample: Any, how: str) -> str | None:
    try:
        mine = fill(convert, sample)
    except Unsupported:
        return None
    other = fill(copied, sample)
    try:
        expected = c.entry.op(*other.args, **other.kwargs)
    except Exception:
        return None
    if not all(isinstance(y, torch.Tensor) and "complex" not in str(y.dtype) for y in flat(expected)):
        return None
    theirs, error, warned = written(torch, c.entry.op, other, expected, OUTS[how])
    ours, failure, told = written(rlgrad, c.function, mine, expected, OUTS[how])
    if error is not None:
        return compare_errors(failure, error, how)
    if failure is not None:
        return f"{how}: {type(failure).__name__}: {failure}"
    if (warned > 0) != (told > 0):
        return f"{how}: {told} warnings of resizing instead of {warned}"
    free = sample.output_process_fn_grad.__name__ != "<lambda>" or c.entry.gradcheck_wrapper.__name__ != "<lambda>"
    return differences(ours, theirs, c.exact or free, how, COARSE.get(c.entry.name, 0))


@pytest.mark.parametrize(
    "name", [name for name, c in HAD.items() if c.entry.supports_out and c.entry.name not in RANDOM]
)
def test_out_is_torchs(name: str) -> None:
    c = HAD[name]
    dtype = torch.float64 if torch.float64 in c.entry.dtypes else torch.int64

    def run() -> Iterator[str | None]:
        for number, sample in enumerate(some(c.samples(dtype, None), 2)):
            for how in list(OUTS)[: 3 if number else None]:
                unnoticed = how == "that requires grad" and not c.entry.supports_autograd
                if (name, how) not in DIFFERENT and not unnoticed:
                    yield compare(c, sample, how)

    assert problems(run()) == []


@pytest.mark.parametrize("name", ["any", "all", "sum", "prod"])
@pytest.mark.parametrize("given", ["bool", "uint8", "float32"])
@pytest.mark.parametrize("wanted", ["bool", "uint8", "int32", "float64"])
def test_reductions_compute_in_the_dtype_of_out(name: str, given: str, wanted: str) -> None:
    def reduced(library: Any) -> Any:
        x = library.tensor([[0.0, 1.6], [0.7, 2.0]]).to(getattr(library, given))
        out = library.empty(2, dtype=getattr(library, wanted))
        try:
            return getattr(library, name)(x, 0, out=out).tolist()
        except Exception as error:
            return type(error).__name__

    assert reduced(rlgrad) == reduced(torch)
