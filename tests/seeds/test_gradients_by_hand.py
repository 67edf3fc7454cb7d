"""The short programs of the tutorials, whose gradients can be computed by hand."""

import re
import warnings

import pytest

import rlgrad

PRODUCT = """
import torch
w = torch.tensor([1.], requires_grad=True)
x = torch.tensor([2.], requires_grad=True)
a = torch.add(w, x) # a = w + x
b = torch.add(w, 1) # b = w + 1
y = torch.mul(a, b) # y = a * b
y.backward()
print(w.grad)
print("is_leaf:\\n", w.is_leaf, x.is_leaf, a.is_leaf, b.is_leaf, y.is_leaf)
print("gradient:\\n", w.grad, x.grad, a.grad, b.grad, y.grad)
print("grad_fn:\\n", w.grad_fn, x.grad_fn, a.grad_fn, b.grad_fn, y.grad_fn)
"""


@pytest.mark.filterwarnings("ignore:The .grad attribute")
def test_product_prints_what_the_document_prints(run):
    printed = run(PRODUCT)["printed"]
    assert repr(printed[0][0]) == "tensor([5.])"
    assert printed[1][1:] == (True, True, False, False, False)
    assert [repr(g) for g in printed[2][1:]] == ["tensor([5.])", "tensor([2.])", "None", "None", "None"]
    names = [re.sub("0x[0-9a-f]+", "0x", repr(node), flags=re.IGNORECASE) for node in printed[3][1:]]
    assert names == ["None", "None"] + [f"<{op}Backward0 object at 0x>" for op in ("Add", "Add", "Mul")]


def test_retained_gradient_of_an_intermediate_is_two(run):
    program = PRODUCT.replace("b = torch", "a.retain_grad()\nb = torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        gradients = run(program)["printed"][2][1:]
    assert [repr(g) for g in gradients] == ["tensor([5.])", "tensor([2.])", "tensor([2.])", "None", "None"]


def test_gradient_of_an_intermediate_warns_and_is_none(run):
    with pytest.warns(UserWarning, match=r"retain_grad\(\)"):
        run(PRODUCT)


def test_second_backward_fails_until_the_graph_is_retained(run):
    with pytest.raises(RuntimeError, match="retain_graph=True"):
        run(PRODUCT.replace("y.backward()", "y.backward()\ny.backward()"))
    program = PRODUCT.replace("y.backward()", "y.backward(retain_graph=True)\ny.backward()")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        assert run(program)["w"].grad.tolist() == [10.0]


LEAVES = """
from torch import FloatTensor
from torch.autograd import Variable

# Define the leaf nodes
a = Variable(FloatTensor([4]))

weights = [Variable(FloatTensor([i]), requires_grad=True) for i in (2, 5, 9, 7)]

# unpack the weights for nicer assignment
w1, w2, w3, w4 = weights

b = w1 * a
c = w2 * a
d = w3 * b + w4 * c
L = (10 - d)

L.backward()

for index, weight in enumerate(weights, start=1):
    gradient, *_ = weight.grad.data
    print(f"Gradient of w{index} w.r.t to L: {gradient}")
"""


def test_variables_made_from_float_tensors(run):
    """dL/dw1 = -w3 a = -36, dL/dw2 = -w4 a = -28, dL/dw3 = -w1 a = -8, dL/dw4 = -w2 a = -20."""
    lines = [line for (line,) in run(LEAVES)["printed"]]
    expected = [-36.0, -28.0, -8.0, -20.0]
    assert lines == [f"Gradient of w{i} w.r.t to L: {g}" for i, g in enumerate(expected, start=1)]


def test_variables_made_from_float_tensors_as_torch_prints_them(run):
    pytest.importorskip("torch")
    assert run(LEAVES)["printed"] == run(LEAVES, library="torch")["printed"]


MEAN = """
import torch

x = torch.tensor([1., 1, 1, 1], requires_grad=True)
y = 2*x
z = y.mean()
z.backward()
print(x.grad, y.grad, z.grad)
"""

MEAN_RETAINED = """
import torch

x = torch.tensor([1., 1, 1, 1], requires_grad=True)
y = 2*x
y.retain_grad()
z = y.mean()
z.retain_grad()
z.backward()
print(x.grad, y.grad, z.grad)
"""


@pytest.mark.filterwarnings("ignore:The .grad attribute")
def test_gradient_of_a_mean(run):
    shown = " ".join(map(repr, run(MEAN)["printed"][0]))
    assert shown == "tensor([0.5000, 0.5000, 0.5000, 0.5000]) None None"


def test_retained_gradients_of_a_mean(run):
    shown = " ".join(map(repr, run(MEAN_RETAINED)["printed"][0]))
    assert shown == "tensor([0.5000, 0.5000, 0.5000, 0.5000]) tensor([0.2500, 0.2500, 0.2500, 0.2500]) tensor(1.)"


def test_volatile_keeps_a_graph_from_being_made():
    from rlgrad.autograd import Variable

    with pytest.warns(DeprecationWarning, match="no_grad"):
        x = Variable(rlgrad.FloatTensor([1.0]), requires_grad=True, volatile=True)
    b = x * 2
    assert not x.requires_grad
    assert not b.requires_grad
    assert b.grad_fn is None


def test_inference_under_no_grad_makes_no_graph():
    w = rlgrad.tensor([1.0], requires_grad=True)
    with rlgrad.no_grad():
        y = w * 3
    assert y.grad_fn is None
    assert y.is_leaf


SLOPE = """
import torch
from torch.autograd import Variable
x_data = [1.0, 2.0, 3.0]
y_data = [2.0, 4.0, 6.0]
w = Variable(torch.Tensor([1.0]), requires_grad=True)
def forward(x):
    return x * w
def loss(x, y):
    y_pred = forward(x)
    return (y_pred - y) * (y_pred - y)
for epoch in range(10):
    for x_val, y_val in zip(x_data, y_data):
        l = loss(x_val, y_val)
        l.backward()
        print("grad: ", x_val, y_val, w.grad.data[0])
        w.data = w.data - 0.01 * w.grad.data
        # Manually zero the gradients after updating weights
        w.grad.data.zero_()
"""


def test_gradient_descent_on_one_slope_reaches_two(run):
    result = run(SLOPE)
    assert len(result["printed"]) == 30
    assert result["w"].item() == pytest.approx(2.0, abs=0.1)
    assert result["w"].grad.item() == 0.0


def test_printed_slopes_equal_those_worked_out_by_hand(run):
    """The gradient is printed before it is zeroed in place, as a number that does not change afterwards."""
    program = SLOPE.replace("w.grad.data[0])", "w.grad.data[0].item())")
    w, expected = 1.0, []
    for _ in range(10):
        for x, y in ((1.0, 2.0), (2.0, 4.0), (3.0, 6.0)):
            slope = 2 * x * (x * w - y)
            w -= 0.01 * slope
            expected.append(slope)
    slopes = [line[3] for line in run(program)["printed"]]
    assert slopes == pytest.approx(expected, rel=1e-4)


ON_THE_GPU = """
import torch
tensor = torch.randn(3, requires_grad=True)
print('tensor:', tensor)
tensor_gpu = tensor.cuda()
tensor_gpu.retain_grad()
result_gpu = (tensor_gpu ** 2).sum()
result_gpu.backward()
# Do a slow transfer back to CPU memory
result = (tensor.detach().cpu() ** 2).sum()
"""


def test_cuda_without_a_gpu_is_one_clear_error(run):
    if rlgrad.cuda.is_available():
        pytest.skip("there is a GPU here")
    with pytest.raises(RuntimeError, match=r"CuPy|not available") as caught:
        run(ON_THE_GPU)
    assert "\n" not in str(caught.value)
    assert "cpu" in str(caught.value)


@pytest.mark.gpu
def test_gradients_flow_through_cuda(run):
    result = run(ON_THE_GPU)
    assert result["tensor_gpu"].is_cuda
    assert not result["tensor"].grad.is_cuda
    assert result["tensor"].grad.tolist() == (result["tensor"].detach() * 2).tolist()
    assert result["tensor_gpu"].grad.cpu().tolist() == result["tensor"].grad.tolist()


def test_detached_result_cannot_be_differentiated(run):
    """The document calls ``backward`` on what it computed from a detached tensor, which no version allows."""
    program = ON_THE_GPU.replace(".cuda()", ".cpu()").replace("tensor_gpu.retain_grad()\n", "") + "result.backward()"
    with pytest.raises(RuntimeError, match="does not require grad"):
        run(program)


EXP = """
from torch.autograd import Function
class Exp(Function):
    @staticmethod
    def forward(ctx, i):
        result = i.exp()
        ctx.save_for_backward(result)
        return result
    @staticmethod
    def backward(ctx, grad_output):
        result, = ctx.saved_variables
        return grad_output * result
"""


def test_exp_written_as_a_function(run):
    exp = run(EXP)["Exp"].apply
    x = rlgrad.tensor([0.0, 1.0], dtype=rlgrad.float64, requires_grad=True)
    y = exp(x)
    assert y.grad_fn.name() == "ExpBackward"
    y.sum().backward()
    assert x.grad.tolist() == y.tolist()
    assert rlgrad.autograd.gradcheck(exp, (x,))
    assert rlgrad.autograd.gradgradcheck(exp, (x,))
