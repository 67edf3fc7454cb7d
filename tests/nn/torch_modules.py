"""PyTorch's own module samples (``torch.testing._internal.common_modules``), run through both libraries and compared."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

import rlgrad
from rlgrad import nn

try:
    import torch
    from torch.testing._internal.common_modules import ModuleErrorEnum, module_db
except ImportError:  # the tests that use this module are skipped
    torch = None  # type: ignore[assignment]
    module_db = []

INFOS = {info.name.removeprefix("nn."): info for info in module_db}


def convert(value: Any) -> Any:
    """A torch value, or a structure of them, as rlgrad's."""
    if isinstance(value, torch.Tensor):
        result = rlgrad.from_numpy(value.detach().numpy().copy())
        return result.requires_grad_() if value.requires_grad else result
    if isinstance(value, torch.dtype):
        return getattr(rlgrad, str(value).removeprefix("torch."))
    if isinstance(value, torch.nn.utils.rnn.PackedSequence):
        return nn.utils.rnn.PackedSequence(*[convert(part) for part in value])
    if isinstance(value, torch.nn.TransformerEncoderLayer):
        return encoder_layer(value)
    if isinstance(value, torch.nn.LinearCrossEntropyOptions):
        return nn.LinearCrossEntropyOptions(
            **{key: convert(getattr(value, key)) for key in nn.LinearCrossEntropyOptions.__dataclass_fields__}
        )
    if isinstance(value, (list, tuple)):
        return type(value)(convert(part) for part in value)
    if isinstance(value, dict):
        return {key: convert(part) for key, part in value.items()}
    if callable(value) and getattr(value, "__module__", "").startswith("torch"):
        return getattr(nn.functional, value.__name__)
    if callable(value) and getattr(torch.nn.functional, getattr(value, "__name__", ""), None) is value:
        return getattr(nn.functional, value.__name__)
    return value


def fresh(value: Any) -> Any:
    """The same structure with tensors that are leaves of their own."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone().requires_grad_(value.requires_grad)
    if isinstance(value, torch.nn.utils.rnn.PackedSequence):
        return type(value)(fresh(value.data), *value[1:])
    if isinstance(value, (list, tuple)):
        return type(value)(fresh(part) for part in value)
    return {key: fresh(part) for key, part in value.items()} if isinstance(value, dict) else value


def encoder_layer(layer: Any) -> Any:
    attention = layer.self_attn
    return nn.TransformerEncoderLayer(
        attention.embed_dim,
        attention.num_heads,
        layer.linear1.out_features,
        layer.dropout.p,
        convert(layer.activation),
        layer.norm1.eps,
        attention.batch_first,
        layer.norm_first,
        attention.in_proj_bias is not None,
        dtype=convert(layer.linear1.weight.dtype),
    )


def leaves(value: Any) -> list[Any]:
    """The tensors of a structure, in order."""
    if isinstance(value, (rlgrad.Tensor, torch.Tensor)):
        return [value]
    if isinstance(value, dict):
        value = value.values()
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [leaf for part in value for leaf in leaves(part)]
    return []


def samples(name: str, training: bool = True, dtype: Any = None) -> list[Any]:
    info = INFOS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.manual_seed(0)
        return info.module_inputs_func(
            info, device="cpu", dtype=dtype or torch.float64, requires_grad=True, training=training
        )


def build_pair(name: str, sample: Any, training: bool = True) -> tuple[Any, Any]:
    """The module of one sample in both libraries with the same state, after comparing keys and repr."""
    args, kwargs = sample.constructor_input.args, dict(sample.constructor_input.kwargs)
    theirs = getattr(torch.nn, name)(*args, **kwargs).double().train(training)
    ours = getattr(nn, name)(*convert(args), **convert(kwargs)).double().train(training)
    if name.startswith("Lazy"):
        return ours, theirs
    assert repr(ours) == repr(theirs)
    theirs_state = theirs.state_dict()
    assert list(ours.state_dict()) == list(theirs_state)
    if any(p.numel() for p in theirs.parameters()):
        with torch.no_grad():  # biases that start at zero would hide mistakes
            for number, parameter in enumerate(theirs.parameters()):
                parameter += 0.01 * torch.cos(torch.arange(parameter.numel()) + number).reshape(parameter.shape)
    ours.load_state_dict({key: value.detach().numpy().copy() for key, value in theirs_state.items()})
    return ours, theirs


def weighted(outputs: list[Any], library: Any) -> Any:
    """A scalar in which every element of every output counts differently."""
    total = 0
    for out in outputs:
        if out.requires_grad:
            factor = np.cos(np.arange(out.numel())).reshape(tuple(out.shape))
            total = total + (out * library.from_numpy(np.asarray(factor))).sum()
    return total


def check(name: str, sample: Any, training: bool = True, atol: float = 1e-8) -> None:
    """Compare outputs, then the gradients of parameters and inputs, then the buffers that a call changes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = build_pair(name, sample, training)
        args, kwargs = fresh(sample.forward_input.args), fresh(sample.forward_input.kwargs)
        ours_args, ours_kwargs = convert(args), convert(kwargs)
        expected = leaves(theirs(*args, **kwargs))
        if name.startswith("Lazy"):
            ours(*ours_args, **ours_kwargs)
            ours.load_state_dict({key: value.detach().numpy().copy() for key, value in theirs.state_dict().items()})
        found = leaves(ours(*ours_args, **ours_kwargs))
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        assert str(a.dtype) == str(b.dtype)
        assert tuple(a.shape) == tuple(b.shape)
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-8, atol=atol)
        assert a.requires_grad == b.requires_grad
    total, expected_total = weighted(found, rlgrad), weighted(expected, torch)
    if isinstance(total, int):
        return
    total.backward()
    expected_total.backward()
    pairs = [(key, p, q) for (key, p), q in zip(ours.named_parameters(), theirs.parameters(), strict=True)]
    inputs = zip(leaves([ours_args, ours_kwargs]), leaves([args, kwargs]), strict=True)
    pairs += [(f"input {i}", a, b) for i, (a, b) in enumerate(inputs) if b.requires_grad]
    for key, a, b in pairs:
        assert (a.grad is None) == (b.grad is None), key
        if b.grad is not None:
            np.testing.assert_allclose(a.grad.numpy(), b.grad.numpy(), rtol=1e-7, atol=atol, err_msg=key)
    for (key, a), b in zip(ours.named_buffers(), theirs.buffers(), strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-8, atol=atol, err_msg=key)


def check_errors(name: str) -> None:
    """What PyTorch refuses, rlgrad refuses with the same class of error, at construction or in the call."""
    info = INFOS[name]
    for error in info.module_error_inputs_func(
        info, device="cpu", dtype=torch.float64, requires_grad=False, training=True
    ):
        sample = error.module_error_input
        args, kwargs = convert(sample.constructor_input.args), convert(sample.constructor_input.kwargs)
        if error.error_on == ModuleErrorEnum.CONSTRUCTION_ERROR:
            with pytest.raises(error.error_type, match=error.error_regex):
                getattr(nn, name)(*args, **kwargs)
        else:
            module = getattr(nn, name)(*args, **kwargs)
            given, options = convert(sample.forward_input.args), convert(sample.forward_input.kwargs)
            with pytest.raises(error.error_type, match=error.error_regex):
                module(*given, **options)
