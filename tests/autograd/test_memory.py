"""Memory goes without the garbage collector, arrays go as the walk passes them, and no graph is too long."""

from __future__ import annotations

import gc
import threading
import tracemalloc
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rlgrad

PAGE = 4096


@pytest.fixture(autouse=True)
def no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def resident() -> int:
    """Bytes of physical memory that this process holds."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE


def mlp() -> Callable[[], None]:
    net = rlgrad.nn.Sequential(rlgrad.nn.Linear(4, 16), rlgrad.nn.Tanh(), rlgrad.nn.Linear(16, 2))
    optimizer = rlgrad.optim.Adam(net.parameters(), lr=1e-3)
    x, y = rlgrad.randn(8, 4), rlgrad.randn(8, 2)

    def step() -> None:
        optimizer.zero_grad()
        ((net(x) - y) ** 2).mean().backward()
        optimizer.step()

    return step


def wgan_gp() -> Callable[[], None]:
    net = rlgrad.nn.Sequential(rlgrad.nn.Linear(2, 8), rlgrad.nn.Tanh(), rlgrad.nn.Linear(8, 1))
    optimizer = rlgrad.optim.Adam(net.parameters(), lr=1e-3)
    real, fake = rlgrad.randn(4, 2), rlgrad.randn(4, 2)

    def step() -> None:
        optimizer.zero_grad()
        between = (real * 0.3 + fake * 0.7).requires_grad_()
        (slope,) = rlgrad.autograd.grad(net(between).sum(), between, create_graph=True)
        penalty = ((slope.square().sum(1).sqrt() - 1) ** 2).mean()
        (net(fake).mean() - net(real).mean() + 10 * penalty).backward()
        optimizer.step()

    return step


def view_and_in_place() -> Callable[[], None]:
    w = rlgrad.ones(6, requires_grad=True)

    def step() -> None:
        base = w * 2
        view = base.reshape(2, 3)[0]
        view.mul_(3)
        base[4:] = view[:2]
        view.add_(base.sum())
        base.sum().backward()
        w.grad = None

    return step


LOOPS = {"mlp": mlp, "wgan-gp": wgan_gp, "view and in-place": view_and_in_place}


@pytest.mark.parametrize("name", LOOPS)
def test_a_step_leaves_no_garbage(name: str) -> None:
    step = LOOPS[name]()
    step()
    gc.collect()
    for _ in range(5):
        step()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        gc.collect()
        found = [type(x).__name__ for x in gc.garbage]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
    assert found == []


@pytest.mark.slow
@pytest.mark.parametrize("name", LOOPS)
def test_resident_memory_stays_flat_over_ten_thousand_steps(name: str) -> None:
    step = LOOPS[name]()
    for _ in range(500):
        step()
    before = resident()
    for _ in range(10_000):
        step()
    assert resident() - before < 2**20


@pytest.mark.slow
def test_a_chain_of_a_million_nodes_differentiates_and_is_freed() -> None:
    x = rlgrad.ones((), requires_grad=True)
    y = x
    for _ in range(1_000_000):
        y = y + 1.0
    y.backward()
    assert x.grad.item() == 1.0
    top = weakref.ref(y.grad_fn)
    del y
    assert top() is None


def test_long_chains_of_every_kind_of_node_are_freed_without_recursion() -> None:
    class Same(rlgrad.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g

    steps: list[tuple[int, Callable[[Any], Any]]] = [
        (2_000, lambda t: t.reshape(2)),
        (2_000, lambda t: t.unbind(0)[0].expand(2)),
        (50_000, lambda t: t.mul_(1.0)),
        (50_000, Same.apply),
        (50_000, lambda t: t.tanh()),
    ]
    for length, step in steps:
        x = rlgrad.ones(2, requires_grad=True)
        y = x * 1
        for _ in range(length):
            y = step(y)
        y.sum().backward()
        assert x.grad is not None
        assert x.grad.isfinite().all()
        assert x.grad[0] > 0
        top = weakref.ref(y.grad_fn)
        del y
        assert top() is None


def test_a_long_chain_through_a_base_that_is_written_through_views_is_freed() -> None:
    x = rlgrad.ones(2, requires_grad=True)
    base = x * 1
    for _ in range(20_000):
        base[0].mul_(1.0)
    base.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [1.0, 1.0]
    top = weakref.ref(base.grad_fn)
    del base
    assert top() is None


def peak(run: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_saved_arrays_are_freed_as_the_walk_passes_them() -> None:
    size, depth = 100_000, 20
    x = rlgrad.ones(size, requires_grad=True)

    def forward() -> Any:
        y = x
        for _ in range(depth):
            y = y.tanh()
        return y.sum()

    def training() -> None:
        forward().backward()

    array = size * 4
    assert peak(forward) > depth * array * 0.9
    assert peak(training) < (depth + 6) * array
    x.grad = None
    loss = forward()
    parts = [weakref.ref(node) for node in rlgrad.autograd.graph.nodes(loss)]
    loss.backward()
    from rlgrad.autograd.graph import FREED

    saved = [node().saved for node in parts if node() is not None and node().name() == "TanhBackward0"]
    assert len(saved) == depth
    assert all(values is FREED for values in saved)


def test_two_threads_train_and_share_leaves_at_once() -> None:
    shared = rlgrad.ones(50, dtype=rlgrad.float64, requires_grad=True)
    failures: list[BaseException] = []
    rounds, workers = 200, 4

    def work(number: int) -> None:
        try:
            own = rlgrad.ones(50, dtype=rlgrad.float64, requires_grad=True)
            for k in range(rounds):
                with rlgrad.no_grad() if k % 3 == number % 3 else rlgrad.enable_grad():
                    assert (own * 2).requires_grad == (k % 3 != number % 3)
                y = (shared * own).tanh().sum() + (shared * 2).sum()
                y.backward()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    each = 2 + 1 - np.tanh(1.0) ** 2
    np.testing.assert_allclose(shared.grad.numpy(), each * rounds * workers)
