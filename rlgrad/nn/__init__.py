"""Neural network modules with PyTorch's names, arguments and state."""

from rlgrad.nn import functional, init, utils
from rlgrad.nn.activation import ELU, LeakyReLU, LogSigmoid, LogSoftmax, ReLU, Sigmoid, SiLU, Softmax, Softplus, Tanh
from rlgrad.nn.containers import ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential
from rlgrad.nn.linear import Flatten, Identity, Linear, Unflatten
from rlgrad.nn.loss import (
    BCELoss,
    BCEWithLogitsLoss,
    CrossEntropyLoss,
    HuberLoss,
    L1Loss,
    MSELoss,
    NLLLoss,
    SmoothL1Loss,
)
from rlgrad.nn.module import Module
from rlgrad.nn.parameter import Buffer, Parameter
from rlgrad.nn.recurrent import GRU, LSTM, RNN, GRUCell, LSTMCell, RNNCell

__all__ = [
    "ELU",
    "GRU",
    "LSTM",
    "RNN",
    "BCELoss",
    "BCEWithLogitsLoss",
    "Buffer",
    "CrossEntropyLoss",
    "Flatten",
    "GRUCell",
    "HuberLoss",
    "Identity",
    "L1Loss",
    "LSTMCell",
    "LeakyReLU",
    "Linear",
    "LogSigmoid",
    "LogSoftmax",
    "MSELoss",
    "Module",
    "ModuleDict",
    "ModuleList",
    "NLLLoss",
    "Parameter",
    "ParameterDict",
    "ParameterList",
    "RNNCell",
    "ReLU",
    "Sequential",
    "SiLU",
    "Sigmoid",
    "SmoothL1Loss",
    "Softmax",
    "Softplus",
    "Tanh",
    "Unflatten",
    "functional",
    "init",
    "utils",
]
