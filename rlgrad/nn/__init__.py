"""Neural network modules with PyTorch's names, arguments and state."""

from importlib import import_module as _import_module
from typing import Any as _Any

from rlgrad.nn import functional, init, utils
from rlgrad.nn.activation import *
from rlgrad.nn.batchnorm import *
from rlgrad.nn.containers import *
from rlgrad.nn.conv import *
from rlgrad.nn.distance import *
from rlgrad.nn.dropout import *
from rlgrad.nn.linear import *
from rlgrad.nn.loss import *
from rlgrad.nn.module import Module
from rlgrad.nn.normalization import *
from rlgrad.nn.padding import *
from rlgrad.nn.parameter import Buffer, Parameter
from rlgrad.nn.parameter_containers import *
from rlgrad.nn.pooling import *
from rlgrad.nn.recurrent import GRU, LSTM, RNN, RNNBase
from rlgrad.nn.recurrent_cells import GRUCell, LSTMCell, RNNCell, RNNCellBase
from rlgrad.nn.sparse import *
from rlgrad.nn.uninitialized import UninitializedBuffer, UninitializedParameter
from rlgrad.nn.upsampling import *

_LATER = {
    "attention": "MultiheadAttention",
    "lazy": (
        "LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d LazyConv1d LazyConv2d LazyConv3d LazyConvTranspose1d "
        "LazyConvTranspose2d LazyConvTranspose3d LazyInstanceNorm1d LazyInstanceNorm2d LazyInstanceNorm3d LazyLinear"
    ),
    "loss.adaptive": "AdaptiveLogSoftmaxWithLoss LinearCrossEntropyLoss LinearCrossEntropyOptions",
    "modules": "modules",
    "parallel": "DataParallel parallel",
    "transformer": "Transformer TransformerDecoder TransformerDecoderLayer TransformerEncoder TransformerEncoderLayer",
}
_MODULE_OF = {_name: _module for _module, _names in _LATER.items() for _name in _names.split()}


def __getattr__(name: str) -> _Any:
    """What few programs use is imported when it is first asked for."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'rlgrad.nn' has no attribute {name!r}")
    module = _import_module(f"rlgrad.nn.{_MODULE_OF[name]}")
    found = globals()[name] = module if name == _MODULE_OF[name] else getattr(module, name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULE_OF})
