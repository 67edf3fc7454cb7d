"""Layers, activations and losses as functions."""

from __future__ import annotations

from types import FunctionType as _FunctionType

from rlgrad.autograd.ops.activations import *
from rlgrad.autograd.ops.adaptive_pooling import *
from rlgrad.autograd.ops.attention import *
from rlgrad.autograd.ops.average_pooling import *
from rlgrad.autograd.ops.convolution import *
from rlgrad.autograd.ops.dropout import *
from rlgrad.autograd.ops.embedding import *
from rlgrad.autograd.ops.grids import *
from rlgrad.autograd.ops.likelihood import *
from rlgrad.autograd.ops.linear import *
from rlgrad.autograd.ops.losses import *
from rlgrad.autograd.ops.masks import one_hot
from rlgrad.autograd.ops.max_pooling import *
from rlgrad.autograd.ops.normalization import *
from rlgrad.autograd.ops.pointwise import sigmoid, tanh
from rlgrad.autograd.ops.regression import *
from rlgrad.autograd.ops.resampling import *
from rlgrad.autograd.ops.selections import *
from rlgrad.autograd.ops.smooth_activations import *
from rlgrad.autograd.ops.spatial import *
from rlgrad.nn.functional.activations import *
from rlgrad.nn.functional.attention import *
from rlgrad.nn.functional.features import *
from rlgrad.nn.functional.linear_loss import *
from rlgrad.nn.functional.softmax import *

__all__ = [_name for _name, _value in globals().items() if isinstance(_value, _FunctionType)]
