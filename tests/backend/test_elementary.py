"""Passes in vectors give what NumPy and SciPy compute element by element, what is not finite included."""

import numpy as np
import pytest

from rlgrad.backend.kernels import elementary
from rlgrad.backend.kernels.selecting import select

EDGES = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 1e-45, 3e38, 5.0], np.float32)


def operands(scale: float) -> tuple[np.ndarray, np.ndarray]:
    """Random numbers, and every pair of edge values among them."""
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((300, 100)).astype(np.float32) for _ in range(2))
    a *= scale
    first, second = np.meshgrid(EDGES, EDGES)
    a[7], b[7] = first.ravel(), second.ravel()
    return a, b


@pytest.mark.parametrize("scale", [1.0, 1e3, 1e9])
@pytest.mark.parametrize("name", ["remainder", "fmod", "floor_divide"])
def test_quotients_are_numpys_to_the_last_bit(name, scale):
    a, b = operands(scale)
    with np.errstate(all="ignore"):
        for divisor in (b, b[:1], b[:, :1], 0.3, np.asarray(-2.5, np.float32)):
            np.testing.assert_array_equal(
                getattr(elementary, name)(np, a, divisor), getattr(np, name)(a, divisor), strict=True
            )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["logaddexp", "logaddexp2"])
def test_logarithms_of_sums_are_numpys(name, dtype):
    a, b = (x.astype(dtype) for x in operands(5.0))
    eps = np.finfo(dtype).eps
    with np.errstate(all="ignore"):
        for other in (b, b[:1]):
            found, expected = getattr(elementary, name)(np, a, other), getattr(np, name)(a, other)
            np.testing.assert_allclose(found, expected, rtol=4 * eps, atol=4 * eps)


@pytest.mark.parametrize("elements", [3000, 300_000])  # the larger ones by a compiled kernel where there is one
def test_error_function_is_scipys(elements):
    erf = pytest.importorskip("scipy.special").erf
    a = np.concatenate([EDGES, np.linspace(-6, 6, elements, dtype=np.float32)])
    found = elementary.erf(a)
    assert found is not None
    assert np.nanmax(abs(found)) == 1
    np.testing.assert_allclose(found, erf(a.astype(np.float64)), rtol=6e-7, atol=1e-44)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int64, np.uint8, np.bool_])
def test_selection_is_where_to_the_last_bit(dtype):
    rng = np.random.default_rng(0)
    a, b = ((rng.standard_normal((100, 100)) * 50).astype(dtype) for _ in range(2))
    if np.dtype(dtype).kind == "f":
        a.reshape(-1)[: len(EDGES)] = EDGES
    mask = rng.random((100, 100)) < 0.5
    for x, y in [
        (a, b),
        (a.T, b),
        (a, b[:1]),
        (a, 0),
        (0, b),
        (3, b),
        (a, -0.0),
        (a, np.asarray(1, dtype)),
        (dtype(0), b),
    ]:
        found, expected = select(np, mask, x, y), np.where(mask, x, y)
        assert found.dtype == expected.dtype
        assert np.ascontiguousarray(found).tobytes() == np.ascontiguousarray(expected).tobytes()


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_derivatives_of_digamma_are_scipys(n):
    x = np.concatenate([np.logspace(-6, 3, 2000), np.linspace(0.01, 20, 2000), [np.inf, np.nan]])
    np.testing.assert_allclose(
        elementary.polygamma(n, x), pytest.importorskip("scipy.special").polygamma(n, x), rtol=2e-15
    )


@pytest.mark.parametrize("scale", [1e-18, 1.0, 1e19])
def test_hypotenuses_are_numpys(scale):
    a, b = operands(scale)
    b = b * np.float32(scale)
    with np.errstate(all="ignore"):
        for rows in (slice(None), slice(10, None)):  # with what is not finite, and without
            found, expected = elementary.hypot(np, a[rows], b[rows]), np.hypot(a[rows], b[rows])
            np.testing.assert_allclose(found, expected, rtol=3e-7)
