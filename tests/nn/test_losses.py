"""Losses against torch where PyTorch's own module samples do not reach: CTC, old arguments, distances, what is refused."""

import itertools

import numpy as np
import pytest

import rlgrad
from rlgrad import nn
from rlgrad.nn import functional as F

torch = pytest.importorskip("torch")

POINTWISE = ["l1_loss", "mse_loss", "smooth_l1_loss", "soft_margin_loss", "kl_div", "hinge_embedding_loss"]


def both_leaves(array):
    return rlgrad.tensor(array, requires_grad=True), torch.tensor(array, requires_grad=True)


def assert_same(ours, theirs, leaves, atol=1e-10):
    assert tuple(ours.shape) == tuple(theirs.shape)
    np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-9)
    ours.sum().backward()
    theirs.sum().backward()
    for a, b in leaves:
        np.testing.assert_allclose(a.grad.numpy(), b.grad.numpy(), atol=atol)


@pytest.mark.parametrize(
    ("steps", "input_lengths", "target_lengths"),
    [(12, (12, 10, 3, 12), (6, 3, 5, 0)), (5, (5, 4), (0, 0)), (12, (12,), (1,)), (5, (5, 0, 0), (2, 0, 1))],
)
@pytest.mark.parametrize("concatenated", [False, True])
def test_ctc_is_torchs_for_every_length_and_option(steps, input_lengths, target_lengths, concatenated):
    rng = np.random.default_rng(0)
    batch, classes = len(input_lengths), 5
    for reduction, zero_infinity, blank in itertools.product(("none", "mean", "sum"), (False, True), (0, 3)):
        values = rng.standard_normal((steps, batch, classes))
        labels = rng.choice([c for c in range(classes) if c != blank], (batch, 6))
        if concatenated:
            labels = np.concatenate([row[:n] for row, n in zip(labels, target_lengths, strict=True)])
        a, b = both_leaves(values)
        options = (input_lengths, target_lengths, blank, reduction, zero_infinity)
        ours = F.ctc_loss(a.log_softmax(-1), rlgrad.tensor(labels), *options)
        theirs = torch.nn.functional.ctc_loss(b.log_softmax(-1), torch.tensor(labels), *options)
        assert_same(ours, theirs, [(a, b)])


def test_ctc_gradient_is_that_of_the_loss():
    labels, lengths = rlgrad.tensor([[1, 1, 2], [3, 2, 0]]), ([6, 5], [3, 2])
    logits = rlgrad.tensor(np.random.default_rng(1).standard_normal((6, 2, 4)), requires_grad=True)
    assert rlgrad.autograd.gradcheck(lambda x: F.ctc_loss(x.log_softmax(-1), labels, *lengths), (logits,))
    loss = F.ctc_loss(logits.log_softmax(-1), labels, *lengths)
    with pytest.raises(NotImplementedError, match="second derivative"):
        rlgrad.autograd.grad(rlgrad.autograd.grad(loss, logits, create_graph=True)[0].sum(), logits)


def test_ctc_of_one_sequence_sums_over_its_alignments():
    probabilities = np.random.default_rng(2).dirichlet(np.ones(3), 4)
    total = 0.0
    for path in itertools.product(range(3), repeat=4):
        merged = [c for c, _ in itertools.groupby(path) if c != 0]
        if merged == [1, 2]:
            total += np.prod([probabilities[t, c] for t, c in enumerate(path)])
    loss = F.ctc_loss(rlgrad.tensor(np.log(probabilities)), rlgrad.tensor([1, 2]), [4], [2], reduction="sum")
    np.testing.assert_allclose(loss.item(), -np.log(total), rtol=1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"blank": 7}, "label range"),
        ({"input_lengths": [4]}, "batch_size"),
        ({"input_lengths": [9, 4]}, "at most 4"),
        ({"target_lengths": [1.5, 1.0]}, "integral"),
        ({"targets": rlgrad.tensor([[1.0], [2.0]])}, "integral"),
        ({"targets": rlgrad.tensor([[1], [9]])}, "must lie in"),
    ],
)
def test_ctc_says_what_does_not_fit(change, message):
    arguments = {"targets": rlgrad.tensor([[1], [2]]), "input_lengths": [4, 4], "target_lengths": [1, 1]} | change
    with pytest.raises(RuntimeError, match=message):
        F.ctc_loss(rlgrad.zeros(4, 2, 3).log_softmax(-1), **arguments)


@pytest.mark.parametrize("name", POINTWISE)
@pytest.mark.parametrize("old", [{"size_average": False}, {"reduce": False}, {"size_average": True, "reduce": True}])
def test_arguments_from_before_reduction_mean_what_they_did(name, old):
    rng = np.random.default_rng(3)
    a, b = both_leaves(rng.standard_normal((2, 3)))
    target = rng.choice([-1.0, 1.0], (2, 3)) if name != "kl_div" else rng.random((2, 3))
    with pytest.warns(UserWarning, match="reduction="):
        ours = getattr(F, name)(a, rlgrad.tensor(target), **old)
    assert_same(ours, getattr(torch.nn.functional, name)(b, torch.tensor(target), **old), [(a, b)])


def test_old_arguments_of_modules_set_their_reduction():
    with pytest.warns(UserWarning, match="reduction='sum'"):
        assert nn.MSELoss(size_average=False).reduction == "sum"
    with pytest.warns(FutureWarning, match="NLLLoss"):
        assert isinstance(nn.NLLLoss2d(reduction="none"), nn.NLLLoss)


@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_triplets_take_any_distance(swap, reduction):
    rng = np.random.default_rng(4)
    leaves = [both_leaves(rng.standard_normal((4, 3))) for _ in range(3)]
    results = []
    for library, place in ((rlgrad, 0), (torch, 1)):
        for distance in (None, lambda x, y: ((x - y) ** 2).sum(-1), library.nn.CosineSimilarity()):
            loss = library.nn.TripletMarginWithDistanceLoss(
                distance_function=distance, margin=0.7, swap=swap, reduction=reduction
            )
            results.append(loss(*[pair[place] for pair in leaves]))
    for ours, theirs in zip(results[:3], results[3:], strict=True):
        assert_same(ours, theirs, leaves)
    module, reference = (
        library.nn.TripletMarginLoss(0.7, 3.0, swap=swap, reduction=reduction) for library in (rlgrad, torch)
    )
    assert_same(module(*[a for a, _ in leaves]), reference(*[b for _, b in leaves]), leaves)


@pytest.mark.parametrize(
    ("name", "arguments", "error"),
    [
        ("TripletMarginLoss", {"margin": 0.0}, ValueError),
        ("TripletMarginWithDistanceLoss", {"margin": -1.0}, ValueError),
        ("MultiMarginLoss", {"p": 3}, ValueError),
        ("MSELoss", {"reduction": "average"}, ValueError),
        ("L1Loss", {"reduction": "batchmean"}, ValueError),
    ],
)
def test_impossible_options_are_refused(name, arguments, error):
    with pytest.raises(error):
        getattr(nn, name)(**arguments)


def test_a_batch_without_counted_targets_has_no_gradient():
    a, b = both_leaves(np.random.default_rng(5).standard_normal((2, 3)))
    ours = F.cross_entropy(a, rlgrad.tensor([1, 1]), ignore_index=1)
    theirs = torch.nn.functional.cross_entropy(b, torch.tensor([1, 1]), ignore_index=1)
    assert_same(ours, theirs, [(a, b)])
    assert a.grad.tolist() == [[0.0] * 3] * 2


@pytest.mark.parametrize("head_bias", [False, True])
def test_adaptive_softmax_is_torchs(head_bias):
    theirs = torch.nn.AdaptiveLogSoftmaxWithLoss(8, 30, [4, 12, 20], 2.0, head_bias).double()
    ours = nn.AdaptiveLogSoftmaxWithLoss(8, 30, [4, 12, 20], 2.0, head_bias).double()
    assert repr(ours) == repr(theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    ours.load_state_dict({key: value.numpy() for key, value in theirs.state_dict().items()})
    rng = np.random.default_rng(6)
    for labels in (rng.integers(0, 30, 20), rng.integers(0, 4, 5), np.array(25)):
        a, b = both_leaves(rng.standard_normal((*labels.shape, 8)))
        mine, other = ours(a, rlgrad.tensor(labels)), theirs(b, torch.tensor(labels))
        assert_same(mine.output * 1, other.output * 1, [(a, b)])
        np.testing.assert_allclose(mine.loss.item(), other.loss.item())
    x = rng.standard_normal((40, 8)) * 3
    np.testing.assert_allclose(
        ours.log_prob(rlgrad.tensor(x)).detach().numpy(), theirs.log_prob(torch.tensor(x)).detach().numpy(), atol=1e-12
    )
    assert ours.predict(rlgrad.tensor(x)).tolist() == theirs.predict(torch.tensor(x)).tolist()


@pytest.mark.parametrize("cutoffs", [[], [3, 2], [0, 2], [3, 10], [2, 2]])
def test_impossible_cutoffs_are_refused(cutoffs):
    with pytest.raises(ValueError, match="cutoffs"):
        nn.AdaptiveLogSoftmaxWithLoss(4, 10, cutoffs)


def test_adaptive_softmax_says_what_does_not_fit():
    model = nn.AdaptiveLogSoftmaxWithLoss(4, 10, [2])
    for shape, labels in (((2, 4), [0, 10]), ((2, 4), [1]), ((4,), [1]), ((2, 4), 1), ((1, 4), [[1]])):
        with pytest.raises(RuntimeError):
            model(rlgrad.zeros(shape), rlgrad.tensor(labels))


def test_chunks_of_logits_give_the_same_loss():
    rng = np.random.default_rng(7)
    x, weight = rlgrad.tensor(rng.standard_normal((10, 4)), requires_grad=True), rlgrad.tensor(rng.random(6))
    rows, target = rlgrad.tensor(rng.standard_normal((6, 4)), requires_grad=True), rlgrad.tensor(rng.integers(0, 6, 10))
    found = []
    for options in (None, nn.LinearCrossEntropyOptions(batch_chunk_size=3), nn.LinearCrossEntropyOptions()):
        loss = F.linear_cross_entropy(x, rows, target, weight=weight, ignore_index=2, options=options)
        found.append([loss.item(), *[g.numpy() for g in rlgrad.autograd.grad(loss, (x, rows))]])
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-12)
    assert nn.LinearCrossEntropyOptions(chunking_method="aspect_ratio:2").rows(64, 8, 32) == 8
    for wrong in ({"batch_chunk_size": 0}, {"chunking_method": "other"}, {"acc_policy": "none"}):
        with pytest.raises(ValueError, match=r"chunk|acc_policy"):
            nn.LinearCrossEntropyOptions(**wrong)


@pytest.mark.parametrize(
    "options", [{}, {"reduction": "sum"}, {"reduction": "none"}, {"weight": (1.0, 2.0, 3.0)}], ids=str
)
def test_ignored_rows_count_for_nothing_even_where_classes_are_impossible(options):
    logits = np.array([[0.0, 1.0, 2.0], [-np.inf, 0.0, 0.0], [-np.inf, 2.0, 1.0], [0.0, 0.0, 0.0]])
    losses, leaves = [], both_leaves(logits)
    for library, leaf in zip((rlgrad, torch), leaves, strict=True):
        weight = {k: library.tensor(v, dtype=library.float64) if k == "weight" else v for k, v in options.items()}
        losses.append(library.nn.functional.cross_entropy(leaf, library.tensor([1, -100, 1, -100]), **weight))
    assert_same(*losses, [leaves])
