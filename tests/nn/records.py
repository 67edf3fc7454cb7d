"""What a scenario leaves behind under rlgrad and under torch, to be compared."""

import warnings

import numpy as np
import pytest

import rlgrad

torch = pytest.importorskip("torch")


def plain(value):
    """What two libraries' values have in common."""
    if isinstance(value, (rlgrad.Tensor, torch.Tensor)):
        return (str(value.dtype), value.requires_grad, np.round(value.detach().numpy(), 5).tolist())
    if isinstance(value, BaseException):
        return type(value).__name__
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    if isinstance(value, type):
        return value.__name__
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)


def attempt(function, *args, **kwargs):
    """What a call returns, or the error that it raises."""
    try:
        return function(*args, **kwargs)
    except Exception as error:
        return error


class Recorder(list):
    def hook(self, label, result=None):
        def call(*args):
            self.append([label, *[a.__class__.__name__ if hasattr(a, "modules") else plain(a) for a in args]])
            return result(*args) if callable(result) else result

        return call


def assert_same_record(scenario, *args):
    """`scenario(library, log, *args)` writes the same into its log under both libraries, whatever they warn of."""
    records = []
    for library in (rlgrad, torch):
        log = Recorder()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scenario(library, log, *args)
        records.append(plain(list(log)))
    assert records[0] == records[1]
