"""Products with banded matrices are those with the dense ones, whole or in blocks, and their adjoints."""

import numpy as np
import pytest

from rlgrad.backend.kernels.bands import Bands


def windows(size: int, out: int) -> np.ndarray:
    matrix = np.zeros((out, size))
    for row in range(out):
        start, end = row * size // out, -(-(row + 1) * size // out)
        matrix[row, start:end] = np.arange(1.0, end - start + 1)
    return matrix


@pytest.mark.parametrize(("size", "out", "count"), [(5, 3, 2), (400, 300, 90), (300, 400, 90), (900, 7, 60), (7, 7, 3)])
@pytest.mark.parametrize("dim", [0, 1, 2])
def test_products_along_each_dimension(size, out, count, dim):
    rng = np.random.default_rng(0)
    matrix = windows(size, out)
    shape = [count, 2, 3]
    shape[dim], shape[(dim + 1) % 3] = size, count
    a = rng.normal(size=shape)
    result = Bands(matrix).along(np, a, dim)
    np.testing.assert_allclose(result, np.moveaxis(np.moveaxis(a, dim, -1) @ matrix.T, -1, dim), rtol=1e-9, atol=1e-9)
    g = rng.normal(size=result.shape)
    back = Bands(matrix).back(np, g, dim)
    assert back.shape == a.shape
    assert np.vdot(back, a) == pytest.approx(np.vdot(g, result), rel=1e-9)


def test_large_products_are_done_in_blocks():
    bands = Bands(windows(1000, 900))
    assert len(bands._blocks(np, np.dtype("f4"), 500)) > 1
    assert len(bands._blocks(np, np.dtype("f4"), 1)) == 1


def test_elements_without_weight_are_not_looked_at():
    matrix = np.zeros((3, 40))
    matrix[0, 5], matrix[1, 6], matrix[2, 39] = 1.0, 2.0, 3.0
    a = np.full((2, 40, 2), np.nan)
    a[:, [5, 6, 39]] = 1.0
    np.testing.assert_array_equal(Bands(matrix).along(np, a, 1), np.broadcast_to([[1.0], [2.0], [3.0]], (2, 3, 2)))
    g = np.ones((2, 3))
    np.testing.assert_array_equal(Bands(matrix).back(np, g, 1), np.broadcast_to(matrix.sum(0), (2, 40)))
    assert not Bands(np.zeros((2, 5))).along(np, np.ones(5), 0).any()
