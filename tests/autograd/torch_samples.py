"""PyTorch's own sample inputs (``torch.testing._internal``), run through both libraries and compared."""

from __future__ import annotations

import itertools
import random
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import rlgrad

try:
    import torch
    from torch.testing._internal import common_utils
    from torch.testing._internal.common_methods_invocations import op_db

    # For messages of its own test suite it reads the source of the whole stack at every sample: half of the time.
    common_utils.extract_test_fn = lambda: None
except ImportError:  # the tests that use this module are skipped
    torch = None  # type: ignore[assignment]
    op_db = []

TOLERANCE = {"float64": (1e-7, 1e-9), "float32": (2e-4, 2e-5)}
UNTYPED = ("complex", "bfloat16", "qint", "quint", "float8", "sparse")


class Unsupported(Exception):
    """A sample that holds what rlgrad leaves out, such as complex numbers."""


class Ours(types.SimpleNamespace):
    """rlgrad under the name ``torch`` in PyTorch's own lambdas."""

    def __getattr__(self, name: str) -> Any:
        return getattr(rlgrad, name)


def lookup(library: Any, path: str) -> Any:
    found = library
    for part in path.split("."):
        found = getattr(found, part, None)
    return found


def rebuilt(function: Any) -> Any:
    """A Python function of PyTorch's test suite that finds rlgrad under the name ``torch``."""
    if not isinstance(function, types.FunctionType):
        return function
    scope = {**function.__globals__, "torch": rlgrad}
    closure = tuple(
        types.CellType(rebuilt(cell.cell_contents) if _of_the_suite(cell.cell_contents) else cell.cell_contents)
        for cell in function.__closure__ or ()
    )
    copy = types.FunctionType(function.__code__, scope, function.__name__, function.__defaults__, closure)
    copy.__kwdefaults__ = function.__kwdefaults__
    return copy


def _of_the_suite(value: Any) -> bool:
    return isinstance(value, types.FunctionType) and "torch.testing" in (value.__module__ or "")


def ours(entry: Any) -> Callable[..., Any] | None:
    """rlgrad's function for an entry, found as the entry finds PyTorch's."""
    if _of_the_suite(entry.op):
        return rebuilt(entry.op)
    return lookup(rlgrad, entry.name) or getattr(rlgrad.Tensor, entry.name.split(".")[-1], None)


def ours_as(entry: Any, variant: Any) -> Callable[..., Any] | None:
    """rlgrad's method for a variant of an entry."""
    if _of_the_suite(variant):
        return rebuilt(variant)
    name = getattr(variant, "__name__", None)
    return getattr(rlgrad.Tensor, name, None) if name else None


class Filled(NamedTuple):
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    leaves: list[Any]


def convert(value: Any, leaves: list[Any], grad: bool) -> Any:
    """One argument of a sample for rlgrad."""
    if isinstance(value, torch.Tensor):
        if value.layout is not torch.strided or any(word in str(value.dtype) for word in UNTYPED):
            raise Unsupported(str(value.dtype))
        if value.numel() > 1 << 20:
            raise Unsupported("more elements than a test needs")
        if value.is_meta or value.is_conj() or value.is_neg() or value.ndim > 64:
            raise Unsupported("conjugate, or more dimensions than NumPy has")
        tensor = rlgrad.from_numpy(np.array(value.detach().numpy(), order="K"))
        if grad and value.requires_grad:
            tensor.requires_grad_()
            leaves.append(tensor)
        return tensor
    if isinstance(value, torch.dtype):
        name = str(value).removeprefix("torch.")
        if not hasattr(rlgrad, name) or any(word in name for word in UNTYPED):
            raise Unsupported(name)
        return getattr(rlgrad, name)
    if isinstance(value, torch.device):
        return str(value)
    if isinstance(value, (torch.memory_format, torch.layout)):
        if value not in (torch.contiguous_format, torch.preserve_format, torch.strided):
            raise Unsupported(str(value))
        return lookup(rlgrad, str(value).removeprefix("torch."))
    if isinstance(value, complex):
        raise Unsupported("complex")
    if isinstance(value, torch.Generator):
        raise Unsupported("generator")
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*[convert(v, leaves, grad) for v in value])
    if isinstance(value, (list, tuple)):
        kind = tuple if isinstance(value, torch.Size) else type(value)
        return kind(convert(v, leaves, grad) for v in value)
    if isinstance(value, dict):
        return {k: convert(v, leaves, grad) for k, v in value.items()}
    if isinstance(value, slice):
        return slice(*[convert(v, leaves, grad) for v in (value.start, value.stop, value.step)])
    return rebuilt(value) if _of_the_suite(value) else value


def copied(value: Any, leaves: list[Any], grad: bool) -> Any:
    """One argument of a sample for PyTorch: a leaf of its own."""
    if isinstance(value, torch.Tensor):
        tensor = value.detach().clone()
        if grad and value.requires_grad:
            tensor.requires_grad_()
            leaves.append(tensor)
        return tensor
    if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size) and not hasattr(value, "_fields"):
        return type(value)(copied(v, leaves, grad) for v in value)
    if isinstance(value, dict):
        return {k: copied(v, leaves, grad) for k, v in value.items()}
    return value


def fill(maker: Callable[..., Any], sample: Any, grad: bool = False) -> Filled:
    leaves: list[Any] = []
    args = tuple(maker(a, leaves, grad) for a in (sample.input, *sample.args))
    kwargs = {k: maker(v, leaves, grad) for k, v in sample.kwargs.items()}
    return Filled(args, kwargs, leaves)


def flat(value: Any) -> list[Any]:
    """The tensors and numbers of a result."""
    if isinstance(value, (tuple, list)):
        return [part for element in value for part in flat(element)]
    return [value]


def difference(mine: Any, other: Any, exact: bool = False, what: str = "value", loose: float = 0) -> str | None:
    """In what a result differs from PyTorch's, or nothing."""
    if not isinstance(other, torch.Tensor):
        if isinstance(other, (bool, int, float)):
            same = type(mine) is type(other) and (mine == other or abs(mine - other) < 1e-6 or mine != mine)
            return None if same else f"{what}: {mine!r} instead of {other!r}"
        return None
    if not isinstance(mine, rlgrad.Tensor):
        return f"{what}: {type(mine).__name__} instead of a tensor"
    if str(mine.dtype) != str(other.dtype):
        return f"{what}: {mine.dtype} instead of {other.dtype}"
    if tuple(mine.shape) != tuple(other.shape):
        return f"{what}: shape {list(mine.shape)} instead of {list(other.shape)}"
    if exact:
        return None
    a, b = mine.detach().numpy(), other.detach().numpy(force=True)
    if a.dtype.kind != "f":
        return None if np.array_equal(a, b) else f"{what}: {a.ravel()[:4]} instead of {b.ravel()[:4]}"
    rtol, atol = (loose, loose) if loose else TOLERANCE.get(a.dtype.name, (5e-3, 5e-3))
    scale = max(1.0, float(np.abs(b[np.isfinite(b)]).max(initial=0)))
    close = np.isclose(a, b, rtol, atol * scale, equal_nan=True)
    if close.all():
        return None
    wrong = np.argwhere(~close)[0]
    return f"{what}: {a[tuple(wrong)]} instead of {b[tuple(wrong)]} at {wrong.tolist()} of {list(a.shape)}"


def differences(mine: Any, other: Any, exact: bool = False, what: str = "value", loose: float = 0) -> str | None:
    a, b = flat(mine), flat(other)
    if len(a) != len(b):
        return f"{what}: {len(a)} results instead of {len(b)}"
    return next((d for x, y in zip(a, b, strict=True) if (d := difference(x, y, exact, what, loose))), None)


def cotangents(results: list[Any]) -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    return [np.asarray(rng.uniform(0.5, 1.5, tuple(y.shape)) * rng.choice([-1, 1], tuple(y.shape))) for y in results]


def gradients(library: Any, results: Any, leaves: list[Any], order: int) -> list[list[Any]]:
    """Gradients of all differentiable results, and for the second order those of the gradients."""
    results = [y for y in flat(results) if isinstance(y, library.Tensor) and y.requires_grad and y.numel()]
    seeds = [library.from_numpy(g).to(y.dtype) for g, y in zip(cotangents(results), results, strict=True)]
    if not results:
        return []
    if order == 1:
        return [_filled(library, library.autograd.grad(results, leaves, seeds, allow_unused=True), leaves)]
    seeds = [g.requires_grad_() for g in seeds]
    first = library.autograd.grad(results, leaves, seeds, create_graph=True, allow_unused=True)
    parts = [g for g in first if g is not None and g.requires_grad]
    inputs = [*leaves, *seeds]
    if not parts:
        return [_filled(library, first, leaves), _filled(library, [None] * len(inputs), inputs)]
    outer = [library.from_numpy(g).to(y.dtype) for g, y in zip(cotangents(parts), parts, strict=True)]
    second = library.autograd.grad(parts, inputs, outer, allow_unused=True)
    return [_filled(library, first, leaves), _filled(library, second, inputs)]


def _filled(library: Any, grads: Any, like: list[Any]) -> list[Any]:
    return [library.zeros_like(x) if g is None else g for g, x in zip(grads, like, strict=True)]


def attempt(call: Callable[[], Any]) -> tuple[Any, Exception | None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return call(), None
        except Exception as error:
            return None, error


def kind_of(error: Exception) -> type:
    """The class by which both libraries' errors are compared."""
    for kind in (NotImplementedError, IndexError, ValueError, TypeError, RuntimeError):
        if isinstance(error, kind):
            return kind
    return type(error)


def compare_errors(mine: Exception | None, other: Exception, what: str) -> str | None:
    if mine is None:
        return f"{what}: no error instead of {type(other).__name__}: {str(other)[:90]}"
    if not issubclass(kind_of(mine), kind_of(other)) and not issubclass(kind_of(other), kind_of(mine)):
        return f"{what}: {type(mine).__name__} ({str(mine)[:80]}) instead of {type(other).__name__}: {str(other)[:80]}"
    return None


def text(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error)[:160]}".replace("\n", " ")


def without_dropout(sample: Any) -> Any:
    """A sample of attention that drops nothing, so that values can be compared; any other sample as it is."""
    if "dropout_p" in sample.kwargs:
        sample.kwargs["dropout_p"] = 0.0
    if "use_separate_proj_weight" in sample.kwargs:
        sample.args = (*sample.args[:9], 0.0, *sample.args[10:])
    return sample


ROUGH_IN_HALF = {"nn.functional.grid_sample"}
"""Entries whose values in half precision are good to a few percent, in PyTorch as here."""

TIED = {"sort", "argsort", "topk", "kthvalue", "mode", "median", "nanmedian"}
"""Entries whose indices are free where elements are equal."""


COARSE = {f"special.bessel_{name}": 1e-5 for name in ("j0", "j1", "y0", "y1")} | {"special.airy_ai": 1e-5}
"""Entries whose values in PyTorch are good to so much only."""


class Comparison:
    """An entry of ``op_db`` run through both libraries.

    Args:
        entry: PyTorch's ``OpInfo``.
        values: compare values; without (random results) only dtypes and shapes.
    """

    def __init__(self, entry: Any, values: bool = True) -> None:
        self.entry, self.exact = entry, not values
        self.function = ours(entry)
        self.name = f"{entry.name}.{entry.variant_test_name}" if entry.variant_test_name else entry.name

    def samples(self, dtype: Any, count: int | None, grad: bool = False, reference: bool = False) -> Iterator[Any]:
        torch.default_generator.manual_seed(0)
        np.random.seed(0)
        random.seed(0)
        make = self.entry.reference_inputs if reference else self.entry.sample_inputs
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield from itertools.islice(make("cpu", dtype, requires_grad=grad, set_seed=False), count)

    def wrapped(self, function: Any, mine: bool) -> Any:
        """The function behind what makes a decomposition's results unique."""
        wrapper = self.entry.gradcheck_wrapper
        if mine:
            wrapper = rebuilt(wrapper)
        return lambda *args, **kwargs: wrapper(function, *args, **kwargs)

    def value(self, sample: Any, what: str = "value", variant: Any = None) -> str | None:
        """The function, or a variant of it, on one sample."""
        theirs = self.entry.op if variant is None else variant
        function = self.function if variant is None else ours_as(self.entry, variant)
        if function is None:
            return f"{what}: missing"
        try:
            mine = fill(convert, sample)
        except Unsupported:
            return None
        other = fill(copied, sample)
        expected, error = attempt(lambda: theirs(*other.args, **other.kwargs))
        found, failure = attempt(lambda: function(*mine.args, **mine.kwargs))
        if error is not None:
            return compare_errors(failure, error, what)
        if failure is not None:
            return f"{what}: {text(failure)}"
        process = sample.output_process_fn_grad
        if process is not None and process.__name__ != "<lambda>":
            found, expected = rebuilt(process)(found), process(expected)
        elif process is not None:
            found, _ = attempt(lambda: rebuilt(process)(found))
            expected = process(expected)
        if any(isinstance(y, torch.Tensor) and "complex" in str(y.dtype) for y in flat(expected)):
            return None
        if self.entry.name in TIED and sample.input.unique().numel() < sample.input.numel():
            found, expected = ([y for y in flat(r) if "int64" not in str(y.dtype)] for r in (found, expected))
        return differences(found, expected, self.exact, what, COARSE.get(self.entry.name, 0))

    def in_other_dtypes(self) -> Iterator[str | None]:
        """The function on three samples of each dtype but double precision."""
        for dtype in (torch.float32, torch.float16, torch.int64):
            if dtype in self.entry.dtypes and (dtype is not torch.float16 or self.entry.name not in ROUGH_IN_HALF):
                yield from (self.value(without_dropout(sample)) for sample in self.samples(dtype, 3))

    def in_place(self, sample: Any) -> str | None:
        variant = self.entry.inplace_variant
        if variant is None or sample.broadcasts_input:
            return None
        return self.value(sample, "in place", variant)

    def out(self, sample: Any) -> str | None:
        if not self.entry.supports_out:
            return None
        try:
            mine = fill(convert, sample)
        except Unsupported:
            return None
        other = fill(copied, sample)
        expected, error = attempt(lambda: self.entry.op(*other.args, **other.kwargs))
        if error is not None or not all(isinstance(y, torch.Tensor) for y in flat(expected)):
            return None
        try:
            targets = [convert(torch.empty_like(y), [], False) for y in flat(expected)]
        except Unsupported:
            return None
        given = tuple(targets) if isinstance(expected, (tuple, list)) else targets[0]
        _, failure = attempt(lambda: self.function(*mine.args, **mine.kwargs, out=given))
        if failure is not None:
            return f"out: {text(failure)}"
        if any(g.shape != tuple(y.shape) for g, y in zip(targets, flat(expected), strict=True)):
            return "out: shape"
        if sample.output_process_fn_grad.__name__ != "<lambda>" or self.entry.gradcheck_wrapper.__name__ != "<lambda>":
            return None
        return differences(targets, flat(expected), self.exact, "out")

    def derivatives(self, sample: Any, order: int = 1) -> str | None:
        what = "gradient" if order == 1 else "second derivative"
        try:
            mine = fill(convert, sample, True)
        except Unsupported:
            return None
        other = fill(copied, sample, True)
        if not any(x.numel() for x in other.leaves):
            return None
        process = sample.output_process_fn_grad
        expected, error = attempt(
            lambda: gradients(
                torch, process(self.wrapped(self.entry.op, False)(*other.args, **other.kwargs)), other.leaves, order
            )
        )
        if error is not None:
            return None
        function = self.wrapped(self.function, True)
        found, failure = attempt(
            lambda: gradients(rlgrad, rebuilt(process)(function(*mine.args, **mine.kwargs)), mine.leaves, order)
        )
        if failure is not None:
            return f"{what}: {text(failure)}"
        return differences(found, expected, self.exact, what)

    def node(self, sample: Any) -> str | None:
        """The name of the result's node."""
        try:
            mine = fill(convert, sample, True)
        except Unsupported:
            return None
        other = fill(copied, sample, True)
        expected, error = attempt(lambda: self.entry.op(*other.args, **other.kwargs))
        found, failure = attempt(lambda: self.function(*mine.args, **mine.kwargs))
        if error is not None or failure is not None:
            return None
        for a, b in zip(flat(found), flat(expected), strict=False):
            if not isinstance(b, torch.Tensor) or not isinstance(a, rlgrad.Tensor):
                continue
            names = [None if y.grad_fn is None else y.grad_fn.name() for y in (a, b)]
            if names[0] != names[1]:
                return f"node: {names[0]} instead of {names[1]}"
        return None

    def errors(self) -> Iterator[str]:
        """The arguments that PyTorch refuses."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            given = list(self.entry.error_inputs("cpu")) if self.entry.error_inputs_func else []
        for case in given:
            sample = case.sample_input
            if "out" in sample.kwargs:
                continue
            try:
                mine = fill(convert, sample)
            except Unsupported:
                continue
            other = fill(copied, sample)
            _, error = attempt(lambda o=other: self.entry.op(*o.args, **o.kwargs))
            _, failure = attempt(lambda m=mine: self.function(*m.args, **m.kwargs))
            if error is not None and (problem := compare_errors(failure, error, "error")):
                yield problem
