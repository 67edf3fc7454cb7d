"""NumPy's own function for what a function of torch's computes, where one call of NumPy does it.

It is what any library over NumPy pays at least: torch's time over NumPy's is the highest ratio that one could reach
whose own share, the tensor and the recorded node, cost nothing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np

_NAMES = {
    "absolute": "abs", "amax": "max", "amin": "min", "bmm": "matmul", "cat": "concatenate", "clone": "copy",
    "concat": "concatenate", "det": "linalg.det", "div": "divide", "ger": "outer", "inverse": "linalg.inv",
    "mm": "matmul", "mul": "multiply", "mv": "matmul", "neg": "negative", "pinverse": "linalg.pinv",
    "row_stack": "vstack", "sub": "subtract", "swapdims": "swapaxes", "t": "transpose", "transpose": "swapaxes",
    "true_divide": "divide", "view": "reshape",
    **{"a" + name: "arc" + name for name in ("cos", "cosh", "sin", "sinh", "tan", "tan2", "tanh")},
}  # fmt: skip
"""Where the name differs."""

_ARGUMENTS = {"dim": "axis", "keepdim": "keepdims", "correction": "ddof", "dims": "axes"}


def counterpart(name: str) -> Callable[..., Any] | None:
    """NumPy's function for torch's function of this name, if there is one."""
    place: Any = np
    for part in _NAMES.get(name, name).split("."):
        place = getattr(place, part, None)
    return place if callable(place) else None


def numpy_program(name: str, sample: Any, expected: Any) -> Callable[[], Any] | None:
    """A call of NumPy's function on raw arrays; ``None`` unless it computes what ``expected`` says.

    Args:
        sample: arrays and other arguments as torch's function takes them.
        expected: torch's result.
    """
    function = counterpart(name)
    if function is None or not hasattr(expected, "detach"):
        return None
    args = [_raw(a) for a in sample[0]]
    kwargs = {_ARGUMENTS.get(k, k): _raw(v) for k, v in sample[1].items()}
    with contextlib.suppress(Exception):  # it takes other arguments
        found, wanted = np.asarray(function(*args, **kwargs)), expected.detach().numpy()
        if found.shape == wanted.shape and np.allclose(found, wanted, 1e-3, 1e-5, equal_nan=True):
            return lambda: function(*args, **kwargs)
    return None


def _raw(value: Any) -> Any:
    if isinstance(value, list):
        return [_raw(v) for v in value]
    array = getattr(value, "array", value)  # a constant of the samples
    if isinstance(array, np.ndarray):
        return array.astype(np.float32) if array.dtype.kind == "f" else array.copy()
    return value
