import math

import numpy as np
import pytest

from rlgrad.training import NonFiniteError, check_finite


class Parameter:
    """The three members of a tensor that the check reads."""

    def __init__(self, value, grad=None):
        self.value = np.asarray(value, dtype=np.float32)
        self.grad = None if grad is None else Parameter(grad)

    def detach(self):
        return self

    def cpu(self):
        return self

    def numpy(self):
        return self.value


def test_finite_losses_and_gradients_pass():
    check_finite(0, {"policy": 1.0, "value": Parameter(2.0).numpy()}, [("weight", Parameter([1.0], [2.0]))])


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_bad_loss_names_the_step_the_loss_and_the_parameter(bad):
    parameters = [("0.weight", Parameter([1.0], [1.0])), ("0.bias", Parameter([1.0], [math.nan]))]
    with pytest.raises(NonFiniteError, match=r"step 12: the loss 'value'.*gradient of parameter '0\.bias'") as caught:
        check_finite(12, {"policy": 1.0, "value": bad}, iter(parameters))
    assert (caught.value.step, caught.value.loss, caught.value.parameter) == (12, "value", "0.bias")
    assert isinstance(caught.value, FloatingPointError)


def test_two_infinite_losses_that_would_cancel_are_seen():
    with pytest.raises(NonFiniteError, match="loss 'a'"):
        check_finite(0, {"a": math.inf, "b": -math.inf}, [])


def test_a_bad_gradient_under_finite_losses_is_seen():
    with pytest.raises(NonFiniteError, match="gradient of parameter 'weight' is not finite"):
        check_finite(0, {"policy": 1.0}, [("weight", Parameter([1.0], [math.inf]))])


def test_a_bad_gradient_norm_names_the_parameter():
    with pytest.raises(NonFiniteError, match=r"'grad_norm' is nan and the gradient of parameter 'weight'"):
        check_finite(0, {"policy": 1.0, "grad_norm": math.nan}, [("weight", Parameter([1.0], [math.nan]))])


def test_a_bad_value_is_told_from_a_bad_gradient():
    with pytest.raises(NonFiniteError, match="value of parameter 'weight'"):
        check_finite(0, {"policy": math.nan}, [("weight", Parameter([math.nan], [0.0]))])
