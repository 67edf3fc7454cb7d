"""Operations imported on first use: that they are found, and what samples cannot say."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import rlgrad
from rlgrad.autograd.ops import later


def test_import_leaves_them_out() -> None:
    modules = sorted({*later.FUNCTIONS, *later.METHODS})
    code = f"import sys, rlgrad; print([m for m in {modules} if 'rlgrad.autograd.ops.' + m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


@pytest.mark.parametrize("name", later.NAMES)
def test_every_name_is_found(name: str) -> None:
    assert callable(getattr(rlgrad, name))


@pytest.mark.parametrize(("module", "names"), sorted(later.METHODS.items()))
def test_every_stand_in_is_overwritten_by_its_module(module: str, names: str) -> None:
    __import__(f"rlgrad.autograd.ops.{module}")
    for name in names.split():
        assert getattr(rlgrad.Tensor, name).__module__ != later.__name__, name


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_function"):
        _ = rlgrad.no_such_function


def test_low_rank_factors_multiply_to_the_matrix() -> None:
    rlgrad.manual_seed(0)
    a = rlgrad.randn(9, 2, dtype=rlgrad.float64) @ rlgrad.randn(2, 6, dtype=rlgrad.float64)
    for x in (a, a.mT):
        u, s, v = rlgrad.svd_lowrank(x, q=3)
        np.testing.assert_allclose((u * s @ v.mT).numpy(), x.numpy(), atol=1e-9)
    u, s, v = rlgrad.pca_lowrank(a, q=2)
    np.testing.assert_allclose((u * s @ v.mT).numpy(), (a - a.mean(0)).numpy(), atol=1e-9)


def test_older_svd_gives_reduced_factors_and_v() -> None:
    a = rlgrad.randn(4, 3, dtype=rlgrad.float64)
    u, s, v = rlgrad.svd(a)
    np.testing.assert_allclose((u * s @ v.mT).numpy(), a.numpy(), atol=1e-12)
    assert [tuple(x.shape) for x in rlgrad.svd(a, some=False)] == [(4, 4), (3,), (3, 3)]
    assert not rlgrad.svd(a, compute_uv=False)[0].any()


def test_real_numbers_have_no_imaginary_part() -> None:
    with pytest.raises(RuntimeError, match="float32"):
        rlgrad.ones(2).imag()


def test_next_floats() -> None:
    x = rlgrad.tensor([1.0, -1.0, 2.0], requires_grad=True)
    y = rlgrad.nextafter(x, rlgrad.tensor([2.0, -2.0, 2.0]))
    assert y.tolist() == np.nextafter(np.float32([1, -1, 2]), np.float32([2, -2, 2])).tolist()
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0, 0.0]


def test_reported_failures_name_the_place() -> None:
    bad = rlgrad.tensor([[[4.0, 0.0], [0.0, -1.0]], [[4.0, 2.0], [2.0, 3.0]]])
    factor, info = rlgrad.linalg.cholesky_ex(bad)
    assert info.tolist() == [2, 0]
    assert rlgrad.allclose(factor[1] @ factor[1].mT, bad[1])
    assert rlgrad.linalg.inv_ex(rlgrad.tensor([[1.0, 1.0], [1.0, 1.0]])).info.item() == 2
    with pytest.raises(rlgrad.linalg.LinAlgError):
        rlgrad.linalg.cholesky_ex(bad, check_errors=True)


def test_resizing_keeps_the_first_elements() -> None:
    x = rlgrad.arange(6.0)
    assert x.resize_(2, 2).tolist() == [[0.0, 1.0], [2.0, 3.0]]
    assert x.resize_as_(rlgrad.ones(1, 4)).shape == (1, 4)
    with pytest.raises(RuntimeError, match="require grad"):
        rlgrad.ones(2, requires_grad=True).mul(2).resize_(3)


def test_triangular_systems_do_not_read_the_other_triangle() -> None:
    a = rlgrad.tensor([[2.0, float("nan")], [1.0, 4.0]])
    x = rlgrad.linalg.solve_triangular(a, rlgrad.tensor([[2.0], [5.0]]), upper=False)
    assert x.tolist() == [[1.0], [1.0]]


@pytest.mark.parametrize("shape", [(3, 2), (2, 2, 3)])
def test_packed_reflections_multiply_to_q(shape: tuple[int, ...]) -> None:
    a = rlgrad.randn(*shape, dtype=rlgrad.float64)
    packed, tau = rlgrad.geqrf(a)
    q = rlgrad.ormqr(packed, tau, rlgrad.eye(shape[-2], dtype=rlgrad.float64).expand(*shape[:-1], shape[-2]))
    np.testing.assert_allclose((q @ packed.triu()).numpy(), a.numpy(), atol=1e-12)
    if shape[-2] >= shape[-1]:
        np.testing.assert_allclose(rlgrad.orgqr(packed, tau).numpy(), q[..., : shape[-1]].numpy(), atol=1e-12)


def test_histograms_are_numpys() -> None:
    rng = np.random.default_rng(0)
    x, points = rng.uniform(-1, 1, 20), rng.uniform(-1, 1, (20, 2))
    counts, edges = rlgrad.histogram(rlgrad.from_numpy(x), 4, range=(-1, 1), density=True)
    expected = np.histogram(x, 4, (-1, 1), density=True)
    np.testing.assert_allclose(counts.numpy(), expected[0])
    np.testing.assert_allclose(edges.numpy(), expected[1])
    counts, cells = rlgrad.histogramdd(rlgrad.from_numpy(points), [2, 3])
    expected_counts, expected_edges = np.histogramdd(points, [2, 3])
    np.testing.assert_allclose(counts.numpy(), expected_counts)
    np.testing.assert_allclose(cells[1].numpy(), expected_edges[1])


def test_powers_of_a_vector() -> None:
    x = rlgrad.tensor([2.0, 3.0], dtype=rlgrad.float64, requires_grad=True)
    for increasing in (False, True):
        expected = np.vander(x.detach().numpy(), 3, increasing)
        np.testing.assert_array_equal(rlgrad.vander(x, 3, increasing).detach().numpy(), expected)
    assert rlgrad.vander(x, 0).shape == (2, 0)
    assert rlgrad.autograd.gradcheck(lambda x: rlgrad.vander(x, 3), (x,))


@pytest.mark.parametrize("p", ["fro", "nuc", 1, -1, float("inf")])
def test_condition_numbers_have_derivatives(p: object) -> None:
    a = rlgrad.tensor([[3.0, 1.0], [0.5, 2.0]], dtype=rlgrad.float64, requires_grad=True)
    expected = np.linalg.cond(a.detach().numpy(), p)
    np.testing.assert_allclose(rlgrad.linalg.cond(a, p).item(), expected)
    assert rlgrad.autograd.gradcheck(lambda a: rlgrad.linalg.cond(a, p), (a,))
    assert rlgrad.linalg.cond(rlgrad.ones(2, 2), p).item() == np.inf
