"""Recurrent layers, cells and packed sequences against torch."""

import numpy as np
import pytest

import rlgrad
from rlgrad import nn
from rlgrad.nn.utils import rnn as sequences

torch = pytest.importorskip("torch")
rng = np.random.default_rng(0)

LAYERS = [
    ("RNN", {}),
    ("RNN", {"nonlinearity": "relu", "bidirectional": True, "num_layers": 2}),
    ("LSTM", {}),
    ("LSTM", {"num_layers": 2, "bidirectional": True, "batch_first": True}),
    ("LSTM", {"proj_size": 2, "num_layers": 2, "bidirectional": True}),
    ("LSTM", {"bias": False}),
    ("GRU", {}),
    ("GRU", {"num_layers": 2, "bidirectional": True, "bias": False}),
]


def pair(name, *args, **options):
    theirs = getattr(torch.nn, name)(*args, **options, dtype=torch.float64)
    ours = getattr(nn, name)(*args, **options, dtype=rlgrad.float64)
    ours.load_state_dict({k: v.detach().numpy() for k, v in theirs.state_dict().items()})
    assert repr(ours) == repr(theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    return ours, theirs


def flat(value):
    if isinstance(value, (tuple, list)):
        return [leaf for part in value for leaf in flat(part)]
    return [value]


def assert_close(ours, theirs, outputs, expected, inputs=()):
    total = total_torch = 0
    outputs, expected = flat(outputs), flat(expected)
    for a, b in zip(outputs, expected, strict=True):
        assert tuple(a.shape) == tuple(b.shape)
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), atol=1e-10)
        weight = np.cos(np.arange(a.numel())).reshape(tuple(a.shape))
        total = total + (a * rlgrad.tensor(weight)).sum()
        total_torch = total_torch + (b * torch.tensor(weight)).sum()
    total.backward()
    total_torch.backward()
    for (name, p), q in zip(ours.named_parameters(), theirs.parameters(), strict=True):
        np.testing.assert_allclose(p.grad.numpy(), q.grad.numpy(), atol=1e-9, err_msg=name)
    for a, b in inputs:
        np.testing.assert_allclose(a.grad.numpy(), b.grad.numpy(), atol=1e-9)


def leaves(*shapes):
    arrays = [rng.standard_normal(shape) for shape in shapes]
    return [rlgrad.tensor(a, requires_grad=True) for a in arrays], [torch.tensor(a, requires_grad=True) for a in arrays]


@pytest.mark.parametrize(("name", "options"), LAYERS)
@pytest.mark.parametrize("given", [False, True])
def test_outputs_states_and_gradients_are_torchs(name, options, given):
    ours, theirs = pair(name, 3, 4, **options)
    rows = options.get("num_layers", 1) * (2 if options.get("bidirectional") else 1)
    shapes = [(5, 2, 3)]
    if given:
        batch = 5 if options.get("batch_first") else 2
        shapes.append((rows, batch, options.get("proj_size", 4)))
        if name == "LSTM":
            shapes.append((rows, batch, 4))
    a, b = leaves(*shapes)

    def run(module, tensors):
        if not given:
            return module(tensors[0])
        return module(tensors[0], tuple(tensors[1:]) if name == "LSTM" else tensors[1])

    assert_close(ours, theirs, run(ours, a), run(theirs, b), list(zip(a, b, strict=True)))


@pytest.mark.parametrize("name", ["RNN", "LSTM", "GRU"])
def test_one_sequence_needs_no_batch_dimension(name):
    ours, theirs = pair(name, 3, 4)
    a, b = leaves((5, 3))
    assert_close(ours, theirs, ours(*a), theirs(*b), list(zip(a, b, strict=True)))


@pytest.mark.parametrize("name", ["RNN", "LSTM", "GRU"])
@pytest.mark.parametrize("options", [{}, {"bidirectional": True, "num_layers": 2}])
def test_packed_sequences_stop_at_their_lengths(name, options):
    ours, theirs = pair(name, 3, 4, **options)
    a, b = leaves((5, 3, 3))
    lengths = [2, 5, 3]
    packed = sequences.pack_padded_sequence(a[0], lengths, enforce_sorted=False)
    packed_torch = torch.nn.utils.rnn.pack_padded_sequence(b[0], lengths, enforce_sorted=False)
    np.testing.assert_array_equal(packed.data.detach().numpy(), packed_torch.data.detach().numpy())
    out, state = ours(packed)
    expected, state_torch = theirs(packed_torch)
    padded = sequences.pad_packed_sequence(out)
    padded_torch = torch.nn.utils.rnn.pad_packed_sequence(expected)
    assert padded[1].tolist() == padded_torch[1].tolist()
    assert_close(ours, theirs, [padded[0], state], [padded_torch[0], state_torch], list(zip(a, b, strict=True)))


@pytest.mark.parametrize("name", ["RNNCell", "LSTMCell", "GRUCell"])
@pytest.mark.parametrize("bias", [True, False])
def test_cells_are_torchs(name, bias):
    ours, theirs = pair(name, 3, 4, bias=bias)
    a, b = leaves((2, 3), (2, 4), (2, 4))

    def run(module, tensors):
        return module(tensors[0], tuple(tensors[1:]) if name == "LSTMCell" else tensors[1])

    used = 3 if name == "LSTMCell" else 2
    assert_close(ours, theirs, run(ours, a), run(theirs, b), list(zip(a[:used], b[:used], strict=True)))
    assert ours(rlgrad.zeros(3, dtype=rlgrad.float64)) is not None


@pytest.mark.parametrize("name", ["RNN", "LSTM", "GRU"])
def test_gradients_can_be_differentiated(name):
    ours, theirs = pair(name, 2, 3)
    a, b = leaves((3, 2, 2))
    found = []
    for module, (x,), grad in ((ours, a, rlgrad.autograd.grad), (theirs, b, torch.autograd.grad)):
        (slope,) = grad((module(x)[0] ** 2).sum(), x, create_graph=True)
        (slope**2).sum().backward()
        found.append([x.grad.numpy(), *[p.grad.numpy() for p in module.parameters()]])
    for first, second in zip(*found, strict=True):
        np.testing.assert_allclose(first, second, atol=1e-9)


def test_dropout_between_layers_acts_in_training_only():
    module = nn.GRU(3, 4, 2, dropout=0.9)
    x = rlgrad.ones(5, 2, 3)
    assert not np.array_equal(module(x)[0].detach().numpy(), module(x)[0].detach().numpy())
    module.eval()
    np.testing.assert_array_equal(module(x)[0].detach().numpy(), module(x)[0].detach().numpy())


def test_a_state_of_the_wrong_size_is_refused():
    with pytest.raises(RuntimeError, match="Expected hidden size"):
        nn.GRU(3, 4)(rlgrad.zeros(5, 2, 3), rlgrad.zeros(1, 3, 4))


def test_padding_and_unpadding_are_inverse():
    rows = [rlgrad.arange(n).float() for n in (2, 4, 1)]
    padded = sequences.pad_sequence(rows, batch_first=True, padding_value=-1.0)
    assert padded.tolist() == [[0, 1, -1, -1], [0, 1, 2, 3], [0, -1, -1, -1]]
    back = sequences.unpad_sequence(padded, rlgrad.tensor([2, 4, 1]), batch_first=True)
    assert [r.tolist() for r in back] == [r.tolist() for r in rows]


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("total", [None, 7])
def test_packing_and_padding_are_torchs(batch_first, total):
    lengths = [2, 5, 3, 5]
    shape = (4, 5, 3) if batch_first else (5, 4, 3)
    values = rng.standard_normal(shape)
    records = []
    for library in (rlgrad, torch):
        utils = library.nn.utils.rnn
        x = library.tensor(values, requires_grad=True)
        packed = utils.pack_padded_sequence(x, lengths, batch_first, enforce_sorted=False)
        padded, counts = utils.pad_packed_sequence(packed, batch_first, -1.5, total)
        (padded**2).sum().backward()
        unpacked = utils.unpack_sequence(packed)
        records.append([*[p.detach().numpy() for p in (*packed, padded, counts, *unpacked)], x.grad.numpy()])
    for a, b in zip(*records, strict=True):
        if a.dtype.kind == "f" or a.shape == b.shape:
            assert a.shape == b.shape
    sorted_places = (2, 3)  # of equal lengths either may come first
    for place, (a, b) in enumerate(zip(*records, strict=True)):
        if place not in (0, *sorted_places):
            np.testing.assert_allclose(a, b, atol=1e-12)


def test_packed_sequences_convert_and_know_their_order():
    packed = sequences.pack_sequence([rlgrad.ones(2), rlgrad.ones(3)], enforce_sorted=False)
    assert packed.double().data.dtype is rlgrad.float64
    assert packed.float() is packed
    assert packed.sorted_indices.tolist() == [1, 0]
    again = sequences.PackedSequence(packed.data, packed.batch_sizes, rlgrad.tensor([2, 0, 1]))
    assert again.unsorted_indices.tolist() == [1, 2, 0]
    assert again.long().unsorted_indices.tolist() == [1, 2, 0]


@pytest.mark.parametrize(
    ("function", "args", "error"),
    [
        ("pack_padded_sequence", ((3, 2), [1, 3]), RuntimeError),
        ("pack_padded_sequence", ((3, 2), [3, 0]), RuntimeError),
        ("pack_padded_sequence", ((3, 2), [3]), RuntimeError),
        ("pad_sequence", ([],), RuntimeError),
        ("pad_sequence", (3,), RuntimeError),
    ],
)
def test_lengths_that_do_not_fit_are_refused(function, args, error):
    for library in (rlgrad, torch):
        given = [library.zeros(a) if isinstance(a, tuple) else a for a in args]
        with pytest.raises(error):
            getattr(library.nn.utils.rnn, function)(*given)


def test_a_length_beyond_the_padding_is_refused():
    with pytest.raises(RuntimeError, match="only 3 steps"):
        sequences.pack_padded_sequence(rlgrad.zeros(3, 2), [4, 3])
