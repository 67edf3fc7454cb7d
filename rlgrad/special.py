"""Special functions under PyTorch's names: ``rlgrad.special.expit``, ``rlgrad.special.ndtri`` and so on.

Most are SciPy's on the CPU and CuPy's port of them on a GPU, so that they need ``pip install 'rlgrad[scipy]'``.

Example:
    >>> import rlgrad
    >>> rlgrad.special.xlog1py(rlgrad.tensor([0.0, 1.0]), rlgrad.tensor([-1.0, 0.0]))
    tensor([0., 0.])
"""

from rlgrad.autograd.ops.bessel import *
from rlgrad.autograd.ops.bessel import __all__ as _bessel
from rlgrad.autograd.ops.pointwise import exp2, expm1, log1p, round
from rlgrad.autograd.ops.pointwise import sigmoid as expit
from rlgrad.autograd.ops.polynomials import *
from rlgrad.autograd.ops.polynomials import __all__ as _polynomials
from rlgrad.autograd.ops.probability import *
from rlgrad.autograd.ops.probability import __all__ as _probability
from rlgrad.autograd.ops.probability import igamma as gammainc
from rlgrad.autograd.ops.probability import igammac as gammaincc
from rlgrad.autograd.ops.reductions import logsumexp
from rlgrad.autograd.ops.softmax import log_softmax, softmax
from rlgrad.autograd.ops.special import digamma, erf, erfc, erfinv, logit, polygamma, sinc, xlogy
from rlgrad.autograd.ops.special import digamma as psi
from rlgrad.autograd.ops.special import lgamma as gammaln
from rlgrad.autograd.ops.special import mvlgamma as multigammaln

__all__ = [
    *[name for name in (*_bessel, *_polynomials, *_probability) if name not in ("igamma", "igammac")],
    "digamma", "erf", "erfc", "erfinv", "exp2", "expit", "expm1", "gammainc", "gammaincc", "gammaln", "log1p",
    "log_softmax", "logit", "logsumexp", "multigammaln", "polygamma", "psi", "round", "sinc", "softmax", "xlogy",
]  # fmt: skip
