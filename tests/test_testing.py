"""``assert_close``: PyTorch's verdicts, and its messages but for the names of classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rlgrad

torch = pytest.importorskip("torch")

NAN, INF = float("nan"), float("inf")


def x(t: Any) -> Any:
    return t.tensor([[1.0, 2.0], [3.0, 4.0]])


PAIRS: dict[str, Callable[[Any], tuple[Any, ...]]] = {
    "near": lambda t: (x(t), x(t) + 1e-6),
    "far": lambda t: (x(t), x(t) + 1),
    "one element": lambda t: (x(t), x(t) + t.tensor([[0.0, 0.0], [1.0, 0.0]])),
    "exactly": lambda t: (x(t), x(t) + 1e-6, {"rtol": 0, "atol": 0}),
    "loosely": lambda t: (x(t), x(t) + 0.5, {"rtol": 0, "atol": 1}),
    "float64": lambda t: (x(t).double(), x(t).double() + 1e-6),
    "float16": lambda t: (x(t).half(), x(t).half() + 0.001),
    "shape": lambda t: (x(t), x(t)[0]),
    "dtype": lambda t: (x(t), x(t).double()),
    "dtype, unchecked": lambda t: (x(t), x(t).double() + 5e-6, {"check_dtype": False}),
    "integers, unchecked": lambda t: (x(t), x(t).int(), {"check_dtype": False}),
    "integers": lambda t: (t.tensor([1, 2]), t.tensor([1, 4])),
    "booleans": lambda t: (t.tensor([True, False]), t.tensor([True, True])),
    "stride": lambda t: (t.ones(2, 3).t(), t.ones(3, 2), {"check_stride": True}),
    "stride, unchecked": lambda t: (t.ones(2, 3).t(), t.ones(3, 2)),
    "0-d": lambda t: (t.tensor(1.0), t.tensor(2.0)),
    "empty": lambda t: (t.ones(0), t.ones(0)),
    "nan": lambda t: (t.tensor([1.0, NAN]), t.tensor([1.0, NAN])),
    "nan, equal": lambda t: (t.tensor([1.0, NAN]), t.tensor([1.0, NAN]), {"equal_nan": True}),
    "nan against a number": lambda t: (t.tensor([1.0, 2.0]), t.tensor([1.0, NAN]), {"equal_nan": True}),
    "infinities": lambda t: (t.tensor([INF, -INF]), t.tensor([INF, -INF])),
    "infinity": lambda t: (t.tensor([INF, 1.0]), t.tensor([-INF, 1.0])),
    "expected zero": lambda t: (t.tensor([1.0]), t.tensor([0.0])),
    "numbers": lambda t: (1.0, 2.0),
    "near numbers": lambda t: (1.0, 1.0 + 1e-9),
    "whole numbers": lambda t: (1, 2),
    "kinds of numbers": lambda t: (1, 1.0),
    "kinds of numbers, unchecked": lambda t: (1, 1.0, {"check_dtype": False}),
    "nan numbers": lambda t: (NAN, NAN),
    "None": lambda t: (None, None),
    "None and a number": lambda t: (1.0, None),
    "lists": lambda t: ([x(t), x(t)], [x(t), x(t) + 1]),
    "list and tuple": lambda t: ([x(t)], (x(t),)),
    "lengths": lambda t: ([x(t)], [x(t), x(t)]),
    "nested lengths": lambda t: ({"a": [1.0]}, {"a": [1.0, 2.0]}),
    "mappings": lambda t: ({"a": x(t), "b": 1.0}, {"b": 1.0, "a": x(t) + 1}),
    "keys": lambda t: ({"a": x(t)}, {"b": x(t)}),
    "deep": lambda t: ({"a": [x(t), (1.0, 2.0)]}, {"a": [x(t), (1.0, 3.0)]}),
    "letters": lambda t: ("a", "a"),
    "tensor and list": lambda t: (x(t), [1.0, 2.0]),
    "tensor and number": lambda t: (t.tensor(1.0), 1.0),
    "arrays": lambda t: (np.ones(2), np.ones(2)),
    "array and tensor": lambda t: (np.ones(2), t.ones(2, dtype=t.float64)),
    "parameter": lambda t: (t.nn.Parameter(x(t)), x(t)),
    "parameter, refused": lambda t: (t.nn.Parameter(x(t)), x(t), {"allow_subclasses": False}),
    "one tolerance": lambda t: (x(t), x(t), {"rtol": 0.1}),
    "message": lambda t: (1.0, 2.0, {"msg": "they differ"}),
    "message made": lambda t: (1.0, 2.0, {"msg": lambda text: f"first: {text}"}),
}


def verdict(library: Any, pair: Callable[[Any], tuple[Any, ...]]) -> tuple[str, str]:
    actual, expected, *rest = pair(library)
    try:
        library.testing.assert_close(actual, expected, **(rest[0] if rest else {}))
    except Exception as error:
        text = str(error).replace("rlgrad.autograd.tensor.Tensor", "torch.Tensor")
        return type(error).__name__, text.replace("rlgrad.nn.parameter", "torch.nn.parameter")
    return "close", ""


@pytest.mark.parametrize("name", list(PAIRS))
def test_verdict_and_message_are_torchs(name: str) -> None:
    mine, theirs = verdict(rlgrad, PAIRS[name]), verdict(torch, PAIRS[name])
    assert mine[0] == theirs[0]
    assert shortened(mine[1]) == shortened(theirs[1])


def shortened(text: str) -> str:
    """Numbers to four digits, as relative differences are taken in float64 here."""
    words = []
    for word in text.replace("\n", " \n ").split(" "):
        try:
            words.append(f"{float(word):.4g}")
        except ValueError:
            words.append(word)
    return " ".join(words)


def test_negative_tolerances_are_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        rlgrad.testing.assert_close(1.0, 1.0, rtol=-1, atol=0)
