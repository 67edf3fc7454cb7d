"""Functions of images called with random arguments: rlgrad and torch agree on values, gradients, and on what is an error."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rlgrad

torch = pytest.importorskip("torch")


class Dice:
    """Random arguments, most of them valid together.

    Args:
        seed: where the stream of numbers starts.
    """

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def int(self, low: int, high: int) -> int:
        return int(self.rng.integers(low, high + 1))

    def one(self, *choices: Any) -> Any:
        return choices[self.int(0, len(choices) - 1)]

    def each(self, rank: int, low: int, high: int) -> Any:
        """One number, or one for each dimension."""
        if self.int(0, 2) == 0:
            return self.int(low, high)
        return tuple(self.int(low, high) for _ in range(rank))

    def image(self, rank: int, channels: int, low: int = 3, high: int = 7, batched: bool = True) -> np.ndarray:
        shape = (channels, *[self.int(low, high) for _ in range(rank)])
        shape = (self.int(1, 3), *shape) if batched or self.int(0, 3) else shape
        return self.rng.permutation(np.prod(shape)).reshape(shape) * 0.01 - 0.4

    def normal(self, *shape: int) -> np.ndarray:
        return self.rng.standard_normal(shape)


def convolution(d: Dice, rank: int) -> Any:
    groups = d.one(1, 1, 2)
    channels, out = groups * d.int(1, 2), groups * d.int(1, 2)
    weight = d.normal(out, channels // groups, *[d.int(1, 4) for _ in range(rank)])
    options = {"stride": d.each(rank, 1, 3), "dilation": d.each(rank, 1, 2), "groups": groups}
    options["padding"] = d.one("same", "valid", d.each(rank, 0, 3), d.each(rank, 0, 1))
    bias = d.one(None, d.normal(out))
    return [d.image(rank, channels, 3, 7, False), weight, bias], options


def transposed(d: Dice, rank: int) -> Any:
    groups = d.one(1, 1, 2)
    channels, out = groups * d.int(1, 2), d.int(1, 2)
    weight = d.normal(channels, out, *[d.int(1, 4) for _ in range(rank)])
    options = {"stride": d.each(rank, 1, 3), "dilation": d.each(rank, 1, 2), "groups": groups}
    options |= {"padding": d.each(rank, 0, 2), "output_padding": d.each(rank, 0, 1)}
    return [d.image(rank, channels, 1, 4, False), weight, d.one(None, d.normal(out * groups))], options


def max_pool(d: Dice, rank: int) -> Any:
    options = {"kernel_size": d.each(rank, 1, 4), "stride": d.one(None, d.each(rank, 1, 3))}
    options |= {"padding": d.each(rank, 0, 2), "dilation": d.each(rank, 1, 2), "ceil_mode": d.one(True, False)}
    return [d.image(rank, 2, 3, 8, False)], {**options, "return_indices": True}


def avg_pool(d: Dice, rank: int) -> Any:
    options = {"kernel_size": d.each(rank, 1, 4), "stride": d.one(None, d.each(rank, 1, 3))}
    options |= {"padding": d.each(rank, 0, 2), "ceil_mode": d.one(True, False)}
    options["count_include_pad"] = d.one(True, False)
    if rank > 1:
        options["divisor_override"] = d.one(None, None, d.int(1, 5))
    return [d.image(rank, 2, 4, 8, False)], options


def lp_pool(d: Dice, rank: int) -> Any:
    options = {"norm_type": d.one(2.0, 3.0), "kernel_size": d.each(rank, 1, 3)}
    return [abs(d.image(rank, 2)) + 0.1], {**options, "ceil_mode": d.one(True, False)}


def adaptive(d: Dice, rank: int) -> Any:
    return [d.image(rank, 2, 1, 8, False)], {"output_size": d.each(rank, 1, 5)}


def padding(d: Dice, rank: int) -> Any:
    mode = d.one("constant", "reflect", "replicate", "circular")
    low = 0 if mode == "circular" else d.one(0, 0, -1)
    return [d.image(rank, 2, 3, 5, False), [d.int(low, 3) for _ in range(2 * rank)], mode], {}


def resizing(d: Dice, rank: int) -> Any:
    mode = d.one(
        "nearest", "nearest-exact", "area", *{1: ("linear",), 2: ("bilinear", "bicubic"), 3: ("trilinear",)}[rank]
    )
    options: dict[str, Any] = {"mode": mode}
    if d.int(0, 1):
        options["size"] = d.each(rank, 1, 9)
    else:
        options["scale_factor"] = d.one(0.5, 0.7, 1.3, 2, 2.6, 3.0)
        options["recompute_scale_factor"] = d.one(None, True, False)
    if mode in ("linear", "bilinear", "bicubic", "trilinear"):
        options["align_corners"] = d.one(True, False, None)
        options["antialias"] = rank == 2 and "size" in options and d.int(0, 2) == 0
    return [d.image(rank, 2, 2 if options.get("antialias") else 1, 6)], options


def unfolding(d: Dice, rank: int) -> Any:
    options = {"kernel_size": d.each(2, 1, 3), "dilation": d.each(2, 1, 2)}
    return [d.image(2, 2, 3, 6, False)], {**options, "padding": d.each(2, 0, 2), "stride": d.each(2, 1, 3)}


def sampling(d: Dice, rank: int) -> Any:
    image = d.image(rank, 2, 1, 5)
    grid = d.normal(len(image), *[d.int(1, 4) for _ in range(rank)], rank) * 0.9
    options = {"padding_mode": d.one("zeros", "border", "reflection"), "align_corners": d.one(True, False)}
    return [image, grid], {"mode": d.one("bilinear", "nearest", "bicubic"), **options}


CALLS: dict[str, tuple[Callable[[Dice, int], Any], int]] = {
    **{f"conv{n}d": (convolution, n) for n in (1, 2, 3)},
    **{f"conv_transpose{n}d": (transposed, n) for n in (1, 2, 3)},
    **{f"max_pool{n}d": (max_pool, n) for n in (1, 2, 3)},
    **{f"avg_pool{n}d": (avg_pool, n) for n in (1, 2, 3)},
    **{f"lp_pool{n}d": (lp_pool, n) for n in (1, 2, 3)},
    **{f"adaptive_{kind}_pool{n}d": (adaptive, n) for kind in ("avg", "max") for n in (1, 2, 3)},
    "pad 1": (padding, 1),
    "pad 2": (padding, 2),
    "pad 3": (padding, 3),
    "interpolate 1": (resizing, 1),
    "interpolate 2": (resizing, 2),
    "interpolate 3": (resizing, 3),
    "unfold": (unfolding, 2),
    "grid_sample 2": (sampling, 2),
    "grid_sample 3": (sampling, 3),
}


def outcome(library: Any, name: str, args: list[Any], options: dict[str, Any]) -> Any:
    """Results and gradients, or the class of error."""
    tensors = [library.from_numpy(a.copy()).requires_grad_() if isinstance(a, np.ndarray) else a for a in args]
    leaves = [t for t in tensors if hasattr(t, "requires_grad")]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            results = getattr(library.nn.functional, name.split()[0])(*tensors, **options)
            results = list(results) if isinstance(results, tuple) else [results]
            weights = np.cos(np.arange(results[0].numel())).reshape(tuple(results[0].shape))
            found = library.autograd.grad((results[0] * library.from_numpy(weights)).sum(), leaves)
        except Exception as error:
            return error
    return [t.detach().numpy() for t in (*results, *found)]


@pytest.mark.parametrize("name", CALLS)
def test_random_arguments_give_what_torch_gives(name):
    draw, rank = CALLS[name]
    valid = 0
    for seed in range(25):
        args, options = draw(Dice(seed), rank)
        theirs, ours = outcome(torch, name, args, options), outcome(rlgrad, name, args, options)
        case = f"{[getattr(a, 'shape', a) for a in args]} {options}: {theirs!s:.300} {ours!s:.300}"
        if isinstance(theirs, Exception):
            kind = RuntimeError if isinstance(theirs, RuntimeError) else type(theirs)
            assert isinstance(ours, kind), case
            continue
        assert not isinstance(ours, Exception), case
        valid += 1
        for mine, other in zip(ours, theirs, strict=True):
            assert mine.shape == other.shape, case
            np.testing.assert_allclose(mine, other, rtol=1e-7, atol=1e-9, err_msg=case)
    assert valid >= 5
