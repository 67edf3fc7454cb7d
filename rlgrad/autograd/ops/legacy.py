"""Functions that PyTorch keeps from its earlier releases."""

from __future__ import annotations

import warnings
from typing import Any

from rlgrad.autograd.ops.creation import TYPED, arange
from rlgrad.autograd.ops.decompositions import qr as linalg_qr
from rlgrad.autograd.ops.define import public
from rlgrad.autograd.tensor import Tensor
from rlgrad.backend import devices, dtypes


def qr(input: Tensor, some: bool = True, *, out: tuple[Tensor, Tensor] | None = None) -> Any:
    """The older form of ``linalg.qr``.

    Args:
        input: ``(*, m, n)``.
        some: reduced, ``Q (*, m, k)`` and ``R (*, k, n)`` with ``k = min(m, n)``; otherwise ``Q (*, m, m)``.

    Example:
        >>> import rlgrad
        >>> q, r = rlgrad.qr(rlgrad.eye(3)[:, :2], some=False)
        >>> q.shape, r.shape
        (torch.Size([3, 3]), torch.Size([3, 2]))
    """
    warnings.warn(
        "torch.qr is deprecated: call linalg.qr, whose mode='reduced' is some=True and mode='complete' is some=False",
        UserWarning,
        stacklevel=2,
    )
    return linalg_qr(input, mode="reduced" if some else "complete", out=out)


def range(
    start: Any = 0, end: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None, requires_grad: bool = False,
    layout: Any = None,
) -> Tensor:  # fmt: skip
    """Numbers from ``start`` to ``end``, both included: what :func:`arange` was before it was Python's.

    Example:
        >>> import rlgrad
        >>> rlgrad.range(1, 3)
        tensor([1., 2., 3.])
    """
    warnings.warn(
        "torch.range is deprecated, as it includes the end, unlike Python's range: call torch.arange.",
        UserWarning,
        stacklevel=2,
    )
    if end is None:
        start, end = 0, start
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    kind = dtypes.get_default_dtype() if dtype is None else dtype
    count = int((end - start) / step) + 1
    return (arange(count, device=device, dtype=dtypes.float64) * step + start).to(kind).requires_grad_(requires_grad)


def split_with_sizes(input: Tensor, split_sizes: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of consecutive parts of the sizes listed, as :func:`split` gives them."""
    return input.split_with_sizes(split_sizes, dim)


def set_default_tensor_type(t: Any) -> None:
    """Choose the default dtype, and with ``torch.cuda.FloatTensor`` the GPU as default device.

    Args:
        t: a constructor such as ``rlgrad.DoubleTensor``, or its name, ``"torch.DoubleTensor"``.

    Raises:
        TypeError: for a type that is no floating one.

    Example:
        >>> import rlgrad
        >>> rlgrad.set_default_tensor_type(rlgrad.DoubleTensor)
        >>> rlgrad.ones(1).dtype
        torch.float64
        >>> rlgrad.set_default_tensor_type("torch.FloatTensor")
    """
    name = t if isinstance(t, str) else getattr(t, "__name__", str(t))
    short = name.removeprefix("torch.").removeprefix("cuda.")
    if short not in TYPED:
        raise TypeError(f"invalid type name: {name!r}; expected one such as 'torch.FloatTensor'")
    dtype = TYPED[short].dtype
    if not dtype.is_floating_point:
        raise TypeError(f"only floating-point types are supported as the default type, got {name!r}")
    dtypes.set_default_dtype(dtype)
    devices.set_default_device("cuda" if name.startswith("torch.cuda.") else "cpu")


__all__ = public(globals())
