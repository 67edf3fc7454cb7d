"""Attention and transformers against torch where PyTorch's own module samples do not reach."""

import itertools

import numpy as np
import pytest

import rlgrad

from . import torch_modules

torch = pytest.importorskip("torch")
rng = np.random.default_rng(0)


def leaves(*shapes):
    arrays = [rng.standard_normal(shape) for shape in shapes]
    return [rlgrad.tensor(a, requires_grad=True) for a in arrays], [torch.tensor(a, requires_grad=True) for a in arrays]


def constants(*arrays):
    return [rlgrad.tensor(a) for a in arrays], [torch.tensor(a) for a in arrays]


def pair(name, *args, **kwargs):
    theirs = getattr(torch.nn, name)(*args, **kwargs).double().eval()
    ours = getattr(rlgrad.nn, name)(*args, **kwargs).double().eval()
    assert repr(ours) == repr(theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    with torch.no_grad():
        for number, p in enumerate(theirs.parameters()):
            p += 0.1 * torch.cos(torch.arange(p.numel()) + number).reshape(p.shape)
    ours.load_state_dict({key: value.numpy().copy() for key, value in theirs.state_dict().items()})
    return ours, theirs


def assert_same(outputs, expected, inputs, modules=None):
    outputs, expected = torch_modules.leaves(outputs), torch_modules.leaves(expected)
    assert len(outputs) == len(expected)
    for a, b in zip(outputs, expected, strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), atol=1e-10)
    torch_modules.weighted(outputs, rlgrad).backward()
    torch_modules.weighted(expected, torch).backward()
    pairs = list(zip(*inputs, strict=True))
    if modules is not None:
        pairs += list(zip(modules[0].parameters(), modules[1].parameters(), strict=True))
    for a, b in pairs:
        if b.grad is not None:
            np.testing.assert_allclose(a.grad.numpy(), b.grad.numpy(), atol=1e-9)


@pytest.mark.parametrize(
    "options", [{}, {"kdim": 5, "vdim": 3}, {"add_bias_kv": True, "add_zero_attn": True, "bias": False}]
)
@pytest.mark.parametrize("batch_first", [False, True])
def test_attention_with_every_mask(options, batch_first):
    modules = pair("MultiheadAttention", 6, 2, batch_first=batch_first, **options)
    k, v = options.get("kdim", 6), options.get("vdim", 6)
    shapes = [(2, 4, 6), (2, 3, k), (2, 3, v)] if batch_first else [(4, 2, 6), (3, 2, k), (3, 2, v)]
    flags = np.array([[False, True, False], [False, False, True]])
    pairs = rng.random((4, 3)) < 0.2
    kinds = {
        "none": (None, None),
        "bool": (flags, pairs),
        "float": (flags * -2.0, rng.standard_normal((4, 4, 3))),
        "padding": (flags, None),
        "per head": (None, rng.random((4, 4, 3)) < 0.2),
    }
    for (padding, mask), need, average in itertools.product(kinds.values(), (True, False), (True, False)):
        inputs = leaves(*shapes)
        found = []
        for library, place in ((rlgrad, 0), (torch, 1)):
            given = {
                "key_padding_mask": None if padding is None else library.tensor(padding),
                "attn_mask": None if mask is None else library.tensor(mask),
            }
            found.append(modules[place](*inputs[place], need_weights=need, average_attn_weights=average, **given))
        assert (found[0][1] is None) == (found[1][1] is None)
        assert_same(*found, inputs, modules)


@pytest.mark.parametrize("need", [True, False])
def test_self_attention_under_a_causal_mask(need):
    modules = pair("MultiheadAttention", 4, 2)
    inputs = leaves((5, 3, 4))
    found = []
    for library, module, (x,) in zip((rlgrad, torch), modules, inputs, strict=True):
        mask = library.nn.Transformer.generate_square_subsequent_mask(5, dtype=library.float64)
        found.append(module(x, x, x, attn_mask=mask, is_causal=True, need_weights=need))
    assert_same(*found, inputs, modules)
    with pytest.raises(RuntimeError, match="attn_mask"):
        modules[0](*[inputs[0][0]] * 3, is_causal=True)


def test_projected_keys_may_be_given():
    ours, theirs = pair("MultiheadAttention", 4, 2)
    inputs = leaves((3, 2, 4), (4, 5, 2), (4, 5, 2))
    found = []
    for library, module, (x, k, v) in ((rlgrad, ours, inputs[0]), (torch, theirs, inputs[1])):
        found.append(
            library.nn.functional.multi_head_attention_forward(
                x, x, x, 4, 2, module.in_proj_weight, module.in_proj_bias, None, None, False, 0.0,
                module.out_proj.weight, module.out_proj.bias, static_k=k, static_v=v,
            )
        )  # fmt: skip
    assert_same(*found, inputs)


@pytest.mark.parametrize(
    ("shapes", "options"),
    [
        (((3, 6), (3, 4), (3, 6)), {}),
        (((3, 6), (4, 6), (3, 6)), {}),
        (((3, 2, 6), (3, 6), (3, 6)), {}),
        (((6,), (6,), (6,)), {}),
        (((3, 2, 6), (3, 2, 6), (3, 2, 6)), {"attn_mask": (2, 2)}),
        (((3, 2, 6), (3, 2, 6), (3, 2, 6)), {"key_padding_mask": (3, 2)}),
        (((3, 2, 6), (3, 2, 6), (3, 2, 6)), {"key_padding_mask": (3,)}),
        (((3, 6), (3, 6), (3, 6)), {"attn_mask": (1, 3, 3)}),
    ],
)
def test_what_torch_refuses_is_refused(shapes, options):
    errors = []
    for library in (rlgrad, torch):
        module = library.nn.MultiheadAttention(6, 2)
        with pytest.raises((AssertionError, RuntimeError)) as caught:
            module(*[library.zeros(*s) for s in shapes], **{k: library.zeros(*s) for k, s in options.items()})
        errors.append(caught.type)
    assert errors[0] is errors[1]


@pytest.mark.parametrize(("args", "error"), [((0, 1), ValueError), ((6, 4), AssertionError)])
def test_impossible_sizes_are_refused(args, error):
    with pytest.raises(error):
        rlgrad.nn.MultiheadAttention(*args)


@pytest.mark.parametrize(
    ("shapes", "options"),
    [
        (((2, 3, 4), (2, 5, 4), (2, 5, 2)), {}),
        (((2, 3, 4), (2, 3, 4), (2, 3, 4)), {"is_causal": True}),
        (((2, 3, 4), (2, 5, 4), (2, 5, 4)), {"is_causal": True, "scale": 0.3}),
        (((1, 6, 3, 4), (1, 2, 5, 4), (1, 2, 5, 4)), {"enable_gqa": True}),
        (((2, 3, 4), (2, 5, 4), (2, 5, 4)), {"attn_mask": rng.random((3, 5)) < 0.6}),
        (
            ((2, 3, 4), (2, 5, 4), (2, 5, 4)),
            {"attn_mask": np.array([[True] * 5, [False] * 5, [False, True] + [False] * 3])},
        ),
        (((2, 3, 4), (2, 5, 4), (2, 5, 4)), {"attn_mask": rng.standard_normal((2, 3, 5))}),
    ],
)
def test_scaled_dot_products(shapes, options):
    inputs = leaves(*shapes)
    found = []
    for library, tensors in zip((rlgrad, torch), inputs, strict=True):
        given = {k: library.tensor(v) if isinstance(v, np.ndarray) else v for k, v in options.items()}
        found.append(library.nn.functional.scaled_dot_product_attention(*tensors, **given))
    assert_same(*found, inputs)


def test_dropout_of_attention_acts_in_training_only():
    module = rlgrad.nn.MultiheadAttention(4, 2, dropout=0.9)
    x = rlgrad.ones(5, 2, 4)
    assert module(x, x, x)[0].tolist() != module(x, x, x)[0].tolist()
    module.eval()
    assert module(x, x, x)[0].tolist() == module(x, x, x)[0].tolist()


@pytest.mark.parametrize("causal", [None, True, False])
@pytest.mark.parametrize(
    "options", [{}, {"norm_first": True, "batch_first": True, "activation": "gelu", "bias": False}]
)
def test_whole_transformers(options, causal):
    modules = pair("Transformer", 4, 2, 2, 2, 8, **options)
    inputs = leaves((2, 2, 4), (2, 2, 4))
    padding = constants(np.array([[False, True], [False, False]]))
    found = []
    for library, module, tensors, (pads,) in zip((rlgrad, torch), modules, inputs, padding, strict=True):
        mask = library.nn.Transformer.generate_square_subsequent_mask(2, dtype=library.float64)
        found.append(module(*tensors, tgt_mask=mask, src_key_padding_mask=pads, tgt_is_causal=causal))
    assert_same(*found, inputs, modules)


def test_decoder_is_a_stack_of_copies():
    found, inputs = [], leaves((3, 2, 4), (5, 2, 4))
    states = None
    for library, tensors in zip((torch, rlgrad), reversed(inputs), strict=True):
        layer = library.nn.TransformerDecoderLayer(4, 2, 8, activation=library.tanh).eval()
        decoder = library.nn.TransformerDecoder(layer, 2, library.nn.LayerNorm(4)).double().eval()
        assert decoder.layers[0] is not layer
        if states is None:
            states = {key: value.numpy() for key, value in decoder.state_dict().items()}
        else:
            decoder.load_state_dict(states)
        found.append(decoder(*tensors))
    assert_same(found[1], found[0], inputs)


def test_parts_of_a_transformer_may_be_given():
    class Middle(rlgrad.nn.Module):
        def forward(self, x, *args, **kwargs):
            return x * 2

    net = rlgrad.nn.Transformer(4, 2, custom_encoder=Middle(), custom_decoder=Middle())
    x = rlgrad.ones(3, 1, 4)
    assert net(x, x).tolist() == (x * 2).tolist()
    with pytest.raises(RuntimeError, match="d_model"):
        net(rlgrad.ones(3, 1, 5), x)
    with pytest.raises(RuntimeError, match="batch number"):
        net(rlgrad.ones(3, 2, 4), x)
    with pytest.raises(RuntimeError, match="relu/gelu"):
        rlgrad.nn.TransformerEncoderLayer(4, 2, activation="tanh")
