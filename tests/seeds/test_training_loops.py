"""The two-layer network of the tutorials in all its versions: the losses fall, and are torch's on the same numbers."""

import pytest

HEAD = """
import torch
dtype = torch.float
device = torch.device("cpu")
# N is batch size; D_in is input dimension;
# H is hidden dimension; D_out is output dimension.
N, D_in, H, D_out = 64, 1000, 100, 10
x = torch.randn(N, D_in, device=device, dtype=dtype)
y = torch.randn(N, D_out, device=device, dtype=dtype)
"""

BY_HAND = (
    HEAD
    + """
w1 = torch.randn(D_in, H, device=device, dtype=dtype)
w2 = torch.randn(H, D_out, device=device, dtype=dtype)
learning_rate = 1e-6
for t in range(500):
    # Forward pass: compute predicted y
    h = x.mm(w1)
    h_relu = h.clamp(min=0)
    y_pred = h_relu.mm(w2)
    # Compute and print loss
    loss = (y_pred - y).pow(2).sum().item()
    print(t, loss)
    # Backprop to compute gradients of w1 and w2 with respect to loss
    grad_y_pred = 2.0 * (y_pred - y)
    grad_w2 = h_relu.t().mm(grad_y_pred)
    grad_h_relu = grad_y_pred.mm(w2.t())
    grad_h = grad_h_relu.clone()
    grad_h[h < 0] = 0
    grad_w1 = x.t().mm(grad_h)
    # Update weights using gradient descent
    w1 -= learning_rate * grad_w1
    w2 -= learning_rate * grad_w2
"""
)

AUTOGRAD = (
    HEAD
    + """
w1 = torch.randn(D_in, H, device=device, dtype=dtype, requires_grad=True)
w2 = torch.randn(H, D_out, device=device, dtype=dtype, requires_grad=True)
learning_rate = 1e-6
for t in range(500):
    y_pred = x.mm(w1).clamp(min=0).mm(w2)
    loss = (y_pred - y).pow(2).sum()
    print(t, loss.item())
    loss.backward()
    with torch.no_grad():
        w1 -= learning_rate * w1.grad
        w2 -= learning_rate * w2.grad
        # Manually zero the gradients after updating weights
        w1.grad.zero_()
        w2.grad.zero_()
"""
)

MY_RELU = (
    """
import torch
class MyReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return input.clamp(min=0)
    @staticmethod
    def backward(ctx, grad_output):
        input, = ctx.saved_tensors
        grad_input = grad_output.clone()
        grad_input[input < 0] = 0
        return grad_input
"""
    + HEAD
    + """
w1 = torch.randn(D_in, H, device=device, dtype=dtype, requires_grad=True)
w2 = torch.randn(H, D_out, device=device, dtype=dtype, requires_grad=True)
learning_rate = 1e-6
for t in range(500):
    # To apply our Function, we use Function.apply method. We alias this as 'relu'.
    relu = MyReLU.apply
    y_pred = relu(x.mm(w1)).mm(w2)
    loss = (y_pred - y).pow(2).sum()
    print(t, loss.item())
    loss.backward()
    with torch.no_grad():
        w1 -= learning_rate * w1.grad
        w2 -= learning_rate * w2.grad
        w1.grad.zero_()
        w2.grad.zero_()
"""
)

SEQUENTIAL = """
import torch
N, D_in, H, D_out = 64, 1000, 100, 10
x = torch.randn(N, D_in)
y = torch.randn(N, D_out)
model = torch.nn.Sequential(
    torch.nn.Linear(D_in, H),
    torch.nn.ReLU(),
    torch.nn.Linear(H, D_out),
)
loss_fn = torch.nn.MSELoss(reduction='sum')
learning_rate = 1e-4
"""

NN = (
    SEQUENTIAL
    + """
for t in range(500):
    y_pred = model(x)
    loss = loss_fn(y_pred, y)
    print(t, loss.item())
    model.zero_grad()
    loss.backward()
    with torch.no_grad():
        for param in model.parameters():
            param -= learning_rate * param.grad
"""
)

OPTIM = (
    SEQUENTIAL
    + """
optimizer = torch.optim.Adam(model.parameters(), lr=learning_rate)
for t in range(500):
    y_pred = model(x)
    loss = loss_fn(y_pred, y)
    print(t, loss.item())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
)

TRAIN = """
N, D_in, H, D_out = 64, 1000, 100, 10
x = torch.randn(N, D_in)
y = torch.randn(N, D_out)
model = {model}(D_in, H, D_out)
criterion = torch.nn.MSELoss(reduction='sum')
optimizer = torch.optim.SGD(model.parameters(), lr=1e-4{momentum})
for t in range(500):
    y_pred = model(x)
    loss = criterion(y_pred, y)
    print(t, loss.item())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""

TWO_LAYER_NET = """
import torch
class TwoLayerNet(torch.nn.Module):
    def __init__(self, D_in, H, D_out):
        super(TwoLayerNet, self).__init__()
        self.linear1 = torch.nn.Linear(D_in, H)
        self.linear2 = torch.nn.Linear(H, D_out)
    def forward(self, x):
        h_relu = self.linear1(x).clamp(min=0)
        y_pred = self.linear2(h_relu)
        return y_pred
""" + TRAIN.format(model="TwoLayerNet", momentum="")

DYNAMIC_NET = """
import random
import torch
class DynamicNet(torch.nn.Module):
    def __init__(self, D_in, H, D_out):
        super(DynamicNet, self).__init__()
        self.input_linear = torch.nn.Linear(D_in, H)
        self.middle_linear = torch.nn.Linear(H, H)
        self.output_linear = torch.nn.Linear(H, D_out)
    def forward(self, x):
        h_relu = self.input_linear(x).clamp(min=0)
        for _ in range(random.randint(0, 3)):
            h_relu = self.middle_linear(h_relu).clamp(min=0)
        y_pred = self.output_linear(h_relu)
        return y_pred
""" + TRAIN.format(model="DynamicNet", momentum=", momentum=0.9")

PROGRAMS = {
    "gradients by hand": BY_HAND,
    "autograd": AUTOGRAD,
    "MyReLU": MY_RELU,
    "nn": NN,
    "optim": OPTIM,
    "TwoLayerNet": TWO_LAYER_NET,
    "DynamicNet": DYNAMIC_NET,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_losses_are_those_of_torch(run_in_both, program):
    ours, theirs = run_in_both(program.replace("range(500)", "range(60)"))
    losses = [loss for _, loss in ours["printed"]]
    assert losses == pytest.approx([loss for _, loss in theirs["printed"]], rel=2e-3)


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name != "DynamicNet"])
def test_training_fits_the_data(run, name):
    losses = [loss for _, loss in run(PROGRAMS[name])["printed"]]
    assert len(losses) == 500
    assert losses[-1] < 1e-2 * losses[0]


def test_dynamic_network_learns_through_shared_weights(run):
    result = run(DYNAMIC_NET.replace("import torch\n", "import torch\ntorch.manual_seed(0); random.seed(0)\n", 1))
    losses = [loss for _, loss in result["printed"]]
    assert min(losses[-50:]) < 0.5 * losses[0]


def test_three_ways_to_the_same_gradient_agree(run_in_both):
    """By hand, recorded, and through a Function: the same weights after sixty steps."""
    weights = [run_in_both(p.replace("range(500)", "range(60)"))[0]["w1"] for p in (BY_HAND, AUTOGRAD, MY_RELU)]
    for other in weights[1:]:
        assert other.detach().numpy() == pytest.approx(weights[0].numpy(), abs=1e-3)
