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
        except RuntimeError:
            outcomes.append("refused")
    assert outcomes[0] == outcomes[1]
