"""Every function on PyTorch's own sample inputs: values, variants, derivatives of both orders and refusals are PyTorch's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("expecttest")  # PyTorch's sample inputs need it

from .torch_samples import Comparison, op_db  # noqa: E402

OUT_OF_SCOPE = ("nn.functional.", "fft.", "sparse.", "signal.", "masked.", "_refs.", "torch.", "jiterator_")
"""Families that are tested with layers (``nn.functional``) or that rlgrad has no room for."""

COMPLEX = "there are no complex dtypes"
INTERNAL = "a kernel behind PyTorch's layers, not for users"
MISSING = {
    **dict.fromkeys(
        ("view_as_real", "view_as_complex", "complex", "polar", "cdouble", "cfloat", "chalf", "linalg.eig", "linalg.eigvals"),
        COMPLEX,
    ),
    **dict.fromkeys(("stft", "istft"), COMPLEX),
    **dict.fromkeys(
        (
            "_softmax_backward_data", "native_group_norm", "native_layer_norm", "native_batch_norm",
            "_native_batch_norm_legit", "_batch_norm_with_update", "_upsample_bilinear2d_aa", "_chunk_cat",
            "native_dropout_backward", "grid_sampler_2d", "grid_sampler_3d", "hash_tensor", "_segment_reduce",
            "_unsafe_masked_index", "_unsafe_masked_index_put_accumulate", "max_pool2d_with_indices_backward", "slice",
        ),
        INTERNAL,
    ),
    **dict.fromkeys(("linalg.ldl_factor", "linalg.ldl_factor_ex", "linalg.ldl_solve"), "symmetric indefinite factors"),
    "__rdiv__": "Python 2's name",
    "bfloat16": "NumPy has no such dtype",
    "to_sparse": "tensors are dense",
}  # fmt: skip
"""Entries that rlgrad leaves out, and why."""

RANDOM = {
    "bernoulli", "cauchy", "empty", "empty_like", "empty_permuted", "empty_strided", "exponential", "geometric",
    "log_normal", "multinomial", "new_empty", "new_empty_strided", "nonzero_static", "normal", "pca_lowrank", "rand",
    "rand_like", "randint", "randint_like", "randn", "randn_like", "svd_lowrank", "uniform",
}  # fmt: skip
"""Entries whose elements are drawn or left over: dtypes and shapes are compared."""

DIFFERENT = {
    (
        "as_strided_scatter",
        "derivatives",
    ): "PyTorch lets gradients flow to what was overwritten; gradcheck refuses that",
    ("linalg.norm.subgradients_at_zero", "derivatives"): "a second derivative at zero is zero instead of NaN",
    **{
        (name, "nodes"): "the last of several steps, of which PyTorch takes others here"
        for name in ("matmul", "__rmatmul__", "einsum", "linalg.lstsq", "linalg.lstsq.grad_oriented")
    },
    ("to", "nodes"): "a copy that was asked for is a clone",
    ("round.decimals_0", "nodes"): "rounding to no decimals is rounding",
    **{
        (f"__r{name}__", "errors"): "Python calls no such method of a number"
        for name in ("add", "and", "mul", "or", "xor")
    },
}
"""What is known to differ, and why."""

PLACES = (0, 2, 5)
"""Which samples are run of each entry: the first, which are plain, and some of the odd ones that follow."""

ENTRIES = {
    Comparison(e).name: Comparison(e, e.name not in RANDOM) for e in op_db if not e.name.startswith(OUT_OF_SCOPE)
}
HAD = {name: entry for name, entry in ENTRIES.items() if entry.entry.name not in MISSING}


def some(samples: Iterable[Any], count: int) -> Iterator[Any]:
    places = PLACES[:count]
    return (sample for place, sample in enumerate(islice(samples, places[-1] + 1)) if place in places)


def problems(found: Iterable[str | None]) -> list[str]:
    return sorted({problem for problem in found if problem})


def entries(aspect: str, wanted: Callable[[Comparison], bool] = lambda c: True) -> list[Any]:
    return [name for name, c in HAD.items() if (name, aspect) not in DIFFERENT and wanted(c)]


def test_every_entry_is_had_or_listed_with_a_reason() -> None:
    lacking = {c.entry.name for c in ENTRIES.values() if c.function is None}
    callable_only_in_name = {"bfloat16", "chalf", "max_pool2d_with_indices_backward", "to_sparse"}
    assert lacking == set(MISSING) - callable_only_in_name
    assert {name for name, _ in DIFFERENT} <= set(HAD)


@pytest.mark.parametrize("name", entries("values"))
def test_values_are_torchs(name: str) -> None:
    c = HAD[name]
    counts = {torch.float64: 3, torch.float32: 1, torch.int64: 1, torch.bool: 1}

    def run() -> Iterator[str | None]:
        for dtype, count in counts.items():
            if dtype not in c.entry.dtypes:
                continue
            for sample in some(c.samples(dtype, None), count):
                yield c.value(sample)
                if dtype is not torch.float32:
                    yield c.value(sample, "method", c.entry.method_variant) if c.entry.method_variant else None
                    yield c.in_place(sample)

    assert problems(run()) == []


@pytest.mark.parametrize("name", entries("derivatives", lambda c: c.entry.supports_autograd))
def test_derivatives_are_torchs(name: str) -> None:
    c = HAD[name]
    if torch.float64 not in c.entry.dtypes:
        pytest.skip("not for floats")

    def run() -> Iterator[str | None]:
        for sample in some(c.samples(torch.float64, None, True), 2):
            yield c.derivatives(sample)
        if c.entry.supports_gradgrad:
            for sample in some(c.samples(torch.float64, None, True), 1):
                yield c.derivatives(sample, 2)

    assert problems(run()) == []


@pytest.mark.parametrize("name", entries("nodes", lambda c: c.entry.supports_autograd))
def test_nodes_go_by_torchs_names(name: str) -> None:
    c = HAD[name]
    if torch.float64 not in c.entry.dtypes:
        pytest.skip("not for floats")
    assert problems(c.node(sample) for sample in some(c.samples(torch.float64, None, True), 3)) == []


@pytest.mark.parametrize("name", entries("errors", lambda c: c.entry.error_inputs_func is not None))
def test_what_torch_refuses_is_refused(name: str) -> None:
    assert problems(HAD[name].errors()) == []
