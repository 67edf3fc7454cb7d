"""Programs at the edges - zeros, NaN, infinities, ties, empty tensors, mixed dtypes, wrong arguments - against torch.

Each gives the same values, shapes, dtypes, ``grad_fn`` names and gradients, or the same class of error.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest

import rlgrad

# ``T`` makes a tensor of the library under test.
PROGRAMS = """
torch.pow(T([0.,0.,2.,-2.]).requires_grad_(), T([0.,2.,0.,3.]).requires_grad_())
torch.pow(T([0.,1.,-1.]).requires_grad_(), 0)
torch.pow(T([0.,1.,4.]).requires_grad_(), 0.5)
torch.pow(T([0.,1.,4.]).requires_grad_(), -1)
torch.pow(0., T([0.,1.,-1.]).requires_grad_())
torch.pow(2, T([1,2,3]))
torch.pow(T([2,3]), 2)
torch.pow(T([2,3]), 0.5)
torch.pow(T([2,3]), -1)
torch.pow(T([2,1,-1,-1]), T([-1,-1,-1,-2]))
torch.pow(T([True]), 2)
T([1.,2.])**T([2,3])
T([7,-7,7,-7])//T([2,2,-2,-2])
T([7,-7,7,-7])%T([2,2,-2,-2])
torch.fmod(T([7,-7,7,-7]),T([2,2,-2,-2]))
torch.fmod(T([7.,-7.,7.,-7.]),T([2.,2.,-2.,-2.]))
T([7.,-7.,7.,-7.])%T([2.,2.,-2.,-2.])
T([7.,-7.,7.,-7.,inf,1.])//T([2.,2.,-2.,-2.,1.,0.])
T([1,2])//0
T([1,2])%0
torch.fmod(T([1,2]),0)
torch.div(T([1,2]),0,rounding_mode='trunc')
torch.div(T([7,-7]),2,rounding_mode='trunc')
torch.div(T([7,-7]),2,rounding_mode='floor')
torch.div(T([7,-7]),2.5,rounding_mode='floor')
T([1,2])/0
torch.div(T([1.]),1,rounding_mode='x')
T([1.,2.])/T([1,0])
5//T([2,3])
5%T([2.,3.])
torch.clamp(T([nan,1.,-3.,5.]).requires_grad_(),-1,2)
torch.clamp(T([nan,1.,-3.,5.]),T(nan),T(2.))
torch.clamp(T([1.,-3.,5.]).requires_grad_(),nan,2)
torch.clamp(T([1.,-3.,5.]).requires_grad_(),3,2)
torch.clamp(T([1.,-3.,5.]).requires_grad_(),T([0.,0.,6.]).requires_grad_(),T([2.,2.,3.]).requires_grad_())
torch.clamp(T([1,5]),0.5)
torch.clamp(T([1,5]),T([2.,2.]))
torch.clamp(T([1,5]))
torch.clamp_min(T([1,5]),2)
torch.clamp_max(T([1,5]),T([2,2]))
torch.round(T([0.5,1.5,2.5,-0.5]))
torch.round(T([1.2345,123.456]),decimals=2)
torch.round(T([12345.,155.]),decimals=-1)
torch.round(T([1,2]))
torch.floor(T([1,2]))
torch.trunc(T([1,2]))
torch.ceil(T([1,2]))
torch.frac(T([1.5,-1.5]))
torch.sign(T([True,False]))
torch.sign(T([nan,-0.,2.]))
torch.abs(T([-1,2]))
-T([True])
+T([True])
torch.sqrt(T([1,4]))
torch.exp(T([True]))
torch.sigmoid(T([0,1]))
torch.rsqrt(T([4]))
torch.reciprocal(T([4,2]))
torch.square(T([3]))
torch.erf(T([1,2]))
torch.lgamma(T([3,0]))
torch.digamma(T([0.,-1.,2.,-0.5]))
torch.erfinv(T([1.,-1.,2.,0.]))
torch.logit(T([0.,1.,0.5,2.]).requires_grad_())
torch.logit(T([1]))
torch.xlogy(T([0.,0.,1.]).requires_grad_(),T([0.,nan,2.]).requires_grad_())
torch.xlogy(T([0,1]),T([0,2]))
torch.sinc(T([0.,0.5]).requires_grad_())
torch.sinc(T([0,1]))
torch.logaddexp(T([-inf,inf,0.]),T([-inf,inf,0.]))
torch.logaddexp2(T([1.]),T([2.]))
torch.hypot(T([3.]),T([4.]))
torch.fmax(T([nan,1.,nan]).requires_grad_(),T([1.,nan,nan]).requires_grad_())
torch.fmin(T([nan,1.,2.]).requires_grad_(),T([1.,nan,2.]).requires_grad_())
torch.maximum(T([nan,1.,2.]).requires_grad_(),T([1.,nan,2.]).requires_grad_())
torch.copysign(T([1,2]),-1)
torch.copysign(T([0.,2.]).requires_grad_(),T([-0.,-3.]).requires_grad_())
torch.heaviside(T([0.,-1.,2.]),T([0.5]))
torch.heaviside(T([0]),T([0.5]))
torch.nan_to_num(T([nan,inf,-inf]).requires_grad_())
torch.nan_to_num(T([1,2]))
torch.deg2rad(T([180]))
torch.atan2(T([1]),T([1]))
torch.float_power(T([2]),3)
torch.bitwise_left_shift(T([1,2]),2)
T([8,-8])>>1
T([1,2])<<T([1,1])
torch.bitwise_and(T([1.]),T([1.]))
~T([1.])
torch.addcmul(T([1.]),T([2.]),T([3]))
torch.addcmul(T([1]),T([2]),T([3]),value=2)
torch.addcdiv(T([1]),T([2]),T([3]))
torch.lerp(T([1.]).requires_grad_(),T([2.]).requires_grad_(),T(0.25).requires_grad_())
torch.lerp(T([1.]),T([2]),0.5)
torch.lerp(T([1]),T([2]),0.5)
torch.add(T([1]),T([2]),alpha=0.5)
torch.sub(T([True]),T([False]))
1-T([True])
T([1.])-T([True])
torch.add(T([True]),T([True]))
T([True])*T([True])
T([1.,2.])+T([1.,2.,3.])
torch.isin(T([1,2,3]),T([2]))
torch.isclose(T([1.]),T([1]))
torch.signbit(T([-0.,0.,-1.]))
torch.where(T([True,False]),1,2)
torch.where(T([True,False]),T([1]),2.5)
torch.where(T([1,0]),T([1]),2)
torch.logical_not(T([0,3]))
torch.logical_and(T([1.,0.]),T([2,2]))
torch.eq(T([1]),T([1.]))
T([1,2]).prod()
T([0.,2.,0.]).requires_grad_().prod()
T([[0.,2.],[3.,4.]]).requires_grad_().prod(1)
T([True,True]).prod()
T([True,True]).sum()
T([1,2]).sum(dtype=torch.float32)
T([1,2]).mean()
T([1,2]).mean(dtype=torch.float64)
T([]).sum()
T([]).mean()
T([]).prod()
T([]).max()
T([]).argmax()
T([[],[]]).max(1)
T([[],[]]).max(0)
T([[],[]]).sum(1)
torch.zeros(0,3).amax(0)
torch.zeros(0,3).amax(1)
torch.zeros(0,3).max(1)[0]
torch.zeros(0,3).argmax(1)
torch.zeros(0,3).argmax(0)
T([1.,3.,3.]).argmax()
T([[1.,3.,3.]]).argmax(1,keepdim=True)
T([[1.,3.],[3.,1.]]).argmax(keepdim=True)
T([1.,nan,3.]).argmax()
T([1.,nan,3.]).max()
T([1.,nan,3.]).requires_grad_().max()
T([1.,nan,3.]).max(0)[1]
T([1.,nan,3.]).requires_grad_().amax(0)
T([True,False]).max()
T([True,False]).argmax()
T([3,1]).argmin()
T([1.,2.,3.,4.]).median()
T([1.,2.,2.,4.]).requires_grad_().median()
T([[4.,2.,1.,3.]]).median(1)
T([1.,nan,3.]).median()
T([1.,nan,3.]).median(0)
T([1.,nan,3.]).nanmedian()
T([nan,nan]).nanmedian(0)
T([nan,5.,3.,nan]).nanmedian(0)
T([]).median()
T([1,3,2]).median()
T([1,3,3,1,2]).mode()
T([[1.,1.],[2.,3.]]).mode(0)
T([1.,2.,nan]).quantile(0.5)
T([1.,2.,nan]).nanquantile(0.5)
T([1.,2.,4.]).quantile(T([0.1,0.9]))
T([1.,2.,4.]).quantile(1.5)
T([1,2]).quantile(0.5)
T([]).quantile(0.5)
T([1.,nan]).nansum()
T([nan,nan]).nanmean()
T([1,2]).nansum()
T([1,2]).nanmean()
T([1,0,2]).count_nonzero()
T([1,2,4]).diff()
T([True,False]).diff()
T(1.).diff()
T([[1,2],[3,4]]).trace()
T([1.]).trace()
T([1.,2.,3.]).histc(3)
torch.bincount(T([-1]))
torch.bincount(T([0,1,1]),T([1.,2.,3.]))
torch.bincount(T([0,1,1]),T([1,2,3]))
T([1.,nan,0.5,3.]).cummax(0)
T([2,2,1]).cummax(0)
T([2.,1.,1.]).cummin(0)
T([1,2,3]).cumprod(0)
T([True,True]).cumsum(0)
T([1,2]).cumsum(0,dtype=torch.float32)
T([-inf,0.,1.]).requires_grad_().logcumsumexp(0)
T([1,2]).logcumsumexp(0)
T([1,2]).logsumexp(0)
T([-inf,-inf]).logsumexp(0)
T([1.]).var()
T([1.]).std()
T([1,2]).var()
torch.var_mean(T([1.,2.]))
torch.std_mean(T([1.,1.]).requires_grad_())
T([1.,2.]).requires_grad_().aminmax()
torch.aminmax(T([]))
T([1,2]).to(torch.uint8).all()
T([1,2]).to(torch.uint8).any(0)
T([nan]).all()
torch.sum(T([[1.,2.]]),dim=(0,0))
torch.sum(T([[1.,2.]]),dim=5)
torch.sum(T(1.),dim=1)
torch.mean(T([[1.,2.]]),(0,1),True)
torch.sum(T([[1.,2.]]),dim=[])
torch.amax(T([[1.,2.]]),dim=[])
torch.max(T([1.,2.]),T([2.,1.]))
torch.arange(3.)
torch.arange(0,1,0.3)
torch.arange(1,0)
torch.arange(0,5,0)
torch.arange(0,-5,-2)
torch.arange(5,dtype=torch.float64)
torch.arange(1.5,5.5,dtype=torch.int64)
torch.linspace(0,10,5,dtype=torch.int64)
torch.linspace(0,1,-1)
torch.eye(-1)
torch.zeros(-1)
torch.full((2,),True)
torch.full_like(T([1,2]),2.7)
torch.ones_like(T([1,2]),dtype=torch.float64)
torch.zeros(2,dtype=torch.bool)
torch.logspace(0,1,3,base=2)
torch.tril_indices(3,3,-1)
torch.randint(3,3,(2,))
torch.multinomial(T([0.,0.]),1)
torch.tensor([1,2.5])
torch.tensor([[1],[2,3]])
torch.norm(T([3.,4.]))
torch.norm(T([3,4]))
T([1.,2.]).sub_(T([1,1]))
T([1,2]).add_(1.5)
T([1,2]).div_(2)
T([1,2]).floor_divide_(2)
T([1,2]).pow_(2)
T([1.,2.]).eq_(1)
T([1.,-2.]).clamp_(min=T([0.,0.]))
T([1.,2.]).copysign_(-1)
torch.relu(T([1,-1]))
T([2.]).true_divide(4)
torch.exp2(T([3]))
torch.add(T([1.]),T([1.]),out=torch.empty(1))
torch.amax(T([1.,2.]),0,out=torch.empty(()))
T([1.,4.]).sqrt_()
T([1.,-2.,0.])%0
torch.fmod(T([1.,-2.]),0)
T([1.,-2.,0.])//0
T([2.])**np.float64(3)
T([2.,3.])**np.int64(2)
torch.pow(T([1.,2.]),[1,2])
torch.pow(T([True,False]),-1)
torch.abs(T([True]))
torch.floor(T([True]))
torch.round(T([True]))
torch.relu(T([True]))
torch.frac(T([1,2]))
torch.hypot(T([3]),T([4]))
torch.logaddexp(T([3]),T([4]))
T([True])<<T([True])
T([True])//T([True])
torch.relu(T([nan,1.,-1.,0.]).requires_grad_())
T([1.,2.]).requires_grad_().bool()
T([1.,2.]).requires_grad_().long()
T([1.,2.]).requires_grad_().to(torch.int32)
T([1.,2.]).requires_grad_().real
T([1.,2.]).imag
torch.zeros(0,2).unbind()
torch.zeros(2,0).unbind(1)
torch.zeros(2,3).sum(dim=np.int64(1))
torch.zeros(2,3).amax(dim=np.int64(1))
torch.zeros(2,3).mean(dim='a')
torch.zeros(2,3).all(dim=())
T([[1.,0.],[2.,3.]]).any(())
T([5.,1.,3.]).max(axis=0)
T([[5.,1.],[3.,7.]]).amax(axis=0,keepdims=True)
T([[5.,1.],[3.,7.]]).argmax(axis=1)
T([[5.,1.],[3.,7.]]).std(axis=1)
T([[5.,1.],[3.,7.]]).prod(axis=1,keepdims=True)
T([[5.,1.],[3.,7.]]).softmax(axis=1)
T([[5.,1.],[3.,7.]]).sort(axis=0)
T([[5.,1.],[3.,7.]]).median(axis=0)
torch.cat([T([[5.,1.]]),T([[3.,7.]])],axis=1)
torch.stack([T([5.,1.]),T([3.,7.])],axis=1)
torch.unsqueeze(T([5.,1.]),axis=0)
torch.squeeze(T([[5.,1.]]),axis=0)
T([[5.,1.],[3.,7.]]).cumsum(axis=0)
torch.tensor([],dtype=torch.int64).median()
T([True,False]).median()
T([nan,nan,1.]).unique()
torch.trace(torch.ones(2,2,dtype=torch.bool))
torch.softmax(T([1,2]),0)
torch.equal(T([1.]),1.)
torch.isclose(T([1.,2.]),T([1.,2.,3.]))
torch.matrix_exp(T([[nan,1.],[0.,1.]]))
torch.reshape(T([1.,2.,3.,4.]),shape=(2,2))
T([[1.,2.]]).permute(dims=(1,0))
T([1.,2.]).repeat(repeats=(2,2))
torch.tile(T([1.,2.]),dims=(2,))
T([1.,2.]).repeat(-1)
T(1.).chunk(2)
T([1.,2.]).index_select(0,[0])
T([1.,2.]).type(torch.DoubleTensor)
T([1,2]).copy_(T([1.5,2.5]).requires_grad_())
T([1.,2.]).copy_(5)
torch.zeros(2).fill_(T(3.).requires_grad_())
torch.zeros(3,1).expand(3,4)[0].__setitem__(0,1.) or T(0.)
torch.zeros(3,1).expand(3,4).__setitem__(0,1.)
torch.cat([torch.zeros(0).requires_grad_(),torch.ones(2,3)])
torch.sigmoid(T([-20.,-87.,-inf,30.,nan]).requires_grad_()).log()
torch.sigmoid(torch.full((2000,),-20.)).log()[:2]
torch.nn.functional.silu(T([-inf,-3e38,-20.,inf]))*1e6
torch.nn.functional.gelu(T([-1.,0.5,3.]).requires_grad_(), approximate='tanh')
torch.nn.functional.gelu(T([-3.,0.5,3.]).half(), approximate='tanh')
torch.logaddexp(T([inf,1e8,-inf,0.]).requires_grad_(), T([0.,1e8,1.,inf]).requires_grad_())
torch.logaddexp2(T([inf,1e8,-inf,0.]).requires_grad_(), T([0.,1e8,1.,inf]).requires_grad_())
torch.atan2(T([0.,0.,1.]).requires_grad_(), T([0.,-1.,0.]).requires_grad_())
torch.pow(T([-0.,0.,-inf,4.]), -0.5)
torch.igamma(T([nan,nan,inf,inf,0.,2.]), T([0.,inf,nan,1.,0.,inf]))
torch.igammac(T([nan,nan,inf,inf,0.,2.]), T([0.,inf,nan,1.,0.,inf]))
torch.special.zeta(T([10.,1e20,1e20,0.5,2.]).double(), T([inf,1e10,2.,1.,-1.]).double())
torch.special.airy_ai(T([1e20,200.,-1e8,inf,nan]).double())
torch.special.airy_ai(T([1.]).half())
torch.special.erfcx(T([1.]).half())
torch.polygamma(1, T([-1.,-3.5,0.,0.5,2.]))
torch.sinc(T([0.,1.,-2.5,100.]).half())
torch.special.chebyshev_polynomial_t(T([0.5,1.,-1.,2.,nan]), T([1e6,1e9,7.,nan,3.]))
torch.special.chebyshev_polynomial_u(T([0.5,1.,-1.,2.,-2.]), T([9.,20.,7.,3e3,inf]))
torch.special.chebyshev_polynomial_v(T([0.5,1.,-1.,2.,-2.]), T([9.,20.,7.,30.,-inf]))
torch.special.chebyshev_polynomial_w(T([0.5,1.,-1.,2.,-2.]), T([9.,20.,7.,30.,5.]))
torch.special.shifted_chebyshev_polynomial_t(T([0.5,1.,0.,2.,-2.]), T([9.,2e9,7.,3e6,5.]))
torch.special.hermite_polynomial_h(T([0.5,1.]), T([129.,4.]))
torch.special.hermite_polynomial_h(T([0.5,1.]).double(), T([513.,4.]).double())
torch.special.legendre_polynomial_p(T([1.,-1.,0.3]), T([1e9,1e9+64,5.]))
torch.histogramdd(T([[0.,1.],[2.,0.5],[3.,3.],[0.2,0.1]]), (T([3.,1.,0.]),T([0.,2.,1.,3.])))[0]
torch.histogramdd(T([[0.,1.],[2.,0.5],[3.,3.],[0.2,0.1]]), (T([0.,1.,3.]),T([0.,2.,1.,3.])), density=True)[0]
torch.full((2,), 300, dtype=torch.uint8)
torch.full((2,), -1, dtype=torch.uint8)
torch.full((2,), -1.5, dtype=torch.uint8)
torch.zeros(2).fill_(1e300)
torch.zeros(2, dtype=torch.int32).fill_(nan)
torch.zeros(2, dtype=torch.int8).masked_fill(torch.ones(2) > 0, 300)
torch.zeros(2, dtype=torch.int8).index_fill(0, T([0]), 300)
torch.tensor([300], dtype=torch.int8)
T([1,2]) * np.True_
torch.mul(3, np.int64(2))
torch.add(T([1,2]), T([1,2]), alpha=np.float32(1.5))
torch.add(T([1,2]), T([1,2]), alpha=True)
torch.fmod(T([1,2])[:0], T(0))
T([True,False]) ** False
torch.lerp(T([1.,2.]).double(), T([3.,4.]).double(), T(0.5))
torch.ldexp(T([1.,2.]).half(), T([1,2]))
torch.ldexp(T([1.,2.]), T([True,False]))
torch.searchsorted(T([1,2,3]), T([0.5,2.5]))
torch.kthvalue(T([[]]), 3)
torch.cat([T([[1.]]), T([1.])], 1)
torch.diff(T([1,2]), prepend=T(1))
torch.softmax(T([1,2])[:0], 0)
torch.softmax(T([1,2]), 5)
torch.log_softmax(T([1.,2.]), 0, dtype=torch.int16)
torch.inner(T([1.]), 2.)
torch.kron(2., T([1.]))
torch.dist(T([1.]), 1)
torch.bitwise_not(T([1.]))
T(1.).mH
torch.index_reduce(T(5.9).requires_grad_(), 0, T([0]), T(-3.3).requires_grad_(), 'mean', include_self=False)
""".strip().splitlines()


def outcome(library: Any, program: str) -> tuple[str, Any]:
    """What a program gives: its outputs and the gradients of its leaves, or the class of its error."""
    made: list[Any] = []

    def tensor(data: Any) -> Any:
        made.append(library.tensor(data))
        return made[-1]

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = eval(program, {"torch": library, "T": tensor, "nan": math.nan, "inf": math.inf, "np": np})
    except Exception as error:
        return "error", type(error).__name__
    results = result if isinstance(result, (tuple, list)) else [result]
    found = [
        (str(y.dtype), tuple(y.shape), y.detach().tolist(), y.grad_fn and type(y.grad_fn).__name__) for y in results
    ]
    differentiable = [y.sum() for y in results if y.requires_grad]
    if not differentiable:
        return "values", (found, None)
    library.autograd.backward(differentiable)
    return "values", (found, [None if x.grad is None else x.grad.tolist() for x in made if x.requires_grad])


def alike(a: Any, b: Any) -> bool:
    """Equal, floats to five digits and NaN to NaN."""
    if isinstance(a, (list, tuple)):
        return isinstance(b, (list, tuple)) and len(a) == len(b) and all(map(alike, a, b))
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (a != a and b != b) or math.isclose(a, b, rel_tol=1e-5, abs_tol=1e-6)
    return type(a) is type(b) and a == b


@pytest.mark.parametrize("program", PROGRAMS)
def test_outcome_is_torchs(program):
    torch = pytest.importorskip("torch")
    expected, found = outcome(torch, program), outcome(rlgrad, program)
    assert alike(found, expected), f"torch gives {expected}, rlgrad gives {found}"


def test_copies_are_laid_out_as_their_originals_are():
    assert rlgrad.zeros(3, 2).t().clone().stride() == (1, 2)
    assert rlgrad.zeros(4, 3, 2).permute(2, 0, 1).clone().stride() == (1, 6, 2)
    assert rlgrad.zeros(3, 1).expand(3, 4).clone().stride() == (4, 1)
    assert rlgrad.zeros_like(rlgrad.zeros(3, 2).t()).stride() == (1, 2)
    assert rlgrad.zeros(3, 2).t().contiguous().stride() == (3, 1)
    assert rlgrad.zeros(3, 2).t().clone(memory_format=rlgrad.contiguous_format).stride() == (3, 1)


@pytest.mark.parametrize("rows", [[[1.0, 2.0], [2.0, 4.0]], [[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [1.0, 1.0, 1.0]]])
def test_determinant_of_a_singular_matrix_has_a_second_derivative(rows):
    """By differences of the first derivative, which is a polynomial."""
    n = len(rows)
    a = np.array(rows)
    weight = np.arange(1.0, n * n + 1).reshape(n, n) ** 1.5

    def slope(x):
        t = rlgrad.from_numpy(x).requires_grad_()
        first, = rlgrad.autograd.grad(rlgrad.linalg.det(t), t, create_graph=True)  # fmt: skip
        return t, (first * rlgrad.from_numpy(weight)).sum()

    t, y = slope(a.copy())
    found, = rlgrad.autograd.grad(y, t)  # fmt: skip
    expected = np.zeros_like(a)
    for place in np.ndindex(n, n):
        step = np.zeros_like(a)
        step[place] = 1e-4
        expected[place] = (slope(a + step)[1].item() - slope(a - step)[1].item()) / 2e-4
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-6)


def test_recording_cannot_be_switched_on_in_inference_mode():
    w = rlgrad.ones(2, requires_grad=True)
    with rlgrad.inference_mode():
        with rlgrad.enable_grad():
            y = w * 2
            assert rlgrad.is_grad_enabled()
        assert not rlgrad.is_grad_enabled()
    assert y.is_inference()
    assert not y.requires_grad
    assert rlgrad.is_grad_enabled()
    assert (w * 2).requires_grad


def test_an_index_of_nothing_is_looked_up_nowhere():
    assert rlgrad.zeros(0, 3)[False, [0]].shape == (0, 3)
    with pytest.raises(IndexError):
        rlgrad.zeros(0, 3)[True, [0]]


def test_a_number_beside_a_mask_keeps_its_value_in_recorded_derivatives():
    x = rlgrad.tensor([0.3, -1.2, 0.8], dtype=rlgrad.float64, requires_grad=True)
    seed = rlgrad.tensor([1.0, -1.0, 0.5], dtype=rlgrad.float64)
    y = x.logcumsumexp(0)
    plain, = rlgrad.autograd.grad(y, x, seed, retain_graph=True)  # fmt: skip
    recorded, = rlgrad.autograd.grad(y, x, seed.requires_grad_(), create_graph=True)  # fmt: skip
    np.testing.assert_allclose(recorded.detach().numpy(), plain.numpy(), rtol=1e-12)


@pytest.mark.parametrize("name", ["mm", "bmm", "mv", "dot", "matmul"])
def test_products_write_into_what_they_are_given(name):
    rng = np.random.default_rng(0)
    shapes = {"mm": ((2, 3), (3, 4)), "bmm": ((2, 2, 3), (2, 3, 2)), "mv": ((2, 3), (3,)), "dot": ((3,), (3,))}
    a, b = (rlgrad.from_numpy(rng.standard_normal(s)) for s in shapes.get(name, ((2, 1, 3), (3, 2))))
    function = getattr(rlgrad, name)
    expected = function(a, b)
    out = rlgrad.empty(0, dtype=rlgrad.float64)
    assert function(a, b, out=out) is out
    np.testing.assert_array_equal(out.numpy(), expected.numpy())
    with pytest.raises(RuntimeError, match="out="):
        function(a.clone().requires_grad_(), b, out=out)
