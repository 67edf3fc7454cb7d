"""Batch normalisation folded into the layer before it, for evaluation."""

from __future__ import annotations

import copy
from typing import Any

from rlgrad.autograd.tensor import Tensor
from rlgrad.nn.parameter import Parameter

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """Weight and bias of the convolution that does what a convolution and a batch normalisation do.

    Args:
        conv_w, conv_b: of the convolution.
        bn_rm, bn_rv: running mean and variance.
        bn_eps, bn_w, bn_b: of the normalisation.
        transpose: the convolution is a transposed one.
    """
    scale = (bn_rv.detach() + bn_eps).rsqrt()
    scale = scale if bn_w is None else scale * bn_w.detach()
    shift = -bn_rm if conv_b is None else conv_b.detach() - bn_rm
    bias = shift * scale if bn_b is None else shift * scale + bn_b.detach()
    shape = [1] * conv_w.ndim
    shape[1 if transpose else 0] = -1
    weight = conv_w.detach() * scale.reshape(shape)
    bias_dtype = conv_w.dtype if conv_b is None else conv_b.dtype
    trained = False if conv_b is None else conv_b.requires_grad
    return Parameter(weight.to(conv_w.dtype), conv_w.requires_grad), Parameter(bias.to(bias_dtype), trained)


def fuse_linear_bn_weights(
    linear_w: Tensor,
    linear_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
) -> tuple[Parameter, Parameter]:
    """Weight and bias of the linear layer that does what a linear layer and a batch normalisation do."""
    return fuse_conv_bn_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b)


def _check(layer: Any, norm: Any) -> None:
    if layer.training or norm.training:
        raise AssertionError("Fusion only for eval: call .eval() on both layers first")
    if norm.running_mean is None or norm.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None: it normalises by batch")


def _fused(layer: Any, norm: Any, transpose: bool) -> Any:
    _check(layer, norm)
    result = copy.deepcopy(layer)
    result.weight, result.bias = fuse_conv_bn_weights(
        layer.weight, layer.bias, norm.running_mean, norm.running_var, norm.eps, norm.weight, norm.bias, transpose
    )
    return result


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """One convolution that does what a convolution and the batch normalisation after it do in evaluation.

    Args:
        transpose: the convolution is a transposed one.

    Example:
        >>> from rlgrad import nn, ones
        >>> conv, norm = nn.Conv2d(3, 4, 3).eval(), nn.BatchNorm2d(4).eval()
        >>> nn.utils.fuse_conv_bn_eval(conv, norm)
        Conv2d(3, 4, kernel_size=(3, 3), stride=(1, 1))
    """
    return _fused(conv, bn, transpose)


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """One linear layer that does what a linear layer and the batch normalisation after it do in evaluation."""
    if bn.num_features not in (linear.out_features, 1):
        raise AssertionError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got "
            f"linear.out_features={linear.out_features} and bn.num_features={bn.num_features}"
        )
    return _fused(linear, bn, False)
