"""Activation functions as modules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from rlgrad.autograd.ops.creation import full
from rlgrad.autograd.tensor import Tensor
from rlgrad.nn import functional as F
from rlgrad.nn import init
from rlgrad.nn.layer import FunctionLayer
from rlgrad.nn.module import Module
from rlgrad.nn.parameter import Parameter

__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "SELU",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "LeakyReLU",
    "LogSigmoid",
    "LogSoftmax",
    "Mish",
    "PReLU",
    "RReLU",
    "ReLU",
    "ReLU6",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Softmax2d",
    "Softmin",
    "Softplus",
    "Softshrink",
    "Softsign",
    "Tanh",
    "Tanhshrink",
    "Threshold",
]


class _Inplace(FunctionLayer):
    """An activation whose only setting is whether it overwrites its input."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(inplace=inplace)


class ReLU(_Inplace):
    """``max(x, 0)``."""

    def forward(self, input: Tensor) -> Tensor:
        return input.relu_() if self.inplace else input.relu()


class SiLU(_Inplace):
    """``x * sigmoid(x)`` (Elfwing et al., 2018)."""

    function = staticmethod(F.silu)


class SELU(_Inplace):
    """Scaled exponential units that keep zero mean and unit variance (Klambauer et al., 2017)."""

    function = staticmethod(F.selu)


class Mish(_Inplace):
    """``x * tanh(softplus(x))`` (Misra, 2019)."""

    function = staticmethod(F.mish)


class Hardsigmoid(_Inplace):
    """``relu6(x + 3) / 6`` (Howard et al., 2019)."""

    function, hidden = staticmethod(F.hardsigmoid), ("inplace",)


class Hardswish(_Inplace):
    """``x * relu6(x + 3) / 6`` (Howard et al., 2019)."""

    function, hidden = staticmethod(F.hardswish), ("inplace",)


class LeakyReLU(FunctionLayer):
    """``x`` where positive, ``negative_slope * x`` elsewhere.

    Args:
        negative_slope: factor of what is negative.
        inplace: overwrite the input.
    """

    function = staticmethod(F.leaky_relu)

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        super().__init__(negative_slope=negative_slope, inplace=inplace)


class ELU(FunctionLayer):
    """``x`` where positive, ``alpha * (exp(x) - 1)`` elsewhere (Clevert et al., 2016).

    Args:
        alpha: the limit for large negative inputs is ``-alpha``.
        inplace: overwrite the input.
    """

    function = staticmethod(F.elu)

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(alpha=alpha, inplace=inplace)


class CELU(FunctionLayer):
    """``x`` where positive, ``alpha * (exp(x / alpha) - 1)`` elsewhere (Barron, 2017).

    Args:
        alpha: the limit for large negative inputs is ``-alpha``; the slope at zero is 1 for all of them.
        inplace: overwrite the input.
    """

    function = staticmethod(F.celu)

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(alpha=alpha, inplace=inplace)


class Threshold(FunctionLayer):
    """``x`` where it exceeds ``threshold``, ``value`` elsewhere.

    Args:
        threshold: what must be exceeded.
        value: what stands elsewhere.
        inplace: overwrite the input.
    """

    function = staticmethod(F.threshold)

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__(threshold=threshold, value=value, inplace=inplace)


class Hardtanh(FunctionLayer):
    """``x`` limited to ``[min_val, max_val]``.

    Args:
        min_val, max_val: the limits.
        inplace: overwrite the input.

    Raises:
        AssertionError: the limits leave no room between them.
    """

    function = staticmethod(F.hardtanh)

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> None:
        super().__init__(min_val=min_val, max_val=max_val, inplace=inplace)
        if max_val <= min_val:
            raise AssertionError(f"max_val ({max_val}) must be greater than min_val ({min_val})")


class ReLU6(Hardtanh):
    """``min(max(x, 0), 6)``."""

    hidden = ("min_val", "max_val")

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)


class Hardshrink(FunctionLayer):
    """``x`` outside ``[-lambd, lambd]``, zero inside."""

    function = staticmethod(F.hardshrink)

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__(lambd=lambd)

    def extra_repr(self) -> str:
        return str(self.lambd)


class Softshrink(Hardshrink):
    """``x`` moved towards zero by ``lambd``, zero where it is nearer."""

    function = staticmethod(F.softshrink)


class Tanh(Module):
    """Hyperbolic tangent."""

    def forward(self, input: Tensor) -> Tensor:
        return input.tanh()


class Sigmoid(Module):
    """``1 / (1 + exp(-x))``."""

    def forward(self, input: Tensor) -> Tensor:
        return input.sigmoid()


class LogSigmoid(FunctionLayer):
    """``log(sigmoid(x))``."""

    function = staticmethod(F.logsigmoid)


class Softsign(FunctionLayer):
    """``x / (1 + |x|)``."""

    function = staticmethod(F.softsign)


class Tanhshrink(FunctionLayer):
    """``x - tanh(x)``."""

    function = staticmethod(F.tanhshrink)


class Softplus(FunctionLayer):
    """``log(1 + exp(beta * x)) / beta``, linear where ``beta * x`` exceeds ``threshold``.

    Args:
        beta: sharpness of the bend.
        threshold: of ``beta * x``, for the sake of its exponential.
    """

    function = staticmethod(F.softplus)

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__(beta=beta, threshold=threshold)


class GELU(FunctionLayer):
    """``x`` times the normal distribution function at it (Hendrycks and Gimpel, 2016).

    Args:
        approximate: ``"none"`` or ``"tanh"``.
    """

    function = staticmethod(F.gelu)

    def __init__(self, approximate: str = "none") -> None:
        super().__init__(approximate=approximate)


class GLU(FunctionLayer):
    """The first half along ``dim`` times the sigmoid of the second (Dauphin et al., 2017)."""

    function = staticmethod(F.glu)

    def __init__(self, dim: int = -1) -> None:
        super().__init__(dim=dim)


class Softmax(FunctionLayer):
    """Exponentials along ``dim``, normalised to sum to one."""

    function: ClassVar[Callable[..., Any]] = staticmethod(F.softmax)

    def __init__(self, dim: int | None = None) -> None:
        super().__init__(dim=dim)


class LogSoftmax(Softmax):
    """Logarithm of :class:`Softmax`."""

    function = staticmethod(F.log_softmax)


class Softmin(Softmax):
    """:class:`Softmax` of ``-x``."""

    function = staticmethod(F.softmin)


class Softmax2d(Module):
    """:class:`Softmax` over the channels of ``(batch, channels, height, width)``, or without the batch.

    Raises:
        ValueError: the input has another number of dimensions.
    """

    def forward(self, input: Tensor) -> Tensor:
        if input.ndim not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.ndim}D instead")
        return F.softmax(input, -3)


class RReLU(FunctionLayer):
    """``x`` where positive; elsewhere ``x`` times a slope drawn from ``[lower, upper]``, their mean in evaluation.

    The source is Xu et al. (2015).

    Args:
        lower, upper: bounds of the slopes.
        inplace: overwrite the input.
    """

    function = staticmethod(F.rrelu)

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False) -> None:
        super().__init__(lower=lower, upper=upper, inplace=inplace)

    def forward(self, input: Tensor) -> Tensor:
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)


class PReLU(Module):
    """``x`` where positive, ``weight * x`` elsewhere, with learned weights (He et al., 2015).

    Args:
        num_parameters: 1, or one for each channel.
        init: the weights at the start.

    Shape:
        ``(batch, channels, *)`` to the same.
    """

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(full((num_parameters,), float(init), device=device, dtype=dtype))

    def reset_parameters(self) -> None:
        """Set the weights to what they were at the start."""
        init.constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"
