"""Containers: each scenario runs under both libraries and must leave the same record."""

import collections
import copy

import pytest

from .records import assert_same_record, attempt

torch = pytest.importorskip("torch")
SCENARIOS = {}


def scenario(function):
    SCENARIOS[function.__name__] = function
    return function


def names(module):
    return [(name, type(child).__name__) for name, child in module.named_children()]


@scenario
def sequential_as_a_list(lib, log):
    nn = lib.nn
    net = nn.Sequential(nn.Tanh(), nn.ReLU(), nn.Sigmoid(), nn.ELU())
    log.append([net[0], net[-1], net[1:3], net[::2], len(net), [type(m).__name__ for m in net]])
    log.append([attempt(net.__getitem__, 9), attempt(net.__getitem__, -9), attempt(net.__getitem__, "0")])
    net[1] = nn.Softplus()
    del net[0]
    log.append(names(net))
    del net[1:]
    log.append(names(net.append(nn.Tanh()).extend([nn.ReLU(), nn.ELU()]).insert(1, nn.Sigmoid())))
    log.append(names(net.insert(-1, nn.GELU())))
    log.append([attempt(net.insert, 99, nn.Tanh()), attempt(net.insert, 0, 3), attempt(net.append, 3)])
    log.append([net.pop(0), names(net), net.pop(slice(0, 2)), names(net)])


@scenario
def sequential_arithmetic(lib, log):
    nn = lib.nn
    one, two = nn.Sequential(nn.Tanh()), nn.Sequential(nn.ReLU(), nn.Tanh())
    log.append([names(one + two), names(two * 2), names(2 * one), len(two)])
    one += two
    two *= 3
    log.append([names(one), [name for name, _ in two.named_modules(remove_duplicate=False)]])
    log.append([attempt(lambda: one + names(one)), attempt(lambda: one * 0), attempt(lambda: one * 1.5)])
    named = nn.Sequential(collections.OrderedDict(a=nn.Tanh(), b=nn.ReLU()))
    log.append([repr(named[:1]), named.b, names(named)])


@scenario
def module_list(lib, log):
    nn = lib.nn
    modules = nn.ModuleList([nn.Linear(1, 2), nn.Linear(1, 2), nn.Linear(2, 1)])
    modules.append(nn.Tanh()).extend([nn.Tanh(), nn.Tanh()])
    modules += [nn.ReLU()]
    log.append(repr(modules))
    log.append([repr(nn.ModuleList()), repr(modules[1:3]), repr(modules + nn.Sequential(nn.ELU())), names(modules)])
    modules.insert(1, nn.Sigmoid())
    modules[0] = nn.GELU()
    del modules[2], modules[2:4]
    log.append([names(modules), modules.pop(-1), modules[-1], len(modules)])
    log.append([attempt(modules.extend, 3), attempt(modules, 3), attempt(modules.__getitem__, 99)])


@scenario
def module_dict(lib, log):
    nn = lib.nn
    modules = nn.ModuleDict({"b": nn.Tanh(), "a": nn.ReLU()})
    modules.update([("c", nn.ELU()), ["b", nn.GELU()]])
    modules["d"] = nn.Sigmoid()
    log.append([repr(modules), list(modules), list(modules.keys()), "a" in modules, len(modules)])
    log.append([repr(modules.pop("a")), list(modules.values()), [k for k, _ in modules.items()]])
    del modules["d"]
    log.append(
        [
            attempt(modules.__getitem__, "zzz"),
            attempt(modules.update, 3),
            attempt(modules.update, [3]),
            attempt(modules.update, [("a",)]),
            attempt(modules.__setitem__, "x.y", nn.Tanh()),
            attempt(modules.__setitem__, "keys", nn.Tanh()),
            attempt(modules.__setitem__, "x", 3),
        ]
    )
    modules.clear()
    log.append(repr(modules))


@scenario
def parameter_list(lib, log):
    nn = lib.nn
    values = nn.ParameterList([nn.Parameter(lib.ones(2)), lib.zeros(2, 3), "text"])
    values.append(lib.ones(()))
    values += [3]
    values[1] = lib.ones(1)
    log.append([repr(values), len(values), [n for n, _ in values.named_parameters()], list(values.state_dict())])
    log.append([values[1:3], values[-1], [type(v).__name__ for v in values], type(values[1:]).__name__])
    log.append(
        [
            attempt(values, 1),
            attempt(values.__getitem__, 7),
            attempt(values.extend, 3),
            attempt(values.extend, lib.ones(1)),
        ]
    )


@scenario
def parameter_dict(lib, log):
    nn = lib.nn
    values = nn.ParameterDict({"b": lib.ones(2), "a": nn.Parameter(lib.zeros(1, 2)), "text": "x"})
    log.append([repr(values), list(values), list(reversed(values)), "a" in values, len(values)])
    log.append([values.get("a"), values.get("zzz", 3), values.setdefault("n", lib.ones(1)), values.setdefault("a", 1)])
    log.append([values.pop("b"), values.popitem(), list(values.keys()), list(values.values()), list(values.items())])
    both = values | nn.ParameterDict({"more": lib.ones(1)})
    both |= {"text": "y"}
    log.append([list(both.items()), list(values.copy()), list(values.fromkeys(["p", "q"], 1).items())])
    del values["text"]
    log.append([list(values), attempt(values, 1), attempt(values.update, 3), attempt(values.update, [("a",)])])
    log.append([n for n, _ in values.named_parameters()])
    values.clear()
    log.append([len(values), list(values.state_dict())])
    log.append(list(nn.ParameterDict([("z", lib.ones(1)), ("a", lib.ones(1))])))
    log.append(attempt(values.__setitem__, 3, 3))
    log.append(list(copy.deepcopy(nn.ParameterDict(collections.OrderedDict(z=lib.ones(1), a=lib.ones(1))))))


@pytest.mark.parametrize("name", list(SCENARIOS))
def test_same_record_under_both_libraries(name):
    assert_same_record(SCENARIOS[name])
