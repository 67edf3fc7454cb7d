"""Hooks on several tensors: called in the same passes and with the same gradients as PyTorch's."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import pytest

import rlgrad
from rlgrad.autograd.graph import Node
from rlgrad.autograd.modes import modes

torch = pytest.importorskip("torch")


def leaves(t: Any) -> tuple[Any, Any, Any]:
    return tuple(t.full((2,), float(i), requires_grad=True) for i in (1, 2, 3))


def values(grads: Any) -> Any:
    return [None if g is None else g.tolist() for g in grads]


def some_unused(t: Any, log: list[Any]) -> None:
    a, b, c = leaves(t)
    t.autograd.graph.register_multi_grad_hook((a, b, c), lambda grads: log.append(values(grads)))
    (a * b * 2).sum().backward()
    (a * b + c).sum().backward()


def restricted(t: Any, log: list[Any]) -> None:
    a, b, _ = leaves(t)
    t.autograd.graph.register_multi_grad_hook((a, b), lambda grads: log.append(values(grads)))
    (a * b).sum().backward(inputs=[a])


def removed(t: Any, log: list[Any]) -> None:
    a, b, _ = leaves(t)
    with t.autograd.graph.register_multi_grad_hook((a, b), lambda grads: log.append(values(grads))):
        (a * b).sum().backward()
    (a * b).sum().backward()


def first(t: Any, log: list[Any]) -> None:
    a, b, c = leaves(t)
    t.autograd.graph.register_multi_grad_hook((a, b, c), lambda grad: log.append(grad.tolist()), mode="any")
    for y in (a * 2, c * 3):
        y.sum().backward()


def intermediate(t: Any, log: list[Any]) -> None:
    a, b, _ = leaves(t)
    y, z = a * 2, b * 3
    t.autograd.graph.register_multi_grad_hook((y, z), lambda grads: log.append(values(grads)))
    (y * z).sum().backward(retain_graph=True)
    y.sum().backward()


def several_outputs(t: Any, log: list[Any]) -> None:
    a, _, _ = leaves(t)
    y, z = (a * 2).unbind()
    t.autograd.graph.register_multi_grad_hook((y, z, a), lambda grads: log.append(values(grads)))
    (y * z).backward()


def twice_the_same(t: Any, log: list[Any]) -> None:
    a, _, _ = leaves(t)
    t.autograd.graph.register_multi_grad_hook((a, a), lambda grads: log.append(values(grads)))
    (a * 2).sum().backward()


def backward_inside_backward(t: Any, log: list[Any]) -> None:
    a, b, c = leaves(t)
    t.autograd.graph.register_multi_grad_hook((a, b), lambda grads: log.append(values(grads)))
    y = a * b
    y.register_hook(lambda grad: (c * 2).sum().backward())
    y.sum().backward()
    log.append(c.grad.tolist())


def wrong_mode(t: Any, log: list[Any]) -> None:
    t.autograd.graph.register_multi_grad_hook(leaves(t), print, mode="some")


def a_constant(t: Any, log: list[Any]) -> None:
    t.autograd.graph.register_multi_grad_hook((*leaves(t), t.ones(1)), print)


def none_at_all(t: Any, log: list[Any]) -> None:
    t.autograd.graph.register_multi_grad_hook((), print).remove()


PROGRAMS = [
    some_unused, restricted, removed, first, intermediate, several_outputs, twice_the_same, backward_inside_backward,
    wrong_mode, a_constant, none_at_all,
]  # fmt: skip


def run(library: Any, program: Callable[[Any, list[Any]], None]) -> list[Any]:
    log: list[Any] = []
    try:
        program(library, log)
    except Exception as error:
        log.append(type(error).__name__)
    return log


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_a_program_with_joint_hooks_logs_what_torch_logs(program: Callable[[Any, list[Any]], None]) -> None:
    assert run(rlgrad, program) == run(torch, program)


def test_gradients_asked_for_by_grad_are_seen_too() -> None:
    a, b, _ = leaves(rlgrad)
    log: list[Any] = []
    rlgrad.autograd.graph.register_multi_grad_hook((a, b), lambda grads: log.append(values(grads)))
    rlgrad.autograd.grad((a * b).sum(), [a])
    assert log == [[[2.0, 2.0], None]]


def test_a_failed_pass_leaves_nothing_behind():
    x = rlgrad.ones(2, requires_grad=True)

    def fail(grad):
        raise KeyError("stop")

    y = x.exp()
    y.register_hook(fail)
    with rlgrad.autograd.graph.register_multi_grad_hook([x], print), pytest.raises(KeyError):
        y.sum().backward()
    assert modes.running is None


def test_the_graph_of_a_pass_is_freed_though_the_hook_stays():
    x = rlgrad.ones(2, requires_grad=True)
    with rlgrad.autograd.graph.register_multi_grad_hook([x], lambda grads: None):
        x.exp().sum().backward()
        kinds = [type(thing).__name__ for thing in gc.get_objects() if isinstance(thing, Node)]
    assert "ExpBackward0" not in kinds
