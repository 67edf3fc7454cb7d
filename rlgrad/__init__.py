"""rlgrad: automatic differentiation with PyTorch's semantics over NumPy and CuPy, and what is trained on it.

``import rlgrad as torch`` carries ordinary PyTorch programs. Agents and adversarial trainers live in ``rlgrad.agents``
and ``rlgrad.gan`` and are imported on their own.
"""

import math as _math
import warnings as _warnings
from importlib import import_module as _import_module
from typing import Any as _Any

from rlgrad import autograd, backend, cuda, linalg, nn, optim, utils
from rlgrad.autograd.inspection import *
from rlgrad.autograd.modes import (
    enable_grad,
    inference_mode,
    is_anomaly_check_nan_enabled,
    is_anomaly_enabled,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from rlgrad.autograd.ops.activations import (
    celu_,
    hardshrink,
    prelu,
    relu_,
    rrelu,
    rrelu_,
    selu_,
    threshold,
    threshold_,
)
from rlgrad.autograd.ops.adaptive_pooling import adaptive_avg_pool1d, adaptive_max_pool1d
from rlgrad.autograd.ops.arithmetic import *
from rlgrad.autograd.ops.average_pooling import avg_pool1d
from rlgrad.autograd.ops.comparison import *
from rlgrad.autograd.ops.convolution import *
from rlgrad.autograd.ops.copies import *
from rlgrad.autograd.ops.creation import *
from rlgrad.autograd.ops.creation import TYPED as _TYPED
from rlgrad.autograd.ops.cumulative import *
from rlgrad.autograd.ops.determinants import det, logdet, slogdet
from rlgrad.autograd.ops.dropout import dropout
from rlgrad.autograd.ops.einsum import *
from rlgrad.autograd.ops.extremes import *
from rlgrad.autograd.ops.index_slices import *
from rlgrad.autograd.ops.indexing import *
from rlgrad.autograd.ops.joining import *
from rlgrad.autograd.ops.later import find as _find
from rlgrad.autograd.ops.linalg import *
from rlgrad.autograd.ops.losses import cosine_similarity, pairwise_distance
from rlgrad.autograd.ops.masks import *
from rlgrad.autograd.ops.max_pooling import max_pool1d, max_pool2d
from rlgrad.autograd.ops.moments import *
from rlgrad.autograd.ops.normalization import group_norm, layer_norm, rms_norm
from rlgrad.autograd.ops.order_statistics import *
from rlgrad.autograd.ops.parts import *
from rlgrad.autograd.ops.pointwise import *
from rlgrad.autograd.ops.products import *
from rlgrad.autograd.ops.reductions import *
from rlgrad.autograd.ops.sampling import *
from rlgrad.autograd.ops.scatter import *
from rlgrad.autograd.ops.scatter_reduce import *
from rlgrad.autograd.ops.shape import *
from rlgrad.autograd.ops.smooth_activations import celu, selu
from rlgrad.autograd.ops.softmax import *
from rlgrad.autograd.ops.solving import inv as inverse
from rlgrad.autograd.ops.solving import matrix_power
from rlgrad.autograd.ops.sorting import *
from rlgrad.autograd.ops.spatial import channel_shuffle, pixel_shuffle, pixel_unshuffle
from rlgrad.autograd.ops.special import *
from rlgrad.autograd.ops.spectra import pinv as pinverse
from rlgrad.autograd.ops.strided import *
from rlgrad.autograd.printing import set_printoptions
from rlgrad.autograd.tensor import Size, Tensor
from rlgrad.backend import random
from rlgrad.backend.devices import device, get_default_device, set_default_device
from rlgrad.backend.dtypes import (
    ALIASES as _ALIASES,
)
from rlgrad.backend.dtypes import (
    dtype,
    finfo,
    get_default_dtype,
    iinfo,
    promote_types,
    result_type,
    set_default_dtype,
)
from rlgrad.backend.layouts import (
    channels_last,
    channels_last_3d,
    contiguous_format,
    layout,
    legacy_contiguous_format,
    memory_format,
    preserve_format,
    strided,
)
from rlgrad.backend.random import (
    Generator,
    default_generator,
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
)
from rlgrad.backend.threads import get_num_threads, set_num_threads
from rlgrad.serialization import load, save

__version__ = "0.1.0"

e, inf, nan, pi, newaxis = _math.e, _math.inf, _math.nan, _math.pi, None
globals().update({**_ALIASES, **dtype.by_name, **_TYPED})

# As in PyTorch, overflow and division by zero give inf and nan without a word from NumPy.
_warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"rlgrad\.(autograd|nn|optim|distributions)")


# What `import rlgrad` leaves out until it is asked for: modules, and names that modules outside the operations hold.
_LAZY = (
    "amp", "backends", "compiler", "data", "distributions", "func", "jit", "onnx", "special", "testing", "version",
)  # fmt: skip
_FOUND_IN = {
    "amp": "GradScaler autocast is_autocast_enabled",
    "backend.determinism": (
        "are_deterministic_algorithms_enabled get_deterministic_debug_mode get_float32_matmul_precision "
        "is_deterministic_algorithms_warn_only_enabled set_deterministic_debug_mode set_float32_matmul_precision "
        "use_deterministic_algorithms"
    ),
    "compiler": "compile",
    "func": "vmap",
}
_MODULE_OF = {name: module for module, names in _FOUND_IN.items() for name in names.split()}


def __getattr__(name: str) -> _Any:
    if name in _LAZY:
        return _import_module(f"rlgrad.{name}")
    module = _MODULE_OF.get(name)
    found = _find(name) if module is None else getattr(_import_module(f"rlgrad.{module}"), name)
    globals()[name] = found
    return found
