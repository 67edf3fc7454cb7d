"""Helpers for parameters and gradients."""

from importlib import import_module as _import_module
from typing import Any as _Any

from rlgrad.nn.utils import rnn
from rlgrad.nn.utils.gradients import (
    clip_grad_norm,
    clip_grad_norm_,
    clip_grad_value_,
    clip_grads_with_norm_,
    get_total_norm,
)
from rlgrad.nn.utils.vectors import parameters_to_vector, vector_to_parameters

__all__ = [
    "clip_grad_norm",
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "get_total_norm",
    "parameters_to_vector",
    "rnn",
    "vector_to_parameters",
]

_LATER = {
    "folding": "fuse_conv_bn_eval fuse_conv_bn_weights fuse_linear_bn_eval fuse_linear_bn_weights",
    "parametrizations": "parametrizations",
    "parametrize": "parametrize",
    "reparametrized": "remove_spectral_norm remove_weight_norm spectral_norm weight_norm",
    "skipping": "skip_init",
    "stateless": "stateless",
}
_MODULE_OF = {name: module for module, names in _LATER.items() for name in names.split()}
__all__ += list(_MODULE_OF)


def __getattr__(name: str) -> _Any:
    """What few programs use is imported when it is first asked for."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'rlgrad.nn.utils' has no attribute {name!r}")
    module = _import_module(f"rlgrad.nn.utils.{_MODULE_OF[name]}")
    found = globals()[name] = module if name == _MODULE_OF[name] else getattr(module, name)
    return found
