"""Every public function beside torch: the ratio of times at three sizes, forward alone and with backward.

Run with ``python -m benchmarks.ops [--sizes 32 4096 1000000] [--only NAME ...] [--seconds 0.002] [--cpu] [--numpy]``. A
ratio of 2 says that torch takes twice as long. The samples of the tests are enlarged to the wanted number of elements;
functions that do not take the enlarged ones are named at the end.

``--cpu`` measures CPU time, which a busy machine disturbs less. ``--numpy`` measures, beside torch and rlgrad, NumPy
itself where a single call of it computes the same: the forward passes of a library over NumPy cannot be faster, so the
ratio of torch to NumPy bounds ours, and what lies between the two is the price of the tensor and the recorded node.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.numpy_counterparts import numpy_program
from benchmarks.timing import interleaved

Clock = Callable[[], float]


class Measured(NamedTuple):
    """Torch's time over that of others, NaN where there is nothing to measure.

    Attributes:
        forward, both: over ours, without and with backward.
        bound: over NumPy's for the forward pass.
        price: our time less NumPy's for it, in seconds.
    """

    forward: float
    both: float
    bound: float
    price: float


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
    name: str, functions: tuple[Any, Any], size: int, seconds: float, samples: Any, clock: Clock, beside_numpy: bool
) -> Measured | None:
    """Torch's time beside ours, and NumPy's if asked for, for the first sample that can be enlarged."""
    import torch

    import rlgrad

    for sample in samples.SAMPLES[name](samples.Maker()):
        try:
            big = enlarged(sample, size if size <= 256 else fitting(functions[0], sample, size, samples), samples)
            if big is None:
                continue
            ratios, bound, price = [], math.nan, math.nan
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
                candidates = {"ours": pair[0], "torch": pair[1]}
                bare = numpy_program(name, big, pair[1]()) if beside_numpy and not backward else None
                if bare is not None:
                    candidates["numpy"] = bare
                times = interleaved(candidates, repeats=repeats, target=seconds, clock=clock)
                ratios.append(times["torch"] / times["ours"])
                if bare is not None:
                    bound, price = times["torch"] / times["numpy"], times["ours"] - times["numpy"]
            return Measured(ratios[0], ratios[1], bound, price)
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


def print_bound(table: dict[str, Measured]) -> None:
    """Print how near the forward passes come to what NumPy allows."""
    known = {name: found for name, found in table.items() if not math.isnan(found.bound)}
    bound, ours = (geometric_mean([found[k] for found in known.values()]) for k in (2, 0))
    price = statistics.median(found.price for found in known.values()) * 1e6 if known else math.nan
    print(
        f"  forward of the {len(known)} functions that are one call of NumPy: torch over NumPy {bound:.2f}, over ours "
        f"{ours:.2f}; ours takes {price:.2f} microseconds more than NumPy (median)"
    )
    below = sorted((name for name, found in known.items() if found.bound < 1), key=lambda name: known[name].bound)
    print(f"    {len(below)} of them take NumPy longer than torch: {', '.join(below)}")


def print_table(table: dict[str, Measured], columns: int = 3) -> None:
    """Print the ratios of every function in alphabetical order, column after column."""
    bounded = any(not math.isnan(found.bound) for found in table.values())
    cells = [
        f"{name:<32.32} {forward:5.2f} {both:5.2f}" + (f" {bound:5.2f}".replace("nan", "   ") if bounded else "")
        for name, (forward, both, bound, _) in sorted(table.items())
    ]
    rows = -(-len(cells) // columns)
    print("  every function, forward and with backward" + (", forward in NumPy:" if bounded else ":"))
    for row in range(rows):
        print("    " + "   ".join(cells[row::rows]))


def main() -> None:
    import torch

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(GOALS))
    parser.add_argument("--only", nargs="+", help="names of functions")
    parser.add_argument("--seconds", type=float, default=0.002, help="how long one turn of a candidate lasts")
    parser.add_argument("--cpu", action="store_true", help="measure CPU time, for a busy machine")
    parser.add_argument("--numpy", action="store_true", help="measure NumPy too where one call of it does the same")
    options = parser.parse_args()
    clock = time.process_time if options.cpu else time.perf_counter
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    samples = load_samples()
    names = [name for name in samples.SAMPLES if not options.only or name in options.only]
    skipped: list[str] = []
    for size in options.sizes:
        table: dict[str, Measured] = {}
        for name in names:
            functions = named(name)
            found = (
                measure(name, functions, size, options.seconds, samples, clock, options.numpy) if functions else None
            )
            if found is None:
                skipped.append(f"{name} ({size})")
            else:
                table[name] = found
        print(f"\n{size} elements: torch's time over ours, {len(table)} functions")
        for position, what in enumerate(("forward", "forward and backward")):
            ratios = {name: found[position] for name, found in table.items() if not math.isnan(found[position])}
            slowest = sorted(ratios, key=lambda name: ratios[name])[:10]
            goal = f" (goal {GOALS[size]})" if size in GOALS else ""
            print(f"  {what}: geometric mean {geometric_mean(list(ratios.values())):.2f}{goal}")
            print("    slowest: " + ", ".join(f"{name} {ratios[name]:.2f}" for name in slowest))
        if options.numpy:
            print_bound(table)
        print_table(table)
    if skipped:
        print("\nnot measured: " + ", ".join(skipped))


if __name__ == "__main__":
    main()
