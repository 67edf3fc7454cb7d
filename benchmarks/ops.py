"""Every public function beside torch: the ratio of times at three sizes, forward alone and with backward.

Run with ``python -m benchmarks.ops [--sizes 32 4096 1000000] [--only NAME ...] [--seconds 0.002]``. A ratio of 2 says that
torch takes twice as long. The samples of the tests are enlarged to the wanted number of elements; functions that do not
take the enlarged ones are named at the end.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.timing import interleaved

GOALS = {32: 1.5, 4096: 0.8, 1_000_000: 0.5}


def load_samples() -> Any:
    """The tests' samples, which belong to no installed package."""
    folder = Path(__file__).parent.parent / "tests" / "autograd"
    package = type(sys)("autograd_samples")
    package.__path__ = [str(folder)]  # the sample files import one another
    sys.modules["autograd_samples"] = package
    spec = importlib.util.spec_from_file_location("autograd_samples.samples", folder / "samples.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def enlarged(sample: Any, size: int, samples: Any) -> Any:
    """A sample whose largest floating array has about ``size`` elements and the others grow alike.

    All extents of one length grow by the same factor, so that the shapes still fit together; lengths up to the number
    that makes the largest array big enough are tried in turn.
    """
    args, kwargs = sample
    arrays = [a for a in _arrays((args, kwargs), samples) if a.ndim and a.size]
    if not arrays:
        return None
    largest = max(arrays, key=lambda a: a.size)
    target = max(largest.shape)
    count = sum(1 for n in largest.shape if n == target)
    rest = largest.size / target**count
    length = max(round((size / rest) ** (1 / count)), 1)

    def grow(value: Any) -> Any:
        if isinstance(value, samples.Constant):
            return samples.Constant(grow(value.array))
        if isinstance(value, np.ndarray):
            shape = tuple(length if n == target else n for n in value.shape)
            return np.resize(value, shape) if value.size else value
        if isinstance(value, list) and value and isinstance(value[0], np.ndarray):
            return [grow(v) for v in value]
        return value

    return tuple(grow(a) for a in args), {k: grow(v) for k, v in kwargs.items()}


def _arrays(value: Any, samples: Any) -> list[np.ndarray]:
    if isinstance(value, samples.Constant):
        return [value.array]
    if isinstance(value, np.ndarray):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [a for v in value for a in _arrays(v, samples)]
    return []


def program(library: Any, function: Callable[..., Any], sample: Any, backward: bool, samples: Any) -> Any:
    """A call of no arguments that runs the function, and its backward if wanted; ``None`` where there is no gradient."""
    leaves: list[Any] = []

    def convert(value: Any) -> Any:
        if isinstance(value, samples.Constant):
            return library.from_numpy(value.array.astype(np.float32))
        if isinstance(value, np.ndarray):
            tensor = library.from_numpy(value.astype(np.float32) if value.dtype.kind == "f" else value.copy())
            if value.dtype.kind == "f":
                leaves.append(tensor.requires_grad_())
            return tensor
        if isinstance(value, list) and value and isinstance(value[0], np.ndarray):
            return [convert(v) for v in value]
        return value

    args, kwargs = [convert(a) for a in sample[0]], {k: convert(v) for k, v in sample[1].items()}
    if not backward:
        return lambda: function(*args, **kwargs)
    result = function(*args, **kwargs)
    several = isinstance(result, (tuple, list))
    chosen = [i for i, y in enumerate(result if several else [result]) if getattr(y, "requires_grad", False)]
    if not chosen:
        return None
    seeds = [((result[i] if several else result).detach() * 0 + 1) for i in chosen]

    def both() -> None:
        found = function(*args, **kwargs)
        roots = [found[i] for i in chosen] if several else [found]
        library.autograd.backward(roots, seeds)
        for leaf in leaves:
            leaf.grad = None

    return both


def measure(
    name: str, functions: tuple[Any, Any], size: int, seconds: float, samples: Any
) -> tuple[float, float] | None:
    """Torch's time over ours for the first sample that can be enlarged, forward and with backward (NaN without)."""
    import torch

    import rlgrad

    for sample in samples.SAMPLES[name](samples.Maker()):
        try:
            big = enlarged(sample, size if size <= 256 else fitting(functions[0], sample, size, samples), samples)
            if big is None:
                continue
            ratios = []
            for backward in (False, True):
                pair = [
                    program(library, function, big, backward, samples)
                    for library, function in zip((rlgrad, torch), functions, strict=True)
                ]
                if None in pair:
                    ratios.append(math.nan)
                    continue
                start = time.perf_counter()
                pair[0]()
                repeats = 5 if time.perf_counter() - start < 0.05 else 1
                times = interleaved({"ours": pair[0], "torch": pair[1]}, repeats=repeats, target=seconds)
                ratios.append(times["torch"] / times["ours"])
            return ratios[0], ratios[1]
        except Exception:
            continue
    return None


def named(name: str) -> tuple[Any, Any] | None:
    """The function of this name here and in torch."""
    import torch

    import rlgrad

    places = [
        (rlgrad.nn.functional, rlgrad, getattr(rlgrad, "linalg", rlgrad), rlgrad.Tensor),
        (torch.nn.functional, torch, torch.linalg, torch.Tensor),
    ]
    found = [next((getattr(p, name) for p in place if hasattr(p, name)), None) for place in places]
    return None if None in found else (found[0], found[1])


def fitting(function: Callable[..., Any], sample: Any, size: int, samples: Any) -> int:
    """How many elements the inputs may have so that the outputs, which may grow faster, have about ``size``."""
    import rlgrad

    counts = []
    for probe in (32, 256):
        big = enlarged(sample, probe, samples)
        result = program(rlgrad, function, big, False, samples)() if big is not None else 0
        tensors = result if isinstance(result, (tuple, list)) else [result]
        counts.append(max([t.numel() for t in tensors if isinstance(t, rlgrad.Tensor)], default=1))
    power = math.log(max(counts[1], 1) / max(counts[0], 1)) / math.log(8)
    if power <= 0 or counts[1] * (size / 256) ** power <= 4 * size:
        return size
    return max(int(256 * (size / counts[1]) ** (1 / power)), 1)


def geometric_mean(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def print_table(table: dict[str, tuple[float, float]], columns: int = 3) -> None:
    """Print both ratios of every function in alphabetical order, column after column."""
    cells = [f"{name:<32.32} {forward:5.2f} {both:5.2f}" for name, (forward, both) in sorted(table.items())]
    rows = -(-len(cells) // columns)
    print("  every function, forward and with backward:")
    for row in range(rows):
        print("    " + "   ".join(cells[row::rows]))


def main() -> None:
    import torch

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(GOALS))
    parser.add_argument("--only", nargs="+", help="names of functions")
    parser.add_argument("--seconds", type=float, default=0.002, help="how long one turn of a candidate lasts")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    samples = load_samples()
    names = [name for name in samples.SAMPLES if not options.only or name in options.only]
    skipped: list[str] = []
    for size in options.sizes:
        table: dict[str, tuple[float, float]] = {}
        for name in names:
            functions = named(name)
            found = measure(name, functions, size, options.seconds, samples) if functions else None
            if found is None:
                skipped.append(f"{name} ({size})")
            else:
                table[name] = found
        print(f"\n{size} elements: torch's time over ours, {len(table)} functions")
        for position, what in enumerate(("forward", "forward and backward")):
            ratios = {name: pair[position] for name, pair in table.items() if not math.isnan(pair[position])}
            slowest = sorted(ratios, key=lambda name: ratios[name])[:10]
            goal = f" (goal {GOALS[size]})" if size in GOALS else ""
            print(f"  {what}: geometric mean {geometric_mean(list(ratios.values())):.2f}{goal}")
            print("    slowest: " + ", ".join(f"{name} {ratios[name]:.2f}" for name in slowest))
        print_table(table)
    if skipped:
        print("\nnot measured: " + ", ".join(skipped))


if __name__ == "__main__":
    main()
