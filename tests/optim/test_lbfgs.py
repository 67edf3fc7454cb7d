"""LBFGS evaluates where torch's does and ends where theory says."""

import numpy as np
import pytest

import rlgrad
from rlgrad import optim

torch = pytest.importorskip("torch")

FUNCTIONS = {
    "Rosenbrock's valley": lambda x: (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum(),
    "a quartic with flat places": lambda x: ((x**2 - 1) ** 2).sum() + 0.3 * (x * 5).sin().sum(),
    "a badly scaled bowl": lambda x: (x**2 * 10.0 ** (x * 0 + 3)).sum() + x.exp().sum(),
    "a wave": lambda x: (x * 3).sin().sum() + 0.05 * (x**2).sum(),
}
OPTIONS = {
    "fixed steps": {"lr": 0.1, "max_iter": 12},
    "short memory": {"lr": 0.3, "history_size": 2},
    "line search": {"line_search_fn": "strong_wolfe"},
    "line search, short memory": {"line_search_fn": "strong_wolfe", "history_size": 3, "lr": 0.5},
    "line search, few evaluations": {"line_search_fn": "strong_wolfe", "max_eval": 4},
    "line search, one evaluation": {"line_search_fn": "strong_wolfe", "max_eval": 1},
    "line search, long first step": {"line_search_fn": "strong_wolfe", "lr": 20.0},
}


def path(library, function, options, steps=6, start=(-1.2, 1.0, 0.4, -0.3)):
    x = library.from_numpy(np.array(start)).requires_grad_()
    optimizer = library.optim.LBFGS([x], **options)
    seen = []

    def closure():
        optimizer.zero_grad()
        seen.append(x.detach().numpy().copy())
        loss = function(x)
        loss.backward()
        return loss

    for _ in range(steps):
        optimizer.step(closure)
    return np.array([*seen, x.detach().numpy()]), optimizer


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_every_evaluation_is_where_torchs_is(function, options):
    (mine, ours), (other, theirs) = path(rlgrad, function, options), path(torch, function, options)
    # Rounding grows along a path, and decides when a search at the bottom ends; one that leaves for infinity is not followed.
    follow = min(16, len(mine), np.argmin([*(abs(other).max(1) < 1e6), False]))
    assert follow >= 5
    np.testing.assert_allclose(mine[:follow], other[:follow], rtol=1e-6, atol=1e-8)
    if follow == len(other):
        assert [o.state_dict()["state"][0]["func_evals"] for o in (ours, theirs)] == [len(mine) - 1, len(other) - 1]


def test_the_line_search_finds_the_bottom_of_the_valley():
    options = {"line_search_fn": "strong_wolfe"}
    places, _ = path(rlgrad, FUNCTIONS["Rosenbrock's valley"], options, steps=10, start=(-1.2, 1.0))
    np.testing.assert_allclose(places[-1], 1.0, atol=1e-4)


def test_a_quadratic_in_n_dimensions_takes_about_n_directions():
    rng = np.random.default_rng(1)
    root = rng.standard_normal((5, 5))
    matrix = rlgrad.from_numpy(root @ root.T + np.eye(5))
    x = rlgrad.from_numpy(rng.standard_normal(5)).requires_grad_()
    optimizer = optim.LBFGS([x], line_search_fn="strong_wolfe", max_iter=40)

    def closure():
        optimizer.zero_grad()
        loss = x @ matrix @ x
        loss.backward()
        return loss

    optimizer.step(closure)
    assert abs(x.detach().numpy()).max() < 1e-6
    assert optimizer.state[x]["n_iter"] <= 15


def test_parameters_without_a_gradient_stay():
    used, unused = (rlgrad.ones(2).requires_grad_() for _ in range(2))
    optimizer = optim.LBFGS([used, unused])

    def closure():
        optimizer.zero_grad()
        loss = (used**2).sum()
        loss.backward()
        return loss

    version = used._version
    assert optimizer.step(closure).item() == 2.0
    assert unused.tolist() == [1.0, 1.0]
    assert abs(used.detach().numpy()).max() < 1e-3
    assert used._version > version


def test_what_it_cannot_do_is_refused():
    x = rlgrad.ones(2).requires_grad_()
    with pytest.raises(ValueError, match="parameter groups"):
        optim.LBFGS([{"params": [x]}, {"params": [rlgrad.ones(1).requires_grad_()]}])
    with pytest.raises(RuntimeError, match="strong_wolfe"):
        optim.LBFGS([x], line_search_fn="armijo").step(lambda: (x**2).sum())
    with pytest.raises(TypeError, match="closure"):
        optim.LBFGS([x]).step()
