"""Transforms of functions: gradients, Jacobians and batches as functions, modules as functions of their parameters.

They nest in any order. What a transform returns requires grad where it depends on a tensor outside that does.

Example:
    >>> import rlgrad
    >>> from rlgrad.func import grad, vmap
    >>> vmap(grad(rlgrad.sin))(rlgrad.zeros(3))
    tensor([1., 1., 1.])
"""

from rlgrad.func.batching import vmap
from rlgrad.func.ensembles import stack_module_state
from rlgrad.func.gradients import grad, grad_and_value, vjp
from rlgrad.func.jacobians import hessian, jacfwd, jacrev, jvp, linearize
from rlgrad.nn.utils.stateless import functional_call

__all__ = [
    "functional_call",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "stack_module_state",
    "vjp",
    "vmap",
]
