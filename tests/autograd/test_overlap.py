"""What in-place operations refuse because of where tensors lie in memory."""

from __future__ import annotations

import pytest

import rlgrad

torch = pytest.importorskip("torch")


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.mul_(x[0]),
        lambda x: x.add_(x.unsqueeze(0)),
        lambda x: x[1:].copy_(x[:-1]),
        lambda x: x.expand(2, 3, 2).add_(1),
        lambda x: x[:, :1].expand(3, 2).mul_(2),
        lambda x: x.detach().expand(2, 3, 2).fill_(2),
        lambda x: x.detach().expand(2, 3, 2).zero_(),
        lambda x: x.copy_(x),
        lambda x: x.__setitem__([0, 1, 2], x),
        lambda x: x.index_add_(0, type(x)([0, 1]).long(), x[1:]),
        lambda x: x.__setitem__([2], x[0]),
        lambda x: x.mul_(x),
        lambda x: x.expand(2, 3, 2).copy_(x.expand(2, 3, 2)),
        lambda x: x.detach().expand(2, 3, 2).copy_(x.expand(2, 3, 2)),
        lambda x: x[:0].__setitem__([0], x[:0]),
        lambda x: (lambda y: y.__setitem__([0], y))(x[:0]),
        lambda x: (lambda y: y.__setitem__([7], y))(x.clone()),
        lambda x: (lambda y: y.__setitem__(y > 1, y))(x.detach()[:1, 1].clone()),
    ],
)
def test_writes_over_what_is_read_are_refused_as_by_torch(write):
    outcomes = []
    for library in (rlgrad, torch):
        leaf = library.arange(6.0).reshape(3, 2).requires_grad_()
        x = leaf * 2
        try:
            write(x)
            x.sum().backward()
            outcomes.append(leaf.grad.tolist())
        except (IndexError, RuntimeError) as error:
            outcomes.append(type(error))
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x[0],
        lambda x: x.t()[1:],
        lambda x: x[0].expand(4, 2),
        lambda x: x.reshape(-1).unfold(0, 3, 1),
        lambda x: x.detach()[0],
    ],
)
@pytest.mark.parametrize("write", [lambda x: x.mul_(3), lambda x: x[:1].fill_(5), lambda x: x[0].copy_(x[1])])
def test_views_of_what_was_written_are_recorded_as_one_step(view, write):
    found = []
    for library in (rlgrad, torch):
        leaf = library.arange(6.0).reshape(3, 2).requires_grad_()
        x = leaf * 2
        part = view(x)
        write(x)
        node = part.grad_fn
        before = None if node is None else [function.name() for function, _ in node.next_functions]
        (x.sum() + (part * part).sum()).backward()
        found.append((node and node.name(), before, leaf.grad.tolist(), part.tolist()))
    assert found[0] == found[1]
