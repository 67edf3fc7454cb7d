"""What one recorded operation costs above the bare NumPy call, and a chain of 100 beside torch.

Run with ``python -m benchmarks.op_overhead``; torch is needed for the comparison.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.timing import interleaved

SIZE = 32


def chain(x: Any, y: Any) -> Any:
    """100 recorded operations, multiplications and additions in turn."""
    for _ in range(50):
        x = x * y
        x = x + y
    return x


def main() -> None:
    import torch

    import rlgrad

    rng = np.random.default_rng(0)
    a, b = (rng.random(SIZE, np.float32) for _ in range(2))
    x, y = rlgrad.from_numpy(a.copy()).requires_grad_(), rlgrad.from_numpy(b)
    tx, ty = torch.from_numpy(a.copy()).requires_grad_(), torch.from_numpy(b.copy())
    times = interleaved(
        {
            "numpy add": lambda: np.add(a, b),
            "rlgrad add": lambda: x + y,
            "torch add": lambda: tx + ty,
            "numpy tanh": lambda: np.tanh(a),
            "rlgrad tanh": lambda: x.tanh(),
            "torch tanh": lambda: tx.tanh(),
        }
    )
    print(f"one recorded operation on {SIZE} floats, microseconds")
    for op in ("add", "tanh"):
        bare, ours, theirs = (times[f"{who} {op}"] * 1e6 for who in ("numpy", "rlgrad", "torch"))
        print(f"{op:>6}: NumPy {bare:.2f}, rlgrad {ours:.2f} ({ours - bare:.2f} above NumPy), torch {theirs:.2f}")
    ones = np.ones(SIZE, np.float32)
    g, tg = rlgrad.from_numpy(ones), torch.from_numpy(ones)
    times = interleaved(
        {
            "rlgrad forward": lambda: chain(x, y),
            "torch forward": lambda: chain(tx, ty),
            "rlgrad both": lambda: chain(x, y).backward(g),
            "torch both": lambda: chain(tx, ty).backward(tg),
        }
    )
    print("a chain of 100 recorded operations, microseconds")
    for what, name in (("forward", "forward"), ("both", "forward and backward")):
        ours, theirs = times[f"rlgrad {what}"] * 1e6, times[f"torch {what}"] * 1e6
        print(f"{name:>21}: rlgrad {ours:.0f}, torch {theirs:.0f}, {theirs / ours:.2f} times torch's speed")


if __name__ == "__main__":
    main()
