"""Neural network modules with PyTorch's names, arguments and state."""

from rlgrad.nn import functional, init, modules, utils
from rlgrad.nn.activation import *
from rlgrad.nn.attention import *
from rlgrad.nn.containers import *
from rlgrad.nn.conv import *
from rlgrad.nn.distance import *
from rlgrad.nn.dropout import *
from rlgrad.nn.lazy import *
from rlgrad.nn.linear import *
from rlgrad.nn.loss import *
from rlgrad.nn.module import Module
from rlgrad.nn.normalization import *
from rlgrad.nn.padding import *
from rlgrad.nn.parameter import Buffer, Parameter
from rlgrad.nn.parameter_containers import *
from rlgrad.nn.pooling import *
from rlgrad.nn.recurrent import GRU, LSTM, RNN
from rlgrad.nn.recurrent_cells import GRUCell, LSTMCell, RNNCell
from rlgrad.nn.sparse import *
from rlgrad.nn.transformer import *
from rlgrad.nn.uninitialized import UninitializedBuffer, UninitializedParameter
from rlgrad.nn.upsampling import *
