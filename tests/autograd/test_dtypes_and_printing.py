"""Type promotion and printed tensors are torch's."""

import operator
import warnings

import numpy as np
import pytest

import rlgrad

torch = pytest.importorskip("torch")

DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"]
OPERATORS = [operator.add, operator.mul, operator.sub, operator.truediv, operator.lt]


def outcome(function, *operands):
    """The dtype of a result, or the class of the error."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return str(function(*operands).dtype)
        except Exception as error:
            return type(error)


@pytest.mark.parametrize("function", OPERATORS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("first", DTYPES)
def test_promotion_of_tensors_and_numbers(function, first):
    def make(lib, dtype, shape):
        return lib.ones(shape, dtype=getattr(lib, dtype))

    for second in DTYPES:
        for a, b in (((2,), (2,)), ((2,), ()), ((), (2,)), ((), ())):
            results = [outcome(function, make(lib, first, a), make(lib, second, b)) for lib in (rlgrad, torch)]
            assert results[0] == results[1], (first, a, second, b)
    for number in (True, 2, 2.5):
        for shape in ((2,), ()):
            results = [outcome(function, make(lib, first, shape), number) for lib in (rlgrad, torch)]
            assert results[0] == results[1], (first, shape, number)
            results = [outcome(function, number, make(lib, first, shape)) for lib in (rlgrad, torch)]
            assert results[0] == results[1], (number, first, shape)


@pytest.mark.parametrize("first", DTYPES)
def test_in_place_casting(first):
    for second in DTYPES:
        results = [
            outcome(lambda a, b: a.add_(b), *(lib.ones(2, dtype=getattr(lib, d)) for d in (first, second)))
            for lib in (rlgrad, torch)
        ]
        assert results[0] == results[1], (first, second)


rng = np.random.default_rng(0)
ARRAYS = {
    "floats": rng.standard_normal(5).astype(np.float32),
    "matrix": rng.standard_normal((3, 4)).astype(np.float32),
    "nested": rng.standard_normal((2, 2, 3)).astype(np.float32),
    "double": rng.standard_normal((2, 2)),
    "half": rng.standard_normal(3).astype(np.float16),
    "whole": np.array([1.0, 2.0, 300.0], np.float32),
    "large": np.array([1e9, 1.0, 2.5], np.float32),
    "wide range": np.array([1e-3, 1e3, 1.5], np.float32),
    "small": np.array([1e-7, 2e-6], np.float32),
    "huge whole": np.array([1e10, 2e10], np.float32),
    "nan and inf": np.array([np.nan, np.inf, -np.inf, 1.5], np.float32),
    "nan": np.array([np.nan, np.nan], np.float32),
    "inf and whole": np.array([np.inf, 1.0], np.float32),
    "zeros": np.zeros((2, 3), np.float32),
    "negative": -rng.random((2, 3)).astype(np.float32) * 100,
    "ints": rng.integers(-100, 100, (3, 3)),
    "int32": rng.integers(0, 9, 4).astype(np.int32),
    "bools": np.array([[True, False], [False, True]]),
    "long": rng.standard_normal(2000).astype(np.float32),
    "long matrix": rng.standard_normal((60, 50)).astype(np.float32),
    "tall": rng.integers(0, 9, (1200, 2)),
    "many columns": rng.standard_normal((2, 30)).astype(np.float32),
    "number": np.array(3.14159, np.float32),
    "whole number": np.array(3.0, np.float32),
    "int number": np.array(7),
    "bool number": np.array(True),
    "tiny number": np.array(1e-8, np.float32),
    "nan number": np.array(np.nan, np.float32),
    "empty": np.zeros(0, np.float32),
    "empty matrix": np.zeros((0, 3), np.float32),
    "empty ints": np.zeros((2, 0), np.int64),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_repr_is_torchs(name):
    mine, other = rlgrad.from_numpy(ARRAYS[name].copy()), torch.from_numpy(ARRAYS[name].copy())
    assert repr(mine) == repr(other)
    if mine.is_floating_point():
        assert repr(mine.requires_grad_()) == repr(other.requires_grad_())
        assert repr(mine * 1) == repr(other * 1)
        assert repr(mine.exp()) == repr(other.exp())


@pytest.mark.parametrize("seed", range(20))
def test_repr_of_random_tensors_is_torchs(seed):
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(1, 5, rng.integers(0, 4)))
    values = (rng.standard_normal(shape) * 10.0 ** rng.integers(-6, 10)).astype(np.float32)
    values = np.asarray(np.round(values) if seed % 3 == 0 else values)
    assert repr(rlgrad.from_numpy(values)) == repr(torch.from_numpy(values))


PRINTED = {
    "whole numbers far apart": np.array([1.0, 2000.0], np.float32),
    "small whole range": np.array([0.0, 3.0, -7.0]),
    "mixture": np.array([np.nan, -np.inf, 1e-5, 123.456, 0.0]),
    "nothing finite": np.array([np.nan, np.inf]),
    "many": np.arange(1300.0).reshape(13, 100),
    "0-d": np.array(1e10),
    "empty": np.zeros((2, 0, 3), np.int32),
    "bytes": np.arange(30, dtype=np.uint8).reshape(2, 3, 5),
    "masks": np.arange(1101) % 3 == 0,
}
OPTIONS = [
    {},
    {"profile": "short"},
    {"profile": "full", "linewidth": 120},
    {"edgeitems": 0, "threshold": 2},
    {"edgeitems": 1, "threshold": 0, "precision": 2},
    {"sci_mode": True},
    {"sci_mode": False, "linewidth": 10},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("name", PRINTED)
def test_print_options_are_torchs(name, options):
    texts = []
    for library in (rlgrad, torch):
        try:
            library.set_printoptions(**{"profile": "default", **options})
            x = library.from_numpy(PRINTED[name].copy())
            texts.append([repr(x), repr(x.t()) if x.ndim == 2 else ""])
            if x.is_floating_point():
                p = library.nn.Parameter(x)
                texts[-1] += [repr(p), f"{p}", repr(p * 1), repr((p * 1).reshape(-1)[1:]), str(p.detach())]
        finally:
            library.set_printoptions(profile="default")
    assert texts[0] == texts[1]
