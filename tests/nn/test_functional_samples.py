"""``nn.functional`` on PyTorch's own sample inputs: values, derivatives of both orders, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rlgrad

from ..autograd import torch_samples

torch = pytest.importorskip("torch")

RANDOM = {
    "alpha_dropout",
    "dropout",
    "dropout2d",
    "dropout3d",
    "feature_alpha_dropout",
    "fractional_max_pool2d",
    "fractional_max_pool3d",
    "rrelu",
}
"""Functions of which only dtypes and shapes can be compared."""
THEIRS_ALONE = {"in place: missing"}  # variants made by partial application, which have no name

LOSSES = ("loss", "cross_entropy", "kl_div", "nll", "multi_head")
"""Words in the names of losses, which have a file of their own."""

ENTRIES = {
    f"{entry.name}.{entry.variant_test_name}".removeprefix("nn.functional.").rstrip("."): entry
    for entry in torch_samples.op_db
    if entry.name.startswith("nn.functional.") and not any(word in entry.name for word in LOSSES)
}


def compared(name: str) -> Any:
    return torch_samples.Comparison(ENTRIES[name], values=name.split(".")[0] not in RANDOM)


def spread(comparison: Any, grad: bool) -> list[Any]:
    """Six samples from the beginning to the end of the first sixty."""
    found = list(map(torch_samples.without_dropout, comparison.samples(torch.float64, 60, grad=grad)))
    return found[:: max(len(found) // 6, 1)]


@pytest.mark.parametrize("name", ENTRIES)
def test_values_and_derivatives_are_torchs(name):
    comparison, entry = compared(name), ENTRIES[name]
    assert comparison.function is not None, f"rlgrad has no {name}"
    samples = spread(comparison, grad=False)
    problems = [comparison.value(sample) for sample in samples]
    problems += [comparison.in_place(sample) for sample in samples[::2]]
    problems += comparison.in_other_dtypes()
    if entry.supports_autograd:
        samples = spread(comparison, grad=True)
        problems += [comparison.derivatives(sample) for sample in samples]
        problems += [comparison.node(sample) for sample in samples if "dropout" not in name]
        problems += [comparison.derivatives(sample, 2) for sample in samples[::3] if entry.supports_gradgrad]
    assert [p for p in problems if p is not None and p not in THEIRS_ALONE] == []


@pytest.mark.parametrize("name", [name for name, entry in ENTRIES.items() if entry.error_inputs_func])
def test_what_torch_refuses_is_refused(name):
    assert list(compared(name).errors()) == []


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("name", ["huber_loss", "l1_loss", "mse_loss"])
def test_weighted_differences_are_torchs(name, reduction):
    rng = np.random.default_rng(0)
    input, target, weight = rng.standard_normal((3, 4, 5))
    results = []
    for library in (rlgrad, torch):
        leaves = [library.from_numpy(a.copy()).requires_grad_() for a in (input, target, abs(weight))]
        loss = getattr(library.nn.functional, name)(*leaves[:2], weight=leaves[2], reduction=reduction)
        found = library.autograd.grad(loss.sum(), leaves)
        results.append([loss.detach().numpy(), *[g.numpy() for g in found]])
        with pytest.raises(ValueError, match="same size"):
            getattr(library.nn.functional, name)(*leaves[:2], weight=leaves[2][0])
    for mine, other in zip(*results, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-12)
