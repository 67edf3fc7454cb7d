"""The ops on CuPy: without a GPU, that its namespace has all they use; with one, that values and gradients are NumPy's."""

from __future__ import annotations

import ast
import importlib
import inspect
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rlgrad
from rlgrad.autograd.registry import REGISTRY

from .samples import SAMPLES, Maker
from .test_every_function import fill, ours, outputs

FOLDERS = [Path(rlgrad.__file__).parent / part for part in ("autograd/ops", "backend/kernels")]
MODULES = ("linalg", "random", "lib", "fft")


def dotted(node: ast.AST) -> str | None:
    """``xp.linalg.norm`` as ``linalg.norm``."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join(reversed(parts)) if isinstance(node, ast.Name) and node.id == "xp" and parts else None


def uses() -> dict[str, set[str]]:
    """Every function that the ops take from their array library, with the keywords they give it."""
    found: dict[str, set[str]] = {op.ufunc: set() for op in REGISTRY.values() if op.ufunc}
    for path in sorted(path for folder in FOLDERS for path in folder.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and (name := dotted(node.func)):
                found.setdefault(name, set()).update(k.arg for k in node.keywords if k.arg)
            elif isinstance(node, ast.Attribute) and (name := dotted(node)):
                found.setdefault(name, set())
    return found


def lookup(module: Any, name: str) -> Any:
    for part in name.split("."):
        module = getattr(module, part, None)
    return module


def test_cupy_has_every_function_and_keyword_that_the_ops_use() -> None:
    cupy = pytest.importorskip("cupy")
    importlib.import_module("cupy.linalg")
    missing = []
    for name, keywords in uses().items():
        function = lookup(cupy, name)
        if function is None:
            missing.append(name)
            continue
        if not keywords or isinstance(function, type) or "ufunc" in type(function).__name__:
            continue
        try:
            parameters = inspect.signature(function).parameters
        except (TypeError, ValueError):
            continue
        if not any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
            missing += [f"{name}({keyword}=)" for keyword in sorted(keywords - set(parameters))]
    assert missing == []


def test_the_functions_that_the_ops_use_are_found() -> None:
    found = uses()
    assert {"exp", "add", "concatenate"} <= set(found)
    assert len(found) > 60


def derivatives(outputs: list[Any], inputs: list[Any]) -> tuple[Any, Any]:
    """Gradients of the outputs' sum, and of the sum of those gradients' squares."""
    first = rlgrad.autograd.grad(
        outputs, inputs, [y.detach() * 0 + 1 for y in outputs], create_graph=True, allow_unused=True
    )
    squares = [(g * g).sum() for g in first if g is not None and g.requires_grad]
    return first, rlgrad.autograd.grad(squares, inputs, allow_unused=True) if squares else ()


@pytest.mark.gpu
@pytest.mark.parametrize("name", SAMPLES)
def test_values_and_gradients_on_the_gpu_are_those_on_the_cpu(name: str) -> None:
    function = ours(name)
    for sample in SAMPLES[name](Maker()):
        results = []
        for target in ("cpu", "cuda"):
            args, kwargs, leaves = fill(rlgrad, sample)
            moved = {id(leaf): leaf.detach().to(target).requires_grad_() for leaf in leaves}
            convert = lambda x, m=moved, t=target: (  # noqa: E731
                m.get(id(x), x.to(t) if isinstance(x, rlgrad.Tensor) else x)
                if not isinstance(x, list)
                else [m.get(id(y), y) for y in x]
            )
            found = outputs(function(*[convert(a) for a in args], **{k: convert(v) for k, v in kwargs.items()}))
            tensors = [y for y in found if isinstance(y, rlgrad.Tensor)]
            wanted = [y for y in tensors if y.requires_grad]
            inputs = list(moved.values())
            first, second = derivatives(wanted, inputs) if wanted and inputs else ((), ())
            results.append([None if t is None else t.numpy(force=True) for t in [*tensors, *first, *second]])
            assert all(y.is_cuda == (target == "cuda") for y in tensors)
        for a, b in zip(*results, strict=True):
            assert (a is None) == (b is None)
            if a is not None:
                np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9, equal_nan=True)


@pytest.mark.gpu
@pytest.mark.skipif("RLGRAD_CUPY_STAND_IN" in os.environ, reason="a stand-in has no streams")
def test_streams_events_and_memory_statistics_answer() -> None:
    cuda = rlgrad.cuda
    stream, start, end = cuda.Stream(), cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
    cuda.reset_peak_memory_stats()
    with cuda.device(0), cuda.stream(stream):
        assert cuda.current_stream() == stream
        start.record()
        x = rlgrad.ones(1000, 1000, device="cuda")
        y = (x @ x).sum()
        end.record()
    stream.synchronize()
    assert y.item() == 1e9
    assert start.elapsed_time(end) > 0
    assert cuda.memory_allocated() >= 4_000_000
    assert cuda.max_memory_allocated() >= cuda.memory_allocated() > 0
    assert cuda.get_device_name()
    assert x.to("cpu", non_blocking=True).sum().item() == 1e6
