"""Runs a tutorial program as it is printed, with only its import changed."""

import contextlib
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

Run = Callable[..., dict[str, Any]]


@pytest.fixture
def run() -> Run:
    """``run(program, **names)``: execute a program's text under rlgrad and give what it defined.

    What the program prints is found under ``"printed"``, one tuple of arguments for each call.
    """

    def execute(program: str, library: str = "rlgrad", **names: Any) -> dict[str, Any]:
        if library == "rlgrad":
            program = program.replace("import torch\n", "import rlgrad as torch\n").replace("from torch", "from rlgrad")
        printed: list[tuple[Any, ...]] = []
        namespace = {"__name__": "program", "print": lambda *args: printed.append(args), "printed": printed, **names}
        exec(compile(program, "<program>", "exec"), namespace)
        return namespace

    return execute


@contextlib.contextmanager
def _same_numbers(library: Any, seed: int) -> Iterator[None]:
    """Let ``randn`` and new linear layers take their numbers from one NumPy stream."""
    rng = np.random.default_rng(seed)
    random.seed(seed)

    def randn(*size: int, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Any:
        values = library.from_numpy(rng.standard_normal(size).astype(np.float32))
        return values.requires_grad_(requires_grad)

    def reset_parameters(layer: Any) -> None:
        for parameter in layer.parameters():
            bound = layer.in_features**-0.5
            values = rng.uniform(-bound, bound, tuple(parameter.shape)).astype(np.float32)
            with library.no_grad():
                parameter.copy_(library.from_numpy(values))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(library, "randn", randn)
        patch.setattr(library.nn.Linear, "reset_parameters", reset_parameters)
        yield


@pytest.fixture
def run_in_both(run: Run) -> Callable[..., tuple[dict[str, Any], dict[str, Any]]]:
    """Run a program under rlgrad and under torch, fed the same random numbers."""
    torch = pytest.importorskip("torch")
    import rlgrad

    def execute(program: str, **names: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        with _same_numbers(rlgrad, 0):
            ours = run(program, **names)
        with _same_numbers(torch, 0):
            theirs = run(program, library="torch", **names)
        return ours, theirs

    return execute
