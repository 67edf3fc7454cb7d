"""Comparisons for tests, with messages that say where two values differ and by how much."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from rlgrad.autograd.ops.creation import Device, tensor
from rlgrad.autograd.tensor import Tensor
from rlgrad.backend import dtypes
from rlgrad.backend.devices import to_host
from rlgrad.backend.random import default_generator

__all__ = ["assert_close", "make_tensor"]

_TOLERANCES = {"float16": (1e-3, 1e-5), "float32": (1.3e-6, 1e-5), "float64": (1e-7, 1e-7)}
"""Relative and absolute, by dtype; other dtypes are compared exactly."""

Message = str | Callable[[str], str] | None


class _Rules(NamedTuple):
    """What counts as close."""

    allow_subclasses: bool
    rtol: float | None
    atol: float | None
    equal_nan: bool
    check_device: bool
    check_dtype: bool
    check_layout: bool
    check_stride: bool

    def tolerances(self, *dtypes: str) -> tuple[float, float]:
        if self.rtol is not None and self.atol is not None:
            return self.rtol, self.atol
        known = [_TOLERANCES.get(dtype, (0.0, 0.0)) for dtype in dtypes]
        return max(rtol for rtol, _ in known), max(atol for _, atol in known)

    def related(self, actual: Any, expected: Any, *kinds: type) -> bool:
        """Whether both are of one of these kinds, and of types that may be compared."""
        if not any(isinstance(actual, kind) and isinstance(expected, kind) for kind in kinds):
            return False
        mine, theirs = type(actual), type(expected)
        return mine is theirs or (self.allow_subclasses and (issubclass(mine, theirs) or issubclass(theirs, mine)))


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: Message = None,
) -> None:
    """Raise unless ``|actual - expected| <= atol + rtol * |expected|`` for all elements.

    Args:
        actual, expected: tensors, arrays, numbers or ``None``, or sequences and mappings of them, nested alike.
        allow_subclasses: let a tensor meet one of a subclass, such as a parameter.
        rtol, atol: both or neither; by default ``1.3e-6`` and ``1e-5`` for float32, ``1e-7`` twice for float64 and Python's
            floats, ``1e-3`` and ``1e-5`` for float16, 0 for whole numbers.
        equal_nan: NaN is close to NaN.
        check_device, check_dtype, check_layout, check_stride: what else must be the same.
        msg: the message instead of the one made here, or a function that makes one out of that.

    Raises:
        AssertionError: where they differ, with the place and the greatest differences.
        ValueError: for one tolerance without the other.
        TypeError: for values that cannot be compared.

    Example:
        >>> import rlgrad
        >>> rlgrad.testing.assert_close(rlgrad.ones(2), rlgrad.ones(2) + 1e-7)
        >>> rlgrad.testing.assert_close({"a": 1.0}, {"a": 2.0})
        Traceback (most recent call last):
            ...
        AssertionError: Scalars are not close!
        <BLANKLINE>
        Expected 2.0 but got 1.0.
        Absolute difference: 1.0 (up to 1e-07 allowed)
        Relative difference: 0.5 (up to 1e-07 allowed)
        <BLANKLINE>
        The failure occurred for item ['a']
    """
    if (rtol is None) != (atol is None):
        missing = "rtol" if rtol is None else "atol"
        raise ValueError(f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {missing}.")
    if min(rtol or 0, atol or 0) < 0:
        raise ValueError(f"rtol and atol must not be negative, got {rtol} and {atol}")
    rules = _Rules(
        allow_subclasses, rtol, atol, equal_nan, check_device, check_dtype, check_layout, check_stride
    )  # fmt: skip
    pairs: list[tuple[Any, Any, str]] = []
    problem = _pair_up(actual, expected, "", rules, pairs)
    for one, other, place in pairs if problem is None else ():
        problem = _difference(one, other, rules)
        if problem is not None:
            problem += f"\n\nThe failure occurred for item {place}" if place else ""
            break
    if problem is not None:
        raise AssertionError(msg(problem) if callable(msg) else problem if msg is None else msg)


def make_tensor(
    *shape: Any,
    dtype: dtypes.dtype,
    device: Device,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """A tensor of uniform random numbers for tests.

    Args:
        shape: as several integers or one sequence.
        low, high: bounds, the upper one not included: -9 and 9 for floating dtypes, -9 and 10 for whole numbers, 0 and 10
            where they have no sign, 0 and 2 for bool.
        noncontiguous: leave gaps in memory between the elements.
        exclude_zero: put the smallest positive number in place of zeros.

    Raises:
        ValueError: for ``low`` not below ``high``.

    Example:
        >>> import rlgrad
        >>> x = rlgrad.testing.make_tensor(2, 3, dtype=rlgrad.int64, device="cpu", low=0, high=5)
        >>> x.shape, bool((x < 5).all())
        (torch.Size([2, 3]), True)
    """
    size = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], Sequence) else shape
    kind = dtype.numpy
    usual = {"f": (-9, 9), "i": (-9, 10), "u": (0, 10), "b": (0, 2)}[kind.kind]
    least, most = usual[0] if low is None else low, usual[1] if high is None else high
    if least >= most:
        raise ValueError(f"`low` must be less than `high`, but got {least} >= {most}")
    extents = (*size[:-1], 2 * size[-1]) if noncontiguous and size else size
    drawn: Any = default_generator.numpy.random(extents) * (most - least) + least
    values = np.asarray(drawn if kind.kind == "f" else np.floor(drawn)).astype(kind)
    if exclude_zero:
        values[values == 0] = np.finfo(kind).tiny if kind.kind == "f" else 1
    result = tensor(values, device=device)
    if extents is not size:
        result = result[..., ::2]
    return result.requires_grad_() if requires_grad else result


def _pair_up(
    actual: Any, expected: Any, place: str, rules: _Rules, pairs: list[tuple[Any, Any, str]]
) -> str | None:  # fmt: skip
    """Collect what is to be compared one by one, in order; says where the structures differ."""
    where = f"\n\nThe failure occurred for item {place}" if place else ""
    if _is_sequence(actual) and _is_sequence(expected):
        if len(actual) != len(expected):
            return f"The length of the sequences mismatch: {len(actual)} != {len(expected)}{where}"
        items = [(i, one, other) for i, (one, other) in enumerate(zip(actual, expected, strict=True))]
    elif isinstance(actual, Mapping) and isinstance(expected, Mapping):
        missing = sorted(set(expected) - set(actual), key=repr)
        extra = sorted(set(actual) - set(expected), key=repr)
        if missing or extra:
            return (
                "The keys of the mappings do not match:\n"
                f"Missing keys in the actual mapping: {missing}\nAdditional keys in the actual mapping: {extra}{where}"
            )
        items = [(key, actual[key], expected[key]) for key in sorted(expected, key=repr)]
    else:
        _check_kinds(actual, expected, rules)
        pairs.append((actual, expected, place))
        return None
    for key, one, other in items:
        problem = _pair_up(one, other, f"{place}[{key!r}]", rules, pairs)
        if problem is not None:
            return problem
    return None


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def _check_kinds(actual: Any, expected: Any, rules: _Rules) -> None:
    if actual is None or expected is None:
        return
    numbers = (bool, int, float)
    if isinstance(actual, numbers) and isinstance(expected, numbers):
        return
    if not rules.related(actual, expected, Tensor, np.ndarray, np.generic):
        raise TypeError(f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}.")


def _difference(actual: Any, expected: Any, rules: _Rules) -> str | None:
    """What is wrong with one pair, or nothing."""
    if actual is None or expected is None:
        return None if actual is expected else f"None mismatch: {actual} is not {expected}"
    if isinstance(expected, (bool, int, float)) and not isinstance(expected, np.generic):
        if rules.check_dtype and type(actual) is not type(expected):
            return f"The (d)types do not match: {type(actual)} != {type(expected)}."
        wide = isinstance(actual, float) or isinstance(expected, float)
        return _compared(
            np.asarray(actual), np.asarray(expected), rules, *rules.tolerances("float64" if wide else "int64")
        )
    problem = _attributes(actual, expected, rules)
    if problem is not None:
        return problem
    mine, theirs = _host(actual), _host(expected)
    return _compared(mine, theirs, rules, *rules.tolerances(mine.dtype.name, theirs.dtype.name))


def _host(value: Any) -> np.ndarray:
    return to_host(value._array) if isinstance(value, Tensor) else np.asarray(value)


def _attributes(actual: Any, expected: Any, rules: _Rules) -> str | None:
    checks = [("shape", True), ("dtype", rules.check_dtype)]
    if isinstance(actual, Tensor):
        checks += [("layout", rules.check_layout), ("device", rules.check_device)]
    for name, wanted in checks:
        mine, theirs = getattr(actual, name), getattr(expected, name)
        if wanted and mine != theirs:
            return f"The values for attribute '{name}' do not match: {mine} != {theirs}."
    if rules.check_stride:
        mine, theirs = (x.stride() if isinstance(x, Tensor) else x.strides for x in (actual, expected))
        if mine != theirs:
            return f"The values for attribute 'stride()' do not match: {mine} != {theirs}."
    return None


def _compared(actual: np.ndarray, expected: np.ndarray, rules: _Rules, rtol: float, atol: float) -> str | None:
    """Where two arrays of one shape differ by more than they may."""
    exact = actual.dtype.kind in "biu" and expected.dtype.kind in "biu"
    common: Any = np.int64 if exact and rtol == atol == 0 else np.float64
    a, b = actual.astype(common), expected.astype(common)
    with np.errstate(all="ignore"):
        apart = np.abs(a - b)
        close = (a == b) | ((apart <= atol + rtol * np.abs(b)) & np.isfinite(b))
        if rules.equal_nan:
            close |= np.isnan(a) & np.isnan(b)
        if bool(close.all()):
            return None
        relative = apart / np.abs(b)
    what = "equal" if rtol == atol == 0 else "close"
    limits = ["", ""] if what == "equal" else [f" (up to {atol} allowed)", f" (up to {rtol} allowed)"]
    if a.size == 1 and a.ndim == 0:
        return (
            f"Scalars are not {what}!\n\nExpected {expected.item()} but got {actual.item()}.\n"
            f"Absolute difference: {apart.item()}{limits[0]}\nRelative difference: {relative.item()}{limits[1]}"
        )
    wrong = int((~close).sum())
    lines = [
        f"Tensor-likes are not {what}!\n",
        f"Mismatched elements: {wrong} / {close.size} ({wrong / close.size:.1%})",
    ]
    for name, values, limit in (("absolute", apart, limits[0]), ("relative", relative, limits[1])):
        worst = np.unravel_index(int(np.argmax(np.where(close, -1, values))), close.shape)
        index = tuple(int(i) for i in worst)
        lines.append(f"Greatest {name} difference: {values[worst].item()} at index {index}{limit}")
    return "\n".join(lines)
