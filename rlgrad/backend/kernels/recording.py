"""Arithmetic on every element of some arrays, written down as one GPU kernel.

A GPU runs an array call as a pass over memory, and a dozen passes cost a dozen times the traffic. A :class:`Recording`
stands in for the array library: what is computed with it from its variables becomes lines of C, and the numbers met on
the way (rates, decays) become the kernel's parameters, so that the next step with other numbers is the same kernel.
"""

from __future__ import annotations

import functools
import numbers
from collections.abc import Callable
from typing import Any

from rlgrad.backend.devices import cupy

_FORMULAS = {  # how many operands, and the expression in C
    "add": (2, "{0} + {1}"),
    "subtract": (2, "{0} - {1}"),
    "multiply": (2, "{0} * {1}"),
    "divide": (2, "{0} / {1}"),
    "sqrt": (1, "sqrt({0})"),
    "abs": (1, "{0} < 0 ? (T)(-{0}) : {0}"),
    "sign": (1, "{0} > 0 ? (T)1 : {0} < 0 ? (T)(-1) : {0}"),
    "maximum": (2, "{0} >= {1} || {0} != {0} ? {0} : {1}"),
    "minimum": (2, "{0} <= {1} || {0} != {0} ? {0} : {1}"),
    "clip": (3, "{0} < {1} ? {1} : {0} > {2} ? {2} : {0}"),
    "less": (2, "{0} < {1}"),
    "greater": (2, "{0} > {1}"),
    "where": (3, "{0} ? {1} : {2}"),
}
_CONDITIONS = ("less", "greater")


class NotElementwise(Exception):
    """What was asked of a recording is not arithmetic on each element that it knows."""


class Recording:
    """An array library that writes down what is computed with it.

    It knows the functions that take elements one by one and few of the others: anything else raises
    :class:`NotElementwise`, and the caller computes with real arrays instead. NaN goes through as with NumPy.

    Attributes:
        lines: statements in C; ``T`` is the arrays' element type.
        numbers: what the kernel's parameters ``n0``, ``n1``, ... are this time.

    Example:
        >>> xp = Recording()
        >>> grad, mean = xp.variable("grad"), xp.variable("mean")
        >>> mean *= 0.9
        >>> mean += 0.1 * grad
        >>> xp.lines
        ['mean = mean * n0;', 'T t0 = n1 * grad;', 'mean = mean + t0;']
        >>> xp.numbers
        [0.9, 0.1]
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.numbers: list[float] = []
        self._temporaries = 0

    def variable(self, name: str) -> Value:
        """A value for each element, of this name in C."""
        return Value(self, name)

    def __getattr__(self, name: str) -> Callable[..., Value]:
        if name not in _FORMULAS:
            raise NotElementwise(f"{name} is not recorded")
        return functools.partial(self.compute, name)

    def compute(self, name: str, *operands: Any, out: Value | None = None) -> Value:
        """Write down one operation; like a ufunc's, its result may be given after the operands too."""
        count, formula = _FORMULAS[name]
        if len(operands) == count + 1:
            *operands, out = operands  # type: ignore[assignment]
        expression = formula.format(*map(self._operand, operands))
        if out is None:
            return self._temporary("bool" if name in _CONDITIONS else "T", expression)
        self.lines.append(f"{out} = {expression};")
        return out

    def copy(self, value: Value) -> Value:
        """A new variable that starts as another."""
        return self._temporary("T", str(value))

    def _temporary(self, kind: str, expression: str) -> Value:
        result = Value(self, f"t{self._temporaries}")
        self._temporaries += 1
        self.lines.append(f"{kind} {result} = {expression};")
        return result

    def assign(self, target: Value, value: Any, where: Value | None = None) -> None:
        """Write down that a variable gets another value, everywhere or where a condition holds."""
        condition = "" if where is None else f"if ({where}) "
        self.lines.append(f"{condition}{target} = {self._operand(value)};")

    def _operand(self, value: Any) -> str:
        if isinstance(value, Value):
            return str(value)
        if not isinstance(value, numbers.Real):
            raise NotElementwise(f"{type(value).__name__} is neither a variable nor a number")
        self.numbers.append(float(value))
        return f"n{len(self.numbers) - 1}"

    def run(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """Run the recording as one kernel over arrays of one dtype and shape, on the current GPU.

        Args:
            inputs: arrays that are only read, by the names of their variables.
            outputs: arrays that are read and written.
        """
        kernel = _kernel(tuple(inputs), tuple(outputs), len(self.numbers), tuple(self.lines))
        kernel(*inputs.values(), *self.numbers, *outputs.values())


def _operators(function: str) -> tuple[Callable[[Value, Any], Value], ...]:
    """An operator's methods: ``a + b``, ``number + a`` and ``a += b``."""
    return (
        lambda self, other: self._recording.compute(function, self, other),
        lambda self, other: self._recording.compute(function, other, self),
        lambda self, other: self._recording.compute(function, self, other, out=self),
    )


class Value:
    """A variable of a :class:`Recording`: one element of an array, whichever it is."""

    __slots__ = ("_name", "_recording")
    __array_ufunc__ = None  # NumPy's numbers leave arithmetic to it

    def __init__(self, recording: Recording, name: str) -> None:
        self._recording, self._name = recording, name

    def __str__(self) -> str:
        return self._name

    __add__, __radd__, __iadd__ = _operators("add")
    __sub__, __rsub__, __isub__ = _operators("subtract")
    __mul__, __rmul__, __imul__ = _operators("multiply")
    __truediv__, __rtruediv__, __itruediv__ = _operators("divide")

    def __lt__(self, other: Any) -> Value:
        return self._recording.compute("less", self, other)

    def __gt__(self, other: Any) -> Value:
        return self._recording.compute("greater", self, other)

    def __setitem__(self, place: Any, value: Any) -> None:
        self._recording.assign(self, value, None if place is Ellipsis else place)

    def __bool__(self) -> bool:
        raise NotElementwise("which way to go may not depend on the elements")


@functools.cache
def _kernel(inputs: tuple[str, ...], outputs: tuple[str, ...], numbers: int, lines: tuple[str, ...]) -> Any:
    reads = ", ".join(f"T {name}" for name in (*inputs, *(f"n{i}" for i in range(numbers))))
    writes = ", ".join(f"T {name}" for name in outputs)
    return cupy().ElementwiseKernel(reads, writes, "\n".join(lines), "rlgrad_fused")
