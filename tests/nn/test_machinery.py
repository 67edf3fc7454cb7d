"""Hooks, state, names and conversions of modules: each scenario runs under both libraries and must leave the same record."""

import collections
import copy
import warnings

import numpy as np
import pytest

from .records import assert_same_record, attempt

torch = pytest.importorskip("torch")
SCENARIOS = {}


def scenario(function):
    SCENARIOS[function.__name__] = function
    return function


def net(lib):
    model = lib.nn.Sequential(
        collections.OrderedDict(
            first=lib.nn.Linear(2, 3), act=lib.nn.Tanh(), inner=lib.nn.Sequential(lib.nn.Linear(3, 2), lib.nn.ReLU())
        )
    )
    for number, p in enumerate(model.parameters()):
        values = np.linspace(-1, 1, p.numel()).reshape(tuple(p.shape)) + 0.1 * number
        p.data = lib.tensor(values, dtype=lib.float32)
    return model


def ones(lib, *shape, grad=False):
    return lib.ones(*shape, requires_grad=grad)


@scenario
def forward_hooks_with_every_option(lib, log):
    model = net(lib)
    layer = model.first
    layer.register_forward_pre_hook(log.hook("pre", lambda m, a: a and (a[0] * 2,)))
    layer.register_forward_pre_hook(log.hook("pre first", lambda m, a: a and a[0] + 1), prepend=True)
    layer.register_forward_pre_hook(log.hook("pre kw", lambda m, a, k: (a, {**k})), with_kwargs=True)
    layer.register_forward_hook(log.hook("after", lambda m, a, o: o + 1))
    handle = layer.register_forward_hook(log.hook("after kw"), with_kwargs=True)
    layer.register_forward_hook(log.hook("after first"), prepend=True, always_call=True)
    model(ones(lib, 1, 2))
    layer.register_forward_pre_hook(lambda m, a, k: ((k["x"],), {}), with_kwargs=True)
    log.append(layer(x=ones(lib, 1, 2)))
    handle.remove()
    log.append(layer(x=ones(lib, 1, 2)))


@scenario
def a_hook_that_is_always_called_sees_the_error_pass(lib, log):
    layer = lib.nn.Linear(2, 2)
    layer.register_forward_hook(log.hook("always"), always_call=True)
    layer.register_forward_hook(log.hook("not"))
    log.append(attempt(layer, ones(lib, 1, 3)))


@scenario
def a_pre_hook_with_kwargs_must_return_a_pair(lib, log):
    layer = lib.nn.Linear(2, 2)
    layer.register_forward_pre_hook(lambda m, a, k: a, with_kwargs=True)
    log.append(attempt(layer, ones(lib, 1, 2)))


@scenario
def backward_hooks_see_and_replace_gradients(lib, log):
    model = net(lib)
    model.inner.register_full_backward_hook(log.hook("full", lambda m, i, o: (i[0] * 2,)))
    model.inner.register_full_backward_pre_hook(log.hook("pre", lambda m, o: (o[0] + 1,)))
    model.first.register_full_backward_pre_hook(log.hook("pre"))
    model.first.register_full_backward_hook(log.hook("second"))
    model.first.register_full_backward_hook(log.hook("first"), prepend=True)
    x = ones(lib, 2, 2, grad=True)
    model(x).sum().backward()
    log.append(x.grad)
    log.append([p.grad for p in model.parameters()])


@scenario
def backward_hooks_without_an_input_that_requires_grad(lib, log):
    model = net(lib)
    model.first.register_full_backward_hook(log.hook("full"))
    model(ones(lib, 2, 2)).sum().backward()
    with lib.no_grad():
        model(ones(lib, 2, 2))
    model.first.register_full_backward_hook(lambda m, i, o: (o[0],))
    log.append(attempt(lambda: model(ones(lib, 2, 2)).sum().backward()))


@scenario
def backward_hooks_of_modules_with_several_inputs_and_outputs(lib, log):
    class Two(lib.nn.Module):
        def forward(self, a, number, b, c):
            return a * b * number, c + 1, b.detach()

    module = Two()
    module.register_full_backward_pre_hook(log.hook("pre"))
    module.register_full_backward_hook(log.hook("full"))
    a, b, c = ones(lib, 2, grad=True), ones(lib, 2), ones(lib, 2, grad=True)
    out = module(a, 3, b, c)
    log.append([o.requires_grad for o in out])
    out[0].sum().backward()
    log.append([a.grad, b.grad, c.grad])
    module.register_full_backward_hook(lambda m, i, o: (i[0],))
    log.append(attempt(lambda: module(a, 3, b, c)[0].sum().backward()))


@scenario
def regular_and_full_backward_hooks_do_not_mix(lib, log):
    layer = lib.nn.Tanh()
    layer.register_backward_hook(log.hook("regular", lambda m, i, o: (i[0] * 3,)))
    x = ones(lib, 2, grad=True)
    layer(x).sum().backward()
    log.append(x.grad)
    log.append(attempt(layer.register_full_backward_hook, lambda *a: None))


@scenario
def hooks_on_all_modules(lib, log):
    registry = lib.nn.modules.module
    handles = [
        registry.register_module_forward_pre_hook(log.hook("pre")),
        registry.register_module_forward_hook(log.hook("after")),
        registry.register_module_full_backward_pre_hook(log.hook("backward pre")),
        registry.register_module_full_backward_hook(log.hook("backward")),
    ]
    try:
        log.append(attempt(registry.register_module_backward_hook, log.hook("no")))
        net(lib)(ones(lib, 1, 2, grad=True)).sum().backward()
    finally:
        for handle in handles:
            handle.remove()
    net(lib)(ones(lib, 1, 2, grad=True))


@scenario
def hooks_on_registrations(lib, log):
    registry = lib.nn.modules.module
    handles = [
        registry.register_module_parameter_registration_hook(lambda m, n, p: log.append(n)),
        registry.register_module_buffer_registration_hook(lambda m, n, p: log.append(n)),
        registry.register_module_module_registration_hook(lambda m, n, p: log.append(n)),
    ]
    try:
        model = lib.nn.Sequential(lib.nn.Linear(1, 1))
        model.register_buffer("kept", lib.ones(1))
        model.added = lib.nn.Identity()
    finally:
        for handle in handles:
            handle.remove()


@scenario
def hooks_around_the_state(lib, log):
    model = net(lib)

    def rename(module, state, prefix, *rest):
        for key in [k for k in state if k.endswith("old")]:
            state[key[:-3] + "weight"] = state.pop(key)

    model.register_state_dict_pre_hook(log.hook("pre"))
    model.inner.register_state_dict_post_hook(lambda m, state, prefix, meta: state.__setitem__(prefix + "more", prefix))
    state = model.state_dict()
    log.append(list(state))
    log.append(dict(state._metadata))
    del state["inner.more"]
    model.first.register_load_state_dict_pre_hook(rename)
    state["first.old"] = state.pop("first.weight")
    model.register_load_state_dict_post_hook(lambda m, keys: log.append([keys.missing_keys, keys.unexpected_keys]))
    log.append(repr(model.load_state_dict(state)))
    model.register_load_state_dict_post_hook(lambda m, keys: keys.missing_keys.clear())
    del state["inner.0.bias"]
    log.append(repr(model.load_state_dict(state)))
    model.register_state_dict_post_hook(lambda m, state, prefix, meta: state)
    log.append(attempt(model.state_dict))


@scenario
def loading_lists_everything_that_does_not_fit(lib, log):
    state = net(lib).state_dict()
    state["stray"] = state.pop("first.bias")
    state["inner.9.weight"] = lib.zeros(1)
    state["inner.0.weight"] = lib.zeros(1, 1)
    state["inner.0.bias"] = [1.0]
    log.append(str(attempt(net(lib).load_state_dict, state)).replace("Tensor-like", ""))
    log.append(attempt(net(lib).load_state_dict, state, strict=False))
    del state["inner.0.weight"], state["inner.0.bias"]
    log.append(repr(net(lib).load_state_dict(state, strict=False)))
    log.append(attempt(net(lib).load_state_dict, [1]))


@scenario
def assigning_takes_the_tensors_themselves(lib, log):
    model, state = net(lib), {k: v + 1 for k, v in net(lib).state_dict().items()}
    model.first.weight.requires_grad_(False)
    model.load_state_dict({k: v.double() for k, v in state.items()}, assign=True)
    log.append(model.first.weight)
    log.append(model.first.bias)
    log.append(type(model.first.bias))
    model.load_state_dict({k: v.double() for k, v in state.items()})
    log.append(model.first.weight)


@scenario
def one_element_fills_a_scalar(lib, log):
    module = lib.nn.Module()
    module.scale = lib.nn.Parameter(lib.tensor(1.0))
    module.load_state_dict({"scale": lib.tensor([5.0])})
    log.append(module.scale)


@scenario
def extra_state_travels_with_the_tensors(lib, log):
    class Counting(lib.nn.Module):
        def __init__(self):
            super().__init__()
            self.count = 3

        def get_extra_state(self):
            return {"count": self.count}

        def set_extra_state(self, state):
            self.count = state["count"]

    model = lib.nn.Sequential(Counting(), lib.nn.Linear(1, 1))
    log.append(list(model.state_dict()))
    state = model.state_dict()
    state["0._extra_state"] = {"count": 8}
    log.append(repr(model.load_state_dict(state)))
    log.append(model[0].count)
    del state["0._extra_state"]
    state["1._extra_state"] = 1
    log.append(str(attempt(model.load_state_dict, state)))
    log.append([attempt(lib.nn.Linear(1, 1).get_extra_state), attempt(lib.nn.Linear(1, 1).set_extra_state, 1)])


@scenario
def state_into_a_given_dictionary(lib, log):
    model = net(lib)
    target = {}
    model.state_dict(destination=target, prefix="net.")
    log.append(list(target))
    log.append([v.requires_grad for v in model.state_dict(keep_vars=True).values()])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        log.append(list(model.state_dict(collections.OrderedDict(), "p.")))
    log.append([w.category for w in caught])


@scenario
def finding_and_replacing_by_path(lib, log):
    model = net(lib)
    for path in ("inner.0", "inner", "", "inner.5", "first.weight", "nothing.at.all"):
        log.append(
            repr(attempt(model.get_submodule, path))
            if path in ("inner.0", "inner", "")
            else attempt(model.get_submodule, path)
        )
    log.append(
        [attempt(model.get_parameter, p) for p in ("first.weight", "first.other", "inner.0", "first.in_features")]
    )
    model.inner.register_buffer("table", lib.ones(2))
    log.append([attempt(model.get_buffer, p) for p in ("inner.table", "inner.none", "first.weight")])
    model.set_submodule("inner.0", lib.nn.Identity())
    model.set_submodule("inner.new", lib.nn.Tanh())
    log.append(repr(model))
    log.append(
        [
            attempt(model.set_submodule, "", lib.nn.Tanh()),
            attempt(model.set_submodule, "a.b", lib.nn.Tanh()),
            attempt(model.set_submodule, "inner.other", lib.nn.Tanh(), strict=True),
            attempt(model.set_submodule, "inner.table", lib.nn.Tanh()),
            attempt(model.set_submodule, "inner.x", 3),
        ]
    )


@scenario
def shared_parts_come_once_unless_asked(lib, log):
    layer = lib.nn.Linear(2, 2)
    model = lib.nn.ModuleDict({"a": layer, "b": layer, "c": lib.nn.Sequential(layer)})
    model["c"].weight_again = layer.weight
    for duplicates in (True, False):
        log.append([n for n, _ in model.named_modules(remove_duplicate=duplicates)])
        log.append([n for n, _ in model.named_parameters(remove_duplicate=duplicates)])
        log.append([n for n, _ in model.named_parameters("p", recurse=False, remove_duplicate=duplicates)])
    log.append([n for n, _ in model.named_children()])
    log.append([len(list(model.modules())), len(list(model.children())), len(list(model.parameters()))])
    log.append(list(model.state_dict()))


@scenario
def what_cannot_be_registered(lib, log):
    module = lib.nn.Linear(2, 2)
    log.append(
        [
            attempt(module.register_parameter, "a.b", None),
            attempt(module.register_parameter, "", None),
            attempt(module.register_parameter, 3, None),
            attempt(module.register_parameter, "forward", None),
            attempt(module.register_parameter, "x", lib.ones(1)),
            attempt(module.register_buffer, "a.b", None),
            attempt(module.register_buffer, "weight", None),
            attempt(module.register_buffer, "x", 3),
            attempt(module.add_module, "a.b", None),
            attempt(module.add_module, "", None),
            attempt(module.add_module, "weight", lib.nn.Tanh()),
            attempt(module.add_module, "x", 3),
            attempt(module.add_module, 3, None),
            attempt(setattr, module, "weight", 3),
            attempt(setattr, module, "weight", lib.ones(2, 2)),
            attempt(module.train, 1),
            attempt(lib.nn.Module().forward, 1),
            attempt(lib.nn.Module(), 1),
            attempt(lib.nn.Module, 1),
            attempt(module.to, lib.int64),
            attempt(getattr, module, "nothing"),
            attempt(delattr, module, "nothing"),
        ]
    )

    class Early(lib.nn.Module):
        def __init__(self, kind):
            if kind == "parameter":
                self.p = lib.nn.Parameter(lib.ones(1))
            elif kind == "module":
                self.p = lib.nn.Tanh()
            else:
                self.register_buffer("p", lib.ones(1))

    log.append([attempt(Early, kind) for kind in ("parameter", "module", "buffer")])


@scenario
def attributes_move_between_tables(lib, log):
    module = lib.nn.Module()
    module.x = 3
    module.x = lib.nn.Parameter(lib.ones(1))
    log.append([list(module._parameters), "x" in module.__dict__])
    module.x = None
    log.append(list(module._parameters.items()))
    module.x = lib.nn.Parameter(lib.ones(1))
    log.append(attempt(setattr, module, "x", lib.nn.Tanh()))
    del module.x
    module.x = 3
    module.x = lib.nn.Tanh()
    log.append([list(module._parameters), list(module._modules)])
    module.b = lib.nn.Buffer(lib.ones(1), persistent=False)
    module.register_buffer("c", None)
    module.c = lib.zeros(1)
    module.d = lib.ones(1)
    log.append([list(module._buffers), list(module.state_dict()), "d" in module.__dict__])
    del module.b, module.x, module.d
    log.append([list(module._buffers), list(module._modules)])
    log.append([name for name in dir(lib.nn.Sequential(lib.nn.Tanh())) if name == "0"])


@scenario
def conversions_change_floating_state_only(lib, log):
    module = lib.nn.BatchNorm1d(2)
    module.weight.grad = lib.ones(2)
    for change in (
        lambda: module.double(),
        lambda: module.half(),
        lambda: module.float(),
        lambda: module.to(lib.float64),
        lambda: module.to(dtype=lib.float32),
        lambda: module.to("cpu", lib.float64, non_blocking=True),
        lambda: module.to(lib.ones(1)),
        lambda: module.to(device="cpu"),
        lambda: module.cpu(),
        lambda: module.type(lib.float64),
        lambda: module.to_empty(device="cpu"),
    ):
        log.append(change() is module)
        log.append({k: str(v.dtype) for k, v in module.state_dict().items()})
        log.append(str(module.weight.grad.dtype))


@scenario
def modes_and_gradients_of_a_tree(lib, log):
    class Frozen(lib.nn.Linear):
        def train(self, mode=True):
            return super().train(False)

    model = lib.nn.Sequential(Frozen(1, 1), lib.nn.Linear(1, 1))
    model.train()
    log.append([m.training for m in model.modules()])
    model.eval()
    log.append([m.training for m in model.modules()])
    model(ones(lib, 1, 1)).sum().backward()
    model.zero_grad(set_to_none=False)
    log.append([p.grad for p in model.parameters()])
    model.zero_grad()
    log.append([p.grad for p in model.parameters()])
    log.append([p.requires_grad for p in model.requires_grad_(False).parameters()])
    seen = []
    model.apply(lambda m: seen.append(type(m).__name__))
    log.append(seen)


@scenario
def copies_are_independent(lib, log):
    model = net(lib)
    model.first.register_forward_hook(lambda m, a, o: o * 2)
    model.register_buffer("table", lib.ones(2), persistent=False)
    twin = copy.deepcopy(model)
    with lib.no_grad():
        twin.first.weight.zero_()
    log.append([model(ones(lib, 1, 2)), twin(ones(lib, 1, 2)), list(twin.state_dict())])
    shallow = copy.copy(model)
    log.append(shallow.first is model.first)
    fresh = lib.nn.Sequential()
    fresh.__setstate__({**model.__dict__})
    log.append(fresh(ones(lib, 1, 2)))


@scenario
def what_is_printed(lib, log):
    class Speaking(lib.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = lib.nn.Sequential(lib.nn.Linear(1, 2), lib.nn.ModuleList([lib.nn.Tanh()]))
            self.empty = None
            self.add_module("none", None)

        def extra_repr(self):
            return "first line\nsecond line"

    log.append(repr(Speaking()))
    log.append(repr(lib.nn.Module()))


@pytest.mark.parametrize("name", list(SCENARIOS))
def test_same_record_under_both_libraries(name):
    assert_same_record(SCENARIOS[name])
