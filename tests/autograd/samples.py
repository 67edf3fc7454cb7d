"""Sample inputs for every public function, from which the generic tests are made.

A sample is ``(args, kwargs)`` in which NumPy arrays stand for tensors: floating ones are leaves that require grad.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .samples_activations import ACTIVATIONS
from .samples_algebra import ALGEBRA, DECOMPOSITIONS
from .samples_layers import LAYERS
from .samples_pools import POOLS

Sample = tuple[tuple[Any, ...], dict[str, Any]]


class Constant(NamedTuple):
    """A floating tensor that does not require grad."""

    array: np.ndarray


class Maker:
    """Arrays for samples, the same for the same seed.

    Args:
        seed: where the stream of numbers starts.
    """

    def __init__(self, seed: int = 0) -> None:
        self.rng = np.random.default_rng(seed)

    def normal(self, *shape: int) -> np.ndarray:
        return np.asarray(self.rng.standard_normal(shape))

    def positive(self, *shape: int) -> np.ndarray:
        return np.asarray(self.rng.uniform(0.4, 2.0, shape))

    def unit(self, *shape: int) -> np.ndarray:
        """Between -0.9 and 0.9."""
        return np.asarray(self.rng.uniform(-0.9, 0.9, shape))

    def distinct(self, *shape: int) -> np.ndarray:
        """Numbers at least 0.2 apart from each other, from zero and from every half."""
        count = int(np.prod(shape))
        values = (np.arange(count) - count // 2) * 0.25 + 0.125
        return self.rng.permutation(values).reshape(shape)

    def ints(self, high: int, *shape: int) -> np.ndarray:
        return np.asarray(self.rng.integers(0, high, shape))

    def bools(self, *shape: int) -> np.ndarray:
        return np.asarray(self.rng.random(shape) < 0.5)


def s(*args: Any, **kwargs: Any) -> Sample:
    return args, kwargs


def _unary(kind: str) -> Callable[[Maker], list[Sample]]:
    def make(m: Maker) -> list[Sample]:
        draw = getattr(m, kind)
        return [s(draw(2, 3)), s(draw()), s(draw(0, 2)), s(draw(3, 1, 2))]

    return make


def _binary(kind: str, numbers: tuple[float, ...] = (1.5, 2)) -> Callable[[Maker], list[Sample]]:
    def make(m: Maker) -> list[Sample]:
        draw = getattr(m, kind)
        pairs = [((2, 3), (2, 3)), ((2, 3), (3,)), ((3, 1), (1, 2)), ((), (2, 2)), ((2, 2), ()), ((0, 3), (3,))]
        given = [s(draw(*a), draw(*b)) for a, b in pairs]
        return given + [s(draw(2, 3), number) for number in numbers]

    return make


def _reduction(m: Maker, draw: str = "distinct") -> list[Sample]:
    x = getattr(m, draw)
    return [
        s(x(2, 3)),
        s(x()),
        s(x(2, 3), 0),
        s(x(2, 3), -1, True),
        s(x(2, 3, 2), (0, 2)),
        s(x(2, 3, 2), dim=(-1, 1), keepdim=True),
    ]


def _along(m: Maker) -> list[Sample]:
    return [s(m.distinct(2, 3), 0), s(m.distinct(2, 3), -1), s(m.distinct(2, 3, 2), 1), s(m.distinct(), 0)]


def _spread(m: Maker) -> list[Sample]:
    return [
        s(m.normal(5)),
        s(m.normal(3, 4), 0),
        s(m.normal(3, 4), (0, 1), keepdim=True),
        s(m.normal(3, 4), 1, correction=0),
        s(m.normal(3, 4), unbiased=False),
        s(m.normal(2, 3), -1, True, True),
    ]


def _loss(m: Maker) -> list[Sample]:
    pairs = [(m.normal(4), m.normal(4)), (m.normal(2, 3), m.normal(2, 3)), (m.normal(), m.normal())]
    return [s(a, b, reduction=r) for a, b in pairs for r in ("mean", "sum", "none")]


def _margin_loss(**option: Any) -> Callable[[Maker], list[Sample]]:
    def make(m: Maker) -> list[Sample]:
        far = m.distinct(2, 3) * 2
        return [
            s(far, np.zeros((2, 3)) + 0.01, reduction=r, **o) for r in ("mean", "sum", "none") for o in ({}, option)
        ]

    return make


def _nll(m: Maker) -> list[Sample]:
    x, t = m.normal(4, 3), m.ints(3, 4)
    ignored = t.copy()
    ignored[0] = 1
    plain = [s(x, t, reduction=r) for r in ("mean", "sum", "none")]
    return [
        *plain,
        s(x, ignored, ignore_index=1),
        s(x, ignored, ignore_index=1, reduction="none"),
        s(m.normal(3), m.ints(3)),
        s(m.normal(2, 3, 4), m.ints(3, 2, 4)),
        s(m.normal(2, 3, 2, 2), m.ints(3, 2, 2, 2), reduction="none"),
    ]


def _bce_with_logits(m: Maker) -> list[Sample]:
    x, t = m.normal(3, 2), m.rng.uniform(0.1, 0.9, (3, 2))
    plain = [s(x, t, reduction=r) for r in ("mean", "sum", "none")]
    return [
        *plain,
        s(x, t, weight=Constant(m.positive(3, 2))),
        s(x, t, pos_weight=Constant(m.positive(2))),
        s(x * 30, t),
    ]


def _matmul(m: Maker) -> list[Sample]:
    shapes = [
        ((3,), (3,)),
        ((2, 3), (3,)),
        ((3,), (3, 2)),
        ((2, 3), (3, 4)),
        ((2, 2, 3), (3, 2)),
        ((2, 3), (4, 3, 2)),
        ((2, 1, 2, 3), (3, 3, 2)),
        ((3,), (2, 3, 2)),
        ((2, 2, 3), (3,)),
        ((0, 3), (3, 2)),
        ((2, 0), (0, 3)),
    ]
    return [s(m.normal(*a), m.normal(*b)) for a, b in shapes]


SAMPLES: dict[str, Callable[[Maker], list[Sample]]] = {
    # One operand
    **{
        name: _unary("normal")
        for name in (
            [
                "neg",
                "negative",
                "exp",
                "exp2",
                "expm1",
                "square",
                "sin",
                "cos",
                "sinh",
                "cosh",
                "tanh",
                "atan",
                "arctan",
                "asinh",
                "arcsinh",
                "sigmoid",
                "silu",
                "logsigmoid",
                "clone",
                "contiguous",
            ]
        )
    },
    **{name: _unary("positive") for name in ["log", "log2", "log10", "log1p", "sqrt", "rsqrt", "reciprocal"]},
    **{name: _unary("unit") for name in ["tan", "asin", "arcsin", "acos", "arccos", "atanh", "arctanh"]},
    **{
        name: _unary("distinct")
        for name in ["abs", "absolute", "sign", "sgn", "floor", "ceil", "trunc", "fix", "frac", "relu"]
    },
    "acosh": lambda m: [s(m.positive(2, 3) + 1), s(np.asarray(m.positive() + 1))],
    "arccosh": lambda m: [s(m.positive(2, 3) + 1)],
    "round": lambda m: [s(m.distinct(2, 3)), s(m.distinct(4), decimals=1)],
    "softplus": lambda m: [s(m.normal(2, 3)), s(m.normal(3), 2.0, 1.0), s(m.normal(3) * 40)],
    "leaky_relu": lambda m: [s(m.distinct(2, 3)), s(m.distinct(3), 0.2)],
    "elu": lambda m: [s(m.distinct(2, 3)), s(m.distinct(3), 0.5)],
    "clamp": lambda m: [
        s(m.distinct(2, 3), -0.3, 0.3),
        s(m.distinct(2, 3), min=0),
        s(m.distinct(2, 3), max=0.5),
        s(m.distinct(2, 3), m.distinct(2, 3) / 3, None),
        s(m.distinct(6), m.distinct(6) * 0.1 - 0.51, m.distinct(6) * 0.1 + 0.49),
    ],
    "clip": lambda m: [s(m.distinct(2, 3), -0.3, 0.3)],
    "clamp_min": lambda m: [s(m.distinct(2, 3), 0.3)],
    "clamp_max": lambda m: [s(m.distinct(2, 3), 0.3)],
    # Two operands
    **{name: _binary("normal") for name in ["mul", "multiply"]},
    "add": lambda m: [*_binary("normal")(m), s(m.normal(2), m.normal(2), alpha=3)],
    "sub": lambda m: [*_binary("normal")(m), s(m.normal(2), m.normal(2), alpha=3)],
    "subtract": _binary("normal"),
    "rsub": lambda m: [s(m.normal(2, 3), m.normal(3)), s(m.normal(2), 1.5), s(m.normal(2), m.normal(2), alpha=2)],
    "div": lambda m: [
        *_binary("positive")(m),
        s(m.distinct(4) * 4, 1.7, rounding_mode="floor"),
        s(m.distinct(4) * 4, 1.7, rounding_mode="trunc"),
    ],
    "divide": _binary("positive"),
    "true_divide": _binary("positive"),
    "pow": lambda m: [*_binary("positive", (2, 3, 0.5, -1.5, 0, 1))(m), s(m.distinct(2, 3), 2), s(1.5, m.normal(3))],
    "remainder": lambda m: [s(m.distinct(4) * 4, 1.7), s(m.positive(3) * 5, m.positive(3)), s(m.distinct(4), -1.7)],
    "fmod": lambda m: [s(m.distinct(4) * 4, 1.7), s(m.positive(3) * 5, m.positive(3))],
    "maximum": lambda m: [s(m.distinct(2, 3), m.distinct(2, 3) + 0.03), s(m.distinct(2, 3), m.distinct(3) + 0.03)],
    "minimum": lambda m: [s(m.distinct(2, 3), m.distinct(2, 3) + 0.03), s(m.distinct(2, 3), m.distinct(3) + 0.03)],
    "atan2": lambda m: [s(m.distinct(2, 3), m.distinct(2, 3)), s(m.distinct(3), m.distinct(2, 1))],
    "arctan2": lambda m: [s(m.distinct(2, 3), m.distinct(2, 3))],
    "hypot": lambda m: [s(m.distinct(2, 3), m.distinct(2, 3)), s(m.distinct(3), m.distinct(2, 1))],
    "logaddexp": lambda m: [s(m.normal(2, 3), m.normal(3)), s(m.normal(2), m.normal(2) * 30)],
    "lerp": lambda m: [s(m.normal(2, 3), m.normal(2, 3), 0.3), s(m.normal(2, 3), m.normal(3), m.unit(2, 3))],
    "addcmul": lambda m: [
        s(m.normal(2, 3), m.normal(2, 3), m.normal(3)),
        s(m.normal(2), m.normal(2), m.normal(2), value=2),
    ],
    "addcdiv": lambda m: [s(m.normal(2, 3), m.normal(2, 3), m.positive(3), value=0.5)],
    "where": lambda m: [
        s(m.bools(2, 3), m.normal(2, 3), m.normal(2, 3)),
        s(m.bools(2, 1), m.normal(3), m.normal(2, 3)),
        s(m.bools(2, 3), m.normal(2, 3), 0.0),
        s(m.bools(3), 1.0, m.normal(3)),
    ],
    "masked_fill": lambda m: [s(m.normal(2, 3), m.bools(2, 3), 7.0), s(m.normal(2, 3), m.bools(3), m.normal())],
    "masked_select": lambda m: [s(m.normal(2, 3), m.bools(2, 3)), s(m.normal(3), m.bools(2, 3))],
    # Reductions
    "sum": lambda m: [*_reduction(m), s(m.normal(2, 0)), s(m.normal(2, 0), 1)],
    "mean": lambda m: _reduction(m),
    "amax": lambda m: [s(m.distinct(2, 3), 0), s(m.distinct(2, 3), (0, 1), True)],
    "amin": lambda m: [s(m.distinct(2, 3), 0), s(m.distinct(2, 3), (0, 1), True)],
    "max": lambda m: [s(m.distinct(2, 3)), s(m.distinct()), *_along(m), s(m.distinct(2, 3), 0, True)],
    "min": lambda m: [s(m.distinct(2, 3)), s(m.distinct()), *_along(m), s(m.distinct(2, 3), 0, True)],
    "var": _spread,
    "std": _spread,
    "cumsum": _along,
    "logsumexp": lambda m: [s(m.normal(2, 3), 0), s(m.normal(2, 3), (0, 1)), s(m.normal(2, 3) * 300, -1, True)],
    "softmax": _along,
    "log_softmax": _along,
    "norm": lambda m: [s(m.distinct(2, 3)), s(m.distinct(2, 3), 1, 1), s(m.distinct(2, 3), 3.0, 0, True)],
    "vector_norm": lambda m: [
        s(m.distinct(2, 3)),
        s(m.distinct(2, 3), 1, 0),
        s(m.positive(2, 3), float("inf"), 1),
        s(m.positive(2, 3), -float("inf")),
        s(m.distinct(2, 3), 2.5, (0, 1), True),
    ],
    "normalize": lambda m: [s(m.distinct(2, 3)), s(m.distinct(2, 3), 1.0, 0)],
    # Products
    "mm": lambda m: [s(m.normal(2, 3), m.normal(3, 4)), s(m.normal(0, 3), m.normal(3, 2))],
    "mv": lambda m: [s(m.normal(2, 3), m.normal(3))],
    "dot": lambda m: [s(m.normal(3), m.normal(3))],
    "outer": lambda m: [s(m.normal(3), m.normal(2))],
    "ger": lambda m: [s(m.normal(3), m.normal(2))],
    "bmm": lambda m: [s(m.normal(2, 2, 3), m.normal(2, 3, 2))],
    "matmul": _matmul,
    "addmm": lambda m: [
        s(m.normal(4), m.normal(2, 3), m.normal(3, 4)),
        s(m.normal(2, 2), m.normal(2, 3), m.normal(3, 2), beta=2, alpha=3),
    ],
    "linear": lambda m: [
        s(m.normal(2, 3), m.normal(4, 3)),
        s(m.normal(2, 3), m.normal(4, 3), m.normal(4)),
        s(m.normal(3), m.normal(4, 3), m.normal(4)),
        s(m.normal(2, 2, 3), m.normal(4, 3), m.normal(4)),
        s(m.normal(2, 1, 2, 3), m.normal(2, 3)),
    ],
    # Shapes
    "reshape": lambda m: [s(m.normal(2, 3), (3, 2)), s(m.normal(2, 3), (-1,)), s(m.normal(2, 0), (0, 5))],
    "view": lambda m: [s(m.normal(2, 3), (3, 2)), s(m.normal(2, 3), -1)],
    "view_as": lambda m: [s(m.normal(2, 3), m.ints(9, 3, 2))],
    "reshape_as": lambda m: [s(m.normal(2, 3), m.ints(9, 6))],
    "flatten": lambda m: [s(m.normal(2, 3, 2)), s(m.normal(2, 3, 2), 1), s(m.normal())],
    "unflatten": lambda m: [s(m.normal(2, 6), 1, (2, 3)), s(m.normal(2, 6), -1, (-1, 3))],
    "ravel": lambda m: [s(m.normal(2, 3))],
    "squeeze": lambda m: [
        s(m.normal(1, 3, 1)),
        s(m.normal(1, 3, 1), 0),
        s(m.normal(2, 3), 0),
        s(m.normal(1, 3, 1), (0, 2)),
    ],
    "unsqueeze": lambda m: [s(m.normal(2, 3), 0), s(m.normal(2, 3), -1), s(m.normal(), 0)],
    "permute": lambda m: [s(m.normal(2, 3, 4), (2, 0, 1)), s(m.normal(2, 3), (-1, 0))],
    "transpose": lambda m: [s(m.normal(2, 3, 4), 0, 2), s(m.normal(2, 3), -1, -2)],
    "swapaxes": lambda m: [s(m.normal(2, 3, 4), 0, 2)],
    "swapdims": lambda m: [s(m.normal(2, 3, 4), 0, 2)],
    "movedim": lambda m: [s(m.normal(2, 3, 4), 0, -1), s(m.normal(2, 3, 4), (0, 1), (1, 2))],
    "t": lambda m: [s(m.normal(2, 3)), s(m.normal(3)), s(m.normal())],
    "expand": lambda m: [s(m.normal(3, 1), (3, 4)), s(m.normal(3, 1), 2, -1, 4), s(m.normal(), (2, 2))],
    "expand_as": lambda m: [s(m.normal(3, 1), m.ints(5, 2, 3, 4))],
    "broadcast_to": lambda m: [s(m.normal(3, 1), (2, 3, 4))],
    "repeat": lambda m: [s(m.normal(2, 3), 2, 1), s(m.normal(3), (2, 2)), s(m.normal(2), 0)],
    "tile": lambda m: [s(m.normal(2, 3), (2,)), s(m.normal(3), (2, 2))],
    "cat": lambda m: [
        s([m.normal(2, 3), m.normal(1, 3)]),
        s([m.normal(2, 3), m.normal(2, 1)], -1),
        s([m.normal(0), m.normal(2, 3)], 1),
    ],
    "concat": lambda m: [s([m.normal(2), m.normal(3)])],
    "concatenate": lambda m: [s([m.normal(2), m.normal(3)])],
    "stack": lambda m: [
        s([m.normal(2, 3), m.normal(2, 3)]),
        s([m.normal(2), m.normal(2)], -1),
        s([m.normal(), m.normal()]),
    ],
    "split": lambda m: [s(m.normal(5, 2), 2), s(m.normal(2, 5), [1, 4], 1), s(m.normal(4), 9)],
    "chunk": lambda m: [s(m.normal(5, 2), 2), s(m.normal(2, 4), 3, -1)],
    "unbind": lambda m: [s(m.normal(2, 3)), s(m.normal(2, 3), -1)],
    "meshgrid": lambda m: [s(m.normal(2), m.normal(3), indexing="ij"), s(m.normal(2), m.normal(3), indexing="xy")],
    "flip": lambda m: [s(m.normal(2, 3), (0,)), s(m.normal(2, 3), (0, -1))],
    "tril": lambda m: [s(m.normal(3, 3)), s(m.normal(2, 3, 2), -1)],
    "triu": lambda m: [s(m.normal(3, 3)), s(m.normal(2, 3, 2), 1)],
    # Parts
    "select": lambda m: [s(m.normal(2, 3), 0, 1), s(m.normal(2, 3), -1, -1)],
    "narrow": lambda m: [s(m.normal(4, 3), 0, 1, 2), s(m.normal(2, 3), -1, -2, 2), s(m.normal(2, 3), 1, 0, 0)],
    "gather": lambda m: [
        s(m.normal(2, 3), 1, m.ints(3, 2, 4)),
        s(m.normal(3, 2), 0, m.ints(3, 1, 2)),
        s(m.normal(), 0, m.ints(1)),
    ],
    "index_select": lambda m: [s(m.normal(4, 3), 0, m.ints(4, 5)), s(m.normal(2, 3), -1, m.ints(3, 2))],
    # Losses
    "mse_loss": _loss,
    "l1_loss": _margin_loss(),
    "smooth_l1_loss": _margin_loss(beta=0.4),
    "huber_loss": _margin_loss(delta=0.4),
    "nll_loss": _nll,
    "cross_entropy": lambda m: [
        *_nll(m),
        s(m.normal(4, 3), m.ints(3, 4), label_smoothing=0.1),
        s(m.normal(4, 3), np.array([0, 1, 1, 2]), ignore_index=1, label_smoothing=0.1),
        s(m.normal(2, 3, 2), m.ints(3, 2, 2), label_smoothing=0.2, reduction="sum"),
    ],
    "binary_cross_entropy": lambda m: [
        s(m.rng.uniform(0.1, 0.9, (2, 3)), m.rng.uniform(0.1, 0.9, (2, 3)), reduction=r)
        for r in ("mean", "sum", "none")
    ],
    "binary_cross_entropy_with_logits": _bce_with_logits,
}
SAMPLES.update({**LAYERS, **POOLS, **ALGEBRA, **ACTIVATIONS})
"""Functions with a derivative, by name."""

COMPARISONS = ["eq", "ne", "lt", "le", "gt", "ge", "greater", "greater_equal", "less", "less_equal", "not_equal"]

VALUES_ONLY: dict[str, Callable[[Maker], list[Sample]]] = {
    **{
        name: lambda m: [
            s(m.ints(3, 2, 3), m.ints(3, 3)),
            s(m.normal(3), 0.0),
            s(m.ints(3, 4), 1),
            s(m.normal(2), m.ints(2, 2)),
            s(m.bools(3), m.bools(3)),
        ]
        for name in COMPARISONS
    },
    **{
        name: lambda m: [s(m.bools(4), m.bools(4)), s(m.ints(2, 4), m.bools(4)), s(m.normal(2, 2), m.ints(2, 2))]
        for name in ["logical_and", "logical_or", "logical_xor"]
    },
    **{
        name: lambda m: [s(m.ints(8, 4), m.ints(8, 4)), s(m.bools(4), m.bools(4)), s(m.ints(8, 4), 3)]
        for name in ["bitwise_and", "bitwise_or", "bitwise_xor"]
    },
    "bitwise_not": lambda m: [s(m.ints(8, 4)), s(m.bools(4))],
    "logical_not": lambda m: [s(m.ints(2, 4)), s(m.bools(4)), s(m.normal(2))],
    "floor_divide": lambda m: [
        s(m.distinct(4) * 4, 1.7),
        s(m.ints(9, 4) - 4, 3),
        s(m.ints(9, 4) - 4, m.ints(3, 4) + 1),
    ],
    "all": lambda m: [s(m.bools(2, 3)), s(m.bools(2, 3), 0), s(m.ints(2, 2, 3), -1, True), s(m.normal(0))],
    "any": lambda m: [s(m.bools(2, 3)), s(m.bools(2, 3), 0), s(m.ints(2, 2, 3), -1, True), s(m.normal(0))],
    "argmax": lambda m: [s(m.distinct(2, 3)), s(m.distinct(2, 3), 0), s(m.distinct(2, 3), -1, True), s(m.distinct())],
    "argmin": lambda m: [s(m.distinct(2, 3)), s(m.distinct(2, 3), 0), s(m.distinct(2, 3), -1, True), s(m.distinct())],
    "nonzero": lambda m: [s(m.bools(2, 3)), s(m.ints(2, 4)), s(m.bools(3, 2), as_tuple=True)],
    "one_hot": lambda m: [s(m.ints(3, 4), 3), s(np.array([[0, 2], [1, 0]]))],
    **{
        name: lambda m: [s(np.array([1.0, np.nan, np.inf, -np.inf])), s(m.ints(3, 2))]
        for name in ["isnan", "isinf", "isfinite"]
    },
    "isclose": lambda m: [s(np.array([1.0, 2.0, np.nan]), np.array([1.0 + 1e-7, 2.1, np.nan]), equal_nan=True)],
    "allclose": lambda m: [s(np.array([1.0, 2.0]), np.array([1.0 + 1e-9, 2.0])), s(np.array([1.0]), np.array([1.1]))],
    "equal": lambda m: [s(m.ints(2, 3), m.ints(2, 3)), s(np.ones(2), np.ones(2)), s(np.ones(2), np.ones(3))],
    "full": lambda m: [s((2, 3), 1.5), s((2,), 3), s((), True)],
    "zeros": lambda m: [s(2, 3), s((2, 0)), s(())],
    "ones": lambda m: [s(2, 3), s((2, 0)), s([2])],
    "zeros_like": lambda m: [s(m.normal(2, 3)), s(m.ints(2, 2))],
    "ones_like": lambda m: [s(m.normal(2, 3)), s(m.ints(2, 2))],
    "full_like": lambda m: [s(m.normal(2, 3), 4), s(m.ints(2, 2), 1)],
    "arange": lambda m: [s(5), s(2, 7), s(1, 2, 0.25), s(5, 0, -2), s(0), s(1.0, 4.0)],
    "linspace": lambda m: [s(0, 1, 5), s(-2.0, 2.0, 1), s(3, 1, 3)],
    "logspace": lambda m: [s(0, 2, 3), s(0, 2, 3, base=2.0)],
    "eye": lambda m: [s(3), s(2, 3)],
    "tensor": lambda m: [
        s([1, 2]),
        s([[1.0, 2], [3, 4]]),
        s(True),
        s(3.5),
        s([]),
        s([[]]),
        s([True, False]),
        s([1, 2.5]),
    ],
    "as_tensor": lambda m: [s([1, 2]), s(m.normal(2, 3))],
    "promote_types": lambda m: [],
    "result_type": lambda m: [],
}
"""Functions whose values alone are compared."""

ELSEWHERE = {
    *("get_device", "is_conj", "is_neg", "is_same_size", "is_signed", "is_storage", "typename"),  # test_less_used.py
    "bernoulli",
    "can_cast",
    "get_default_device",
    "is_anomaly_check_nan_enabled",
    "is_anomaly_enabled",
    "is_complex",
    "is_floating_point",
    "is_inference",
    "is_nonzero",
    "is_tensor",
    "numel",
    "set_default_device",
    "empty",
    "empty_like",
    "from_dlpack",
    "from_numpy",
    "get_default_dtype",
    "get_num_threads",
    "get_rng_state",
    "initial_seed",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "manual_seed",
    "multinomial",
    "normal",
    "poisson",
    "rand",
    "rand_like",
    "randint",
    "randint_like",
    "randn",
    "randn_like",
    "randperm",
    "seed",
    "set_default_dtype",
    "set_num_threads",
    "set_printoptions",
    "set_rng_state",
}
"""Functions that draw, store or set something, and so have tests of their own."""


def _write_row(x: Any, y: Any) -> Any:
    z = x.clone()
    z[0] = y * 2
    z[:, 1].mul_(y[0])
    return z * z


def _write_masked(x: Any, y: Any) -> Any:
    z = x * 1
    z[x > 0] = 0.5
    z[[0, 1], [1, 0]] = y[:2]
    return z**2


def _write_through_views(x: Any, y: Any) -> Any:
    z = x.clone().contiguous()
    z.t()[1:].sin_()
    z.view(-1)[::2].add_(y[0]).mul_(2)
    return z * x


def _write_into_a_constant(x: Any, y: Any) -> Any:
    z = x.detach().clone()
    z[1] = y
    z[0].copy_(x[0])
    return z * z


EXPRESSIONS: dict[str, tuple[Callable[..., Any], Callable[[Maker], list[np.ndarray]]]] = {
    "x[1]": (lambda x: x[1], lambda m: [m.normal(3, 2)]),
    "x[-1, 0]": (lambda x: x[-1, 0], lambda m: [m.normal(3, 2)]),
    "x[1:, ::2]": (lambda x: x[1:, ::2], lambda m: [m.normal(3, 4)]),
    "x[..., None, 1]": (lambda x: x[..., None, 1], lambda m: [m.normal(3, 2)]),
    "x[None]": (lambda x: x[None], lambda m: [m.normal(2)]),
    "x[[0, 2, 2]]": (lambda x: x[[0, 2, 2]], lambda m: [m.normal(3, 2)]),
    "x[index]": (lambda x, i: x[i], lambda m: [m.normal(3, 2), m.ints(3, 2, 2)]),
    "x[index, index]": (lambda x, i, j: x[i, j], lambda m: [m.normal(3, 2), m.ints(3, 4), m.ints(2, 4)]),
    "x[:, index]": (lambda x, i: x[:, i], lambda m: [m.normal(2, 3), m.ints(3, 4)]),
    "x[index, :, index]": (lambda x, i, j: x[i, :, j], lambda m: [m.normal(3, 2, 2), m.ints(3, 4), m.ints(2, 4)]),
    "x[0, :, index]": (lambda x, i: x[0, :, i], lambda m: [m.normal(2, 3, 4), m.ints(4, 2)]),
    "x[mask]": (lambda x, k: x[k], lambda m: [m.normal(3, 2), m.bools(3, 2)]),
    "x[row mask]": (lambda x, k: x[k], lambda m: [m.normal(3, 2), m.bools(3)]),
    "x[:, mask]": (lambda x, k: x[:, k], lambda m: [m.normal(2, 3), m.bools(3)]),
    "x[negative index]": (lambda x, i: x[i - 3], lambda m: [m.normal(3, 2), m.ints(3, 4)]),
    "x.T": (lambda x: x.T, lambda m: [m.normal(2, 3)]),
    "x.mT": (lambda x: x.mT, lambda m: [m.normal(2, 2, 3)]),
    "2 - x": (lambda x: 2 - x, lambda m: [m.normal(2)]),
    "2 / x": (lambda x: 2 / x, lambda m: [m.positive(2)]),
    "2 ** x": (lambda x: 2**x, lambda m: [m.normal(2)]),
    "-x": (lambda x: -x, lambda m: [m.normal(2)]),
    "abs(x)": (lambda x: abs(x), lambda m: [m.distinct(2)]),
    "x @ y": (lambda x, y: x @ y, lambda m: [m.normal(2, 3), m.normal(3, 2)]),
    "x % 0.7": (lambda x: x % 0.7, lambda m: [m.distinct(3)]),
    "x + x": (lambda x: x + x, lambda m: [m.normal(2, 3)]),
    "x.repeated sum": (lambda x: x.sum() + x.mean() + x[0].sum(), lambda m: [m.normal(2, 3)]),
    "iterate": (lambda x: sum(row * i for i, row in enumerate(x)), lambda m: [m.normal(3, 2)]),
    "x.to(float32 and back)": (lambda x: x.float().double() * 2, lambda m: [m.normal(3)]),
    "x.type_as": (lambda x, y: x.type_as(y), lambda m: [m.normal(3), m.normal(2)]),
    "write a row": (_write_row, lambda m: [m.normal(2, 3), m.normal(3)]),
    "write through a mask": (_write_masked, lambda m: [m.distinct(2, 3), m.normal(3)]),
    "write through views": (_write_through_views, lambda m: [m.normal(2, 3), m.normal(2)]),
    "write into a constant": (_write_into_a_constant, lambda m: [m.normal(2, 3), m.normal(3)]),
    "class weights": (
        lambda x: x.log_softmax(1).gather(1, (x > 0).long()[:, :1]).mean(),
        lambda m: [m.normal(4, 3)],
    ),
}
EXPRESSIONS.update(DECOMPOSITIONS)
"""What is written with operators and indices, and what needs arguments of a special form."""

from . import samples_arithmetic, samples_creation, samples_cumulative, samples_reductions, samples_special  # noqa: E402 - the families' samples use the names above

for _family in (samples_arithmetic, samples_creation, samples_cumulative, samples_reductions, samples_special):
    SAMPLES.update(_family.SAMPLES)
    VALUES_ONLY.update(_family.VALUES_ONLY)

from . import samples_indexing, samples_later, samples_shape  # noqa: E402

for _parts in (samples_shape, samples_indexing, samples_later):
    SAMPLES.update(_parts.SAMPLES)
    VALUES_ONLY.update(_parts.VALUES_ONLY)
    EXPRESSIONS.update(_parts.EXPRESSIONS)
ELSEWHERE.add("index_put_")
ELSEWHERE.update(samples_later.ELSEWHERE)
ELSEWHERE.update(
    [
        "ctc_loss",
        "linear_cross_entropy",
        "multi_head_attention_forward",
        "fractional_max_pool2d",
        "fractional_max_pool3d",
        "gumbel_softmax",
        "load",
        "save",
        *(n + "_" for n in ("celu", "elu", "hardtanh", "leaky_relu", "rrelu", "selu", "threshold")),
    ]
)
