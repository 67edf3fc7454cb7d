"""The losses of ``nn.functional`` on PyTorch's own sample inputs: values, derivatives of both orders, what is refused."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from ..autograd import torch_samples

torch = pytest.importorskip("torch")

ENTRIES = {
    f"{entry.name}.{entry.variant_test_name}".removeprefix("nn.functional.").rstrip("."): entry
    for entry in torch_samples.op_db
    if entry.name.startswith("nn.functional.")
    and "with_distance" not in entry.name  # whose samples hold torch's own functions, as chunks do its options
    and "chunked" not in entry.variant_test_name
    and any(word in entry.name for word in ("loss", "cross_entropy", "kl_div", "nll", "multi_head"))
}


def spread(comparison: Any, grad: bool) -> list[Any]:
    """Six samples from the beginning to the end of the first sixty."""
    found = list(map(torch_samples.without_dropout, comparison.samples(torch.float64, 60, grad=grad)))
    return found[:: max(len(found) // 6, 1)]


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("name", ENTRIES)
def test_values_and_derivatives_are_torchs(name):
    entry = ENTRIES[name]
    comparison = torch_samples.Comparison(entry)
    assert comparison.function is not None, f"rlgrad has no {name}"
    problems = [comparison.value(sample) for sample in spread(comparison, grad=False)]
    problems += comparison.in_other_dtypes()
    if entry.supports_autograd:
        samples = spread(comparison, grad=True)
        problems += [comparison.derivatives(sample) for sample in samples]
        problems += [comparison.node(sample) for sample in samples]
        problems += [comparison.derivatives(sample, 2) for sample in samples[::3] if entry.supports_gradgrad]
    assert [p for p in problems if p is not None] == []


@pytest.mark.parametrize("name", [name for name, entry in ENTRIES.items() if entry.error_inputs_func])
def test_what_torch_refuses_is_refused(name):
    assert list(torch_samples.Comparison(ENTRIES[name]).errors()) == []
