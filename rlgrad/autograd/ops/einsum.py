"""Einstein summation: operands contracted two at a time, each pair as one batched matrix product."""

from __future__ import annotations

import functools
import math
import string
from collections.abc import Sequence
from typing import Any

import numpy as np

from rlgrad.autograd.registry import Op, apply_one
from rlgrad.autograd.tensor import Tensor
from rlgrad.backend import dtypes


def _put_diagonal(xp: Any, g: Any, dim0: int, dim1: int) -> Any:
    n = g.shape[-1]
    shape = list(g.shape[:-1])
    for dim in sorted((dim0, dim1)):
        shape.insert(dim, n)
    out = xp.zeros(shape, g.dtype)
    moved = xp.moveaxis(out, (dim0, dim1), (-2, -1))
    moved[..., xp.arange(n), xp.arange(n)] = g
    return out


_take_diagonal = Op(
    "take_diagonal",
    lambda xp, a, dim0, dim1: xp.diagonal(a, 0, dim0, dim1).copy(),
    (lambda ns, g, dim0, dim1: ns.put_diagonal(g, dim0, dim1),),
    node="DiagonalBackward0",
)
Op("put_diagonal", _put_diagonal, (lambda ns, g, dim0, dim1: ns.take_diagonal(g, dim0, dim1),))

_LETTERS = string.ascii_uppercase + string.ascii_lowercase
_Term = tuple[Tensor, str]


@functools.lru_cache(256)
def _parse(equation: str, ranks: tuple[int, ...]) -> tuple[list[str], str]:
    """One letter for each dimension of every operand and of the result; the ellipsis' dimensions get letters of their own."""
    text = equation.replace(" ", "")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(ranks):
        raise RuntimeError(
            f"einsum(): {'more' if len(ranks) > len(terms) else 'fewer'} operands were provided than specified in the "
            f"equation: {len(ranks)} for {len(terms)} terms in '{equation}'"
        )
    for character in text.replace("...", "").replace("->", "").replace(",", ""):
        if character not in _LETTERS:
            raise RuntimeError(f"einsum(): invalid subscript given: '{character}', subscripts must be in [a-zA-Z]")
    free = [c for c in map(chr, range(0x100, 0x180)) if c not in text]
    width = 0
    for term, ndim in zip(terms, ranks, strict=True):
        named = len(term.replace("...", ""))
        if "..." in term:
            if named > ndim:
                raise RuntimeError(
                    f"einsum(): the number of subscripts in the equation ({named}) is more than the number of dimensions "
                    f"({ndim}) for an operand"
                )
            width = max(width, ndim - named)
        elif named != ndim:
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({named}) does not match the number of dimensions "
                f"({ndim}) for an operand and no ellipsis was given"
            )
    dots = "".join(free[:width])
    resolved = []
    for term, ndim in zip(terms, ranks, strict=True):
        count = ndim - len(term.replace("...", ""))
        resolved.append(term.replace("...", dots[width - count :]))
    if arrow:
        output = right.replace("...", dots)
        if len(set(output)) != len(output):
            raise RuntimeError(f"einsum(): output subscripts must not appear more than once: '{right}'")
        for character in output:
            if not any(character in term for term in resolved) and character not in dots:
                raise RuntimeError(
                    f"einsum(): output subscript {character} does not appear in the equation for any input operand"
                )
    else:
        everything = "".join(resolved)
        letters = sorted(c for c in set(everything) - set(dots) if everything.count(c) == 1)
        output = dots + "".join(letters)
    return resolved, output


def _without_repeats(tensor: Tensor, term: str) -> _Term:
    """Take the diagonal over letters that occur twice."""
    for letter in dict.fromkeys(term):
        while term.count(letter) > 1:
            first = term.index(letter)
            second = term.index(letter, first + 1)
            if tensor.shape[first] != tensor.shape[second]:
                raise RuntimeError(
                    f"einsum(): subscript {letter} is repeated for an operand but the sizes don't match, "
                    f"{tensor.shape[second]} != {tensor.shape[first]}"
                )
            tensor = apply_one(_take_diagonal, tensor, (first, second))
            term = term[:first] + term[first + 1 : second] + term[second + 1 :] + letter
    return tensor, term


def _summed(tensor: Tensor, term: str, keep: str) -> _Term:
    """Sum over the letters that nothing else needs."""
    gone = [i for i, c in enumerate(term) if c not in keep]
    if not gone:
        return tensor, term
    return tensor.sum(gone), "".join(c for c in term if c in keep)


def _ordered(tensor: Tensor, term: str, order: str) -> Tensor:
    """The dimensions in a new order; letters that the tensor has not become extents of one."""
    if term != order:
        present = [term.index(c) for c in order if c in term]
        if present != list(range(len(term))):
            tensor = tensor.permute(*present)
        if len(order) != len(term):
            extents = iter(tuple(tensor.shape))
            tensor = tensor.reshape(*[next(extents) if c in term else 1 for c in order])
    return tensor


def _pair(a: _Term, b: _Term, keep: str) -> _Term:
    """Contract two operands to the letters in ``keep``, as a batched matrix product."""
    (x, s), (y, t) = a, b
    x, s = _summed(x, s, keep + t)
    y, t = _summed(y, t, keep + s)
    size = dict(zip(s, x._array.shape, strict=True))
    for c, n in zip(t, y._array.shape, strict=True):  # extents of one broadcast
        size[c] = n if size.get(c, 1) == 1 else size[c]
    both = [c for c in s if c in t]
    xs, ys = x._array.shape, y._array.shape
    narrow = [c for c in both if 1 in (xs[s.index(c)], ys[t.index(c)]) and size[c] != 1]
    if narrow:
        for c in narrow:
            if x.shape[s.index(c)] == 1:
                x, s = x.squeeze(s.index(c)), s.replace(c, "")
            else:
                y, t = y.squeeze(t.index(c)), t.replace(c, "")
        return _pair((x, s), (y, t), keep)
    batch = "".join([c for c in both if c in keep])
    inner = "".join([c for c in both if c not in keep])
    left = "".join([c for c in s if c not in t])
    right = "".join([c for c in t if c not in s])
    if not inner:
        order = batch + left + right
        return _ordered(x, s, order) * _ordered(y, t, order), order
    count, m, k, n = [math.prod([size[c] for c in letters]) for letters in (batch, left, inner, right)]
    p = _merged(_ordered(x, s, batch + left + inner), (m, k) if count == 1 else (count, m, k))
    q = _merged(_ordered(y, t, batch + inner + right), (k, n) if count == 1 else (count, k, n))
    return (p @ q).reshape(*[size[c] for c in batch + left + right]), batch + left + right


def _merged(tensor: Tensor, shape: tuple[int, ...]) -> Tensor:
    return tensor if tensor._array.shape == shape else tensor.reshape(*shape)


def _sublist(operands: Sequence[Any]) -> tuple[str, list[Tensor]]:
    """The form ``einsum(op1, [0, 1], op2, [1, 2], [0, 2])`` as an equation."""

    def term(labels: Sequence[Any]) -> str:
        return "".join("..." if label is Ellipsis else _LETTERS[int(label)] for label in labels)

    tensors = list(operands[0::2]) if len(operands) % 2 == 0 else list(operands[0:-1:2])
    text = ",".join(term(labels) for labels in operands[1 : 2 * len(tensors) : 2])
    return text + (f"->{term(operands[-1])}" if len(operands) % 2 else ""), tensors


def einsum(equation: Any, *operands: Any) -> Tensor:
    """Sum of products over the letters that the result has not.

    Args:
        equation: such as ``"bij,bjk->bik"``; with ``...`` for dimensions that broadcast, repeated letters for
            diagonals, and without ``->`` the letters that occur once in alphabetical order. Or
            ``op1, [0, 1], op2, [1, 2], [0, 2]``.
        operands: tensors, or one list of them.

    Example:
        >>> import rlgrad
        >>> rlgrad.einsum("ij,j->i", rlgrad.ones(2, 3), rlgrad.ones(3))
        tensor([3., 3.])
    """
    if not isinstance(equation, str):
        equation, tensors = _sublist((equation, *operands))
    else:
        tensors = list(operands[0]) if len(operands) == 1 and isinstance(operands[0], (list, tuple)) else list(operands)
    if not tensors:
        raise RuntimeError("einsum(): must provide at least one operand")
    terms, output = _parse(equation, tuple([x._array.ndim for x in tensors]))
    common = dtypes.result_type(*tensors)
    pending = [
        _without_repeats(x if x.dtype is common else x.to(common), term) for x, term in zip(tensors, terms, strict=True)
    ]
    sizes: dict[str, int] = {}
    for x, term in pending:
        for c, n in zip(term, x.shape, strict=True):
            if sizes.get(c, 1) not in (1, n) and n != 1:
                raise RuntimeError(
                    f"einsum(): subscript {c} has size {n} for an operand which does not broadcast with previously seen "
                    f"size {sizes[c]}"
                )
            sizes[c] = max(sizes.get(c, 1), n) if n else 0
    for pair in _path(pending, output):
        chosen = [pending[i] for i in pair]
        pending = [p for i, p in enumerate(pending) if i not in pair]
        keep = output + "".join(term for _, term in pending)
        result = chosen[0]
        for position, other in enumerate(chosen[1:], 2):
            later = "".join(term for _, term in chosen[position:])
            result = _pair(result, other, keep + later)
        pending.append(result)
    tensor, term = _summed(*pending[0], output)
    return _ordered(tensor, term, output)


def _path(pending: list[_Term], output: str) -> list[tuple[int, ...]]:
    """The order of contractions: as written for two operands, NumPy's greedy search for more."""
    if len(pending) <= 2:
        return [tuple(range(len(pending)))] if len(pending) == 2 else []
    return _greedy(tuple([term for _, term in pending]), tuple([x._array.shape for x, _ in pending]), output)


@functools.lru_cache(256)
def _greedy(terms: tuple[str, ...], shapes: tuple[tuple[int, ...], ...], output: str) -> list[tuple[int, ...]]:
    letters = dict(zip(dict.fromkeys("".join(terms)), string.ascii_letters, strict=False))
    equation = ",".join("".join(letters[c] for c in term) for term in terms)
    equation += "->" + "".join(letters[c] for c in output if c in letters)
    stand_ins = [np.broadcast_to(np.zeros(()), shape) for shape in shapes]
    return [tuple(step) for step in np.einsum_path(equation, *stand_ins, optimize="greedy")[0][1:]]


__all__: Sequence[str] = ["einsum"]
