"""Loss scaling step by step beside PyTorch's, and autocast that says that it does nothing."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import pytest

import rlgrad

torch = pytest.importorskip("torch")


def trained(t: Any, slopes: Sequence[list[float]], unscale: bool) -> list[Any]:
    """Parameters, scale and state after each step with these gradients."""
    p = t.nn.Parameter(t.ones(2))
    optimizer = t.optim.SGD([p], lr=0.1)
    scaler = t.amp.GradScaler("cpu", init_scale=4.0, growth_interval=2)
    seen = []
    for slope in slopes:
        optimizer.zero_grad()
        scaler.scale((p * t.tensor(slope)).sum()).backward()
        if unscale:
            scaler.unscale_(optimizer)
            seen.append(p.grad.tolist())
        scaler.step(optimizer)
        scaler.update()
        seen.append((p.tolist(), scaler.get_scale(), scaler.state_dict()))
    return seen


@pytest.mark.parametrize("unscale", [False, True])
def test_scaled_training_is_torchs(unscale: bool) -> None:
    slopes = [[1.0, 2.0], [1.0, float("inf")], [1.0, 1.0], [2.0, 1.0], [1.0, float("-inf")], [1.0, 1.0]]
    assert str(trained(rlgrad, slopes, unscale)) == str(trained(torch, slopes, unscale))


CALLS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "step before scale": lambda t, s, o: s.step(o),
    "update before scale": lambda t, s, o: s.update(),
    "unscale before scale": lambda t, s, o: s.unscale_(o),
    "scale of a number": lambda t, s, o: s.scale(3.0),
    "scale of a list": lambda t, s, o: [x.item() for x in s.scale([t.tensor(1.0), t.tensor(2.0)])],
    "unscale twice": lambda t, s, o: (s.scale(t.ones(1)), s.unscale_(o), s.unscale_(o)),
    "step twice": lambda t, s, o: (s.scale(t.ones(1)), s.step(o), s.step(o)),
    "unscale after step": lambda t, s, o: (s.scale(t.ones(1)), s.step(o), s.unscale_(o)),
    "update without step": lambda t, s, o: (s.scale(t.ones(1)), s.update()),
    "new scale": lambda t, s, o: (s.scale(t.ones(1)), s.update(8.0), s.get_scale())[-1],
    "new scale as a tensor": lambda t, s, o: (s.scale(t.ones(1)), s.update(t.tensor(3.0)), s.get_scale())[-1],
    "no gradients": lambda t, s, o: (s.scale(t.ones(1)), s.step(t.optim.SGD([t.ones(1, requires_grad=True)], 0.1))),
    "closure": lambda t, s, o: (s.scale(t.ones(1)), s.step(o, closure=lambda: 1)),
    "empty state": lambda t, s, o: s.load_state_dict({}),
    "state": lambda t, s, o: (
        s.load_state_dict({**s.state_dict(), "scale": 2.0, "_growth_tracker": 1}),
        s.state_dict(),
    )[1],
    "growth of one": lambda t, s, o: t.amp.GradScaler("cpu", growth_factor=1.0),
    "backoff of one": lambda t, s, o: t.amp.GradScaler("cpu", backoff_factor=1.0),
    "disabled": lambda t, s, o: (lambda d: (d.scale(3), d.get_scale(), d.state_dict(), d.is_enabled(), d.update()))(
        t.amp.GradScaler("cpu", enabled=False)
    ),
    "autocast of a number": lambda t, s, o: t.autocast(3),
    "autocast on no device": lambda t, s, o: t.autocast("toaster"),
    "autocast, disabled": lambda t, s, o: t.autocast("cpu", enabled=False)(lambda x: x + 1)(1),
    "nothing is cast": lambda t, s, o: t.is_autocast_enabled(),
}


@pytest.mark.parametrize("name", list(CALLS))
def test_a_call_gives_what_torch_gives(name: str) -> None:
    found = []
    for t in (rlgrad, torch):
        p = t.nn.Parameter(t.ones(2))
        p.grad = t.ones(2)
        try:
            found.append(str(CALLS[name](t, t.amp.GradScaler("cpu", init_scale=4.0), t.optim.SGD([p], lr=0.1))))
        except Exception as error:
            found.append(type(error).__name__)
    assert found[0] == found[1]


def test_half_precision_gradients_are_refused() -> None:
    p = rlgrad.nn.Parameter(rlgrad.ones(2, dtype=rlgrad.float16))
    p.grad = rlgrad.ones(2, dtype=rlgrad.float16)
    scaler = rlgrad.amp.GradScaler("cpu")
    scaler.scale(rlgrad.ones(1))
    with pytest.raises(ValueError, match="FP16"):
        scaler.step(rlgrad.optim.SGD([p], lr=0.1))


def test_autocast_warns_and_computes_as_it_stands() -> None:
    with pytest.warns(UserWarning, match="disabled"), rlgrad.autocast("cpu"):
        assert (rlgrad.ones(2, 2) @ rlgrad.ones(2, 2)).dtype is rlgrad.float32
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rlgrad.autocast("cuda", enabled=False)
        rlgrad.cuda.amp.autocast(enabled=False)


@pytest.mark.skipif(rlgrad.cuda.is_available(), reason="for machines without a GPU")
@pytest.mark.parametrize("module", ["amp", "cuda.amp"])
def test_without_a_gpu_a_scaler_for_it_passes_everything_through(module: str) -> None:
    name = f"rlgrad.{module}"
    with pytest.warns(UserWarning, match="Disabling"):
        scaler = __import__(name, fromlist=["GradScaler"]).GradScaler(init_scale=4.0)
    p = rlgrad.nn.Parameter(rlgrad.ones(1))
    optimizer = rlgrad.optim.SGD([p], lr=0.5)
    scaler.scale(p.sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    assert p.item() == 0.5
