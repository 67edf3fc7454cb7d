"""What samples do not show of layers and linear algebra: errors, running statistics, randomness, singular matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rlgrad
from rlgrad.nn import functional as F


@pytest.fixture(scope="module")
def torch() -> Any:
    return pytest.importorskip("torch")


REFUSED = {
    "channels": lambda t, f: f.conv2d(t.ones(1, 3, 4, 4), t.ones(2, 2, 3, 3)),
    "kernel larger than input": lambda t, f: f.conv2d(t.ones(1, 2, 2, 2), t.ones(2, 2, 3, 3)),
    "same with a stride": lambda t, f: f.conv2d(t.ones(1, 2, 4, 4), t.ones(2, 2, 3, 3), stride=2, padding="same"),
    "dtypes of a convolution": lambda t, f: f.conv1d(t.ones(1, 2, 4), t.ones(2, 2, 3).double()),
    "stride of zero": lambda t, f: f.conv1d(t.ones(1, 2, 4), t.ones(2, 2, 3), stride=0),
    "padding of a pool": lambda t, f: f.max_pool2d(t.ones(1, 2, 4, 4), 2, padding=2),
    "one value per channel": lambda t, f: f.batch_norm(t.ones(1, 3), None, None, training=True),
    "normalized shape": lambda t, f: f.layer_norm(t.ones(2, 3), (4,)),
    "groups": lambda t, f: f.group_norm(t.ones(2, 3, 2), 2),
    "reflection as long as the input": lambda t, f: f.pad(t.ones(1, 2, 3), (3, 0), mode="reflect"),
    "padding mode": lambda t, f: f.pad(t.ones(1, 2, 3), (1, 0), mode="mirror"),
    "dropout probability": lambda t, f: f.dropout(t.ones(2), 1.5),
    "embedding index": lambda t, f: f.embedding(t.tensor([3]), t.ones(3, 2)),
    "embedding of floats": lambda t, f: f.embedding(t.tensor([1.0]), t.ones(3, 2)),
    "inverse of a singular matrix": lambda t, f: t.linalg.inv(t.zeros(2, 2)),
    "solution of a singular system": lambda t, f: t.linalg.solve(t.zeros(2, 2), t.ones(2)),
    "not positive-definite": lambda t, f: t.linalg.cholesky(-t.eye(2)),
    "not square": lambda t, f: t.linalg.det(t.ones(2, 3)),
    "integers": lambda t, f: t.linalg.inv(t.ones(2, 2, dtype=t.int64)),
    "einsum letters": lambda t, f: t.einsum("ij,jk->ik", t.ones(2, 3), t.ones(4, 2)),
    "einsum operands": lambda t, f: t.einsum("ij,jk->ik", t.ones(2, 3)),
    "einsum output": lambda t, f: t.einsum("ij->k", t.ones(2, 3)),
    "tensordot": lambda t, f: t.tensordot(t.ones(2, 3), t.ones(2, 3), 1),
}


@pytest.mark.parametrize("name", REFUSED)
def test_error_is_of_torchs_class(torch, name):
    with pytest.raises(Exception) as theirs:  # noqa: PT011 - torch says which
        REFUSED[name](torch, torch.nn.functional)
    with pytest.raises(Exception) as mine:  # noqa: PT011
        REFUSED[name](rlgrad, F)
    assert mine.type.__name__ == theirs.type.__name__.lstrip("_")


@pytest.mark.parametrize("function", ["batch_norm", "instance_norm"])
def test_running_statistics_are_torchs(torch, function):
    x = np.random.default_rng(0).standard_normal((4, 3, 5))
    found = []
    for library, functional in ((rlgrad, F), (torch, torch.nn.functional)):
        mean, var = library.zeros(3, dtype=library.float64), library.ones(3, dtype=library.float64)
        data = library.from_numpy(x)
        for _ in range(2):
            getattr(functional, function)(data, mean, var, None, None, True, 0.3)
        evaluated = getattr(functional, function)(data, mean, var, None, None, False)
        found.append((mean, var, evaluated))
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-10)


def test_gradient_of_the_determinant_of_a_singular_matrix_is_its_cofactors():
    x = rlgrad.tensor([[1.0, 2.0], [2.0, 4.0]], dtype=rlgrad.float64, requires_grad=True)
    rlgrad.linalg.det(x).backward()
    np.testing.assert_allclose(x.grad.numpy(), [[4.0, -2.0], [-2.0, 1.0]], atol=1e-12)


def test_dropout_draws_from_its_generator_and_keeps_the_mean():
    x = rlgrad.ones(20_000, requires_grad=True)
    first, second = (F.dropout(x, 0.3, generator=rlgrad.Generator().manual_seed(0)) for _ in range(2))
    assert rlgrad.equal(first, second)
    assert abs(first.mean().item() - 1) < 0.02
    first.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), first.detach().numpy())
    channels = F.dropout2d(rlgrad.ones(4, 8, 3, 3))
    assert set(channels.sum((2, 3)).reshape(-1).tolist()) <= {0.0, 18.0}


def test_embedding_leaves_the_padding_entry_without_gradient():
    weight = rlgrad.ones(3, 2, requires_grad=True)
    F.embedding(rlgrad.tensor([0, 1, 1]), weight, padding_idx=1).sum().backward()
    assert weight.grad.tolist() == [[1.0, 1.0], [0.0, 0.0], [0.0, 0.0]]
