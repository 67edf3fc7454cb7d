"""What optimizers share: parameter groups, and updates on flat state.

The gradients of a group are joined into one buffer, and the update is a few array calls for all of them together. State
lives in flat buffers too; ``state_dict`` shows it for each parameter under PyTorch's keys.
"""

from __future__ import annotations

import functools
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from rlgrad.autograd.graph import LeafNode
from rlgrad.autograd.modes import enable_grad
from rlgrad.autograd.tensor import Tensor
from rlgrad.backend.errors import nearest
from rlgrad.optim.flat import Flat, lay_out
from rlgrad.optim.hooks import between_hooks
from rlgrad.optim.state import Stateful


class Optimizer(Stateful):
    """Base class of optimizers.

    A subclass defines :meth:`update` on flat buffers, or its own ``step`` that walks the parameters and keeps what it
    likes in ``state[parameter]``.

    Args:
        params: parameters, pairs of name and parameter, or dictionaries that name a group's ``params`` and its options.
        defaults: options of groups that do not set them.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "step" in cls.__dict__:
            cls.step = between_hooks(cls.__dict__["step"])  # type: ignore[method-assign]

    def __init__(self, params: Iterable[Any], defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self.param_groups: list[dict[str, Any]] = []
        self._flats: list[list[Flat] | None] = []
        self._loaded: dict[int, dict[str, Any]] = {}
        self._own_state: defaultdict[Tensor, dict[str, Any]] = defaultdict(dict)
        self._is_flat = type(self).update is not Optimizer.update
        self._opt_called = False
        self.scalars: dict[str, float] = {}
        if isinstance(params, Tensor):
            raise TypeError(
                f"params argument given to the optimizer should be an iterable of Tensors or dicts, but got {type(params)}"
            )
        given = list(params)
        if not given:
            raise ValueError("optimizer got an empty parameter list")
        for group in given if isinstance(given[0], dict) else [{"params": given}]:
            self.add_param_group(dict(group))

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters with options of their own."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        if isinstance(params, set):
            raise TypeError("optimizer parameters need an order, which a set has not: give a list")
        params = [params] if isinstance(params, Tensor) else list(params)
        names = [p[0] for p in params if isinstance(p, tuple)]
        if names and len(names) != len(params):
            raise ValueError("all optimizer params should be with/without names. Some param names are missing")
        params = [p[1] if isinstance(p, tuple) else p for p in params]
        for parameter in params:
            if not isinstance(parameter, Tensor):
                raise TypeError(
                    f"optimizer can only optimize Tensors, but one of the params is {type(parameter).__name__}"
                )
            if not parameter.is_leaf:
                raise ValueError("can't optimize a non-leaf Tensor; give the optimizer the leaf it was computed from")
        known = {id(p) for group in self.param_groups for p in group["params"]}
        if known & {id(p) for p in params}:
            raise ValueError("some parameters appear in more than one parameter group")
        if len({id(p) for p in params}) != len(params):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; each is updated once for every time it "
                "is listed",
                stacklevel=3,
            )
        group = {**param_group, "params": params, **{k: v for k, v in self.defaults.items() if k not in param_group}}
        if self.param_groups and bool(names) != ("param_names" in self.param_groups[0]):
            raise ValueError(
                "all optimizer param groups should be with/without names. cannot add param group "
                f"{'with' if names else 'without'} names to the optimizer"
            )
        if names:
            group["param_names"] = names
        unknown = set(param_group) - set(self.defaults) - {"params", "param_names", "initial_lr"}
        for name in sorted(unknown):
            if not isinstance(param_group[name], (int, float, str, bool, type(None))):
                raise TypeError(f"unknown option {name!r} of {type(self).__name__}.{nearest(name, self.defaults)}")
        self.check_options(group)
        lay_out(params)
        self.param_groups.append(group)
        self._flats.append(None)

    def check_options(self, group: dict[str, Any]) -> None:
        """Raise ``ValueError`` for an option out of range."""
        lr = group.get("lr", 0.0)
        if isinstance(lr, Tensor):
            if lr.numel() != 1:
                raise ValueError(f"Tensor lr must be 1-element, but got shape {tuple(lr.shape)}")
            lr = lr.item()
        if not lr >= 0.0:
            raise ValueError(f"Invalid learning rate: {lr}")
        if group.get("fused") and group.get("differentiable"):
            raise RuntimeError("`fused` does not support `differentiable`")
        if group.get("differentiable"):
            raise NotImplementedError(
                f"{type(self).__name__} changes parameters in place and records nothing, so differentiable=True has no effect "
                "to offer: write the update as tensor operations to differentiate through it"
            )
        if group.get("fused") and group.get("foreach"):
            raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
        if not group.get("weight_decay", 0) >= 0:
            raise ValueError(f"Invalid weight_decay value: {group['weight_decay']}")
        if not group.get("eps", 0) >= 0:
            raise ValueError(f"Invalid epsilon value: {group['eps']}")
        for index, beta in enumerate(group.get("betas", ())):
            if not 0.0 <= beta < 1.0:
                raise ValueError(f"Invalid beta parameter at index {index}: {beta}")

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters (or overwrite them with zeros)."""
        for group in self.param_groups:
            for parameter in group["params"]:
                edge = parameter._edge
                if set_to_none and edge.__class__ is LeafNode:
                    edge.grad = None
                elif set_to_none:
                    parameter.grad = None
                elif parameter.grad is not None:
                    parameter.grad.detach_().zero_()

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter that has a gradient.

        Args:
            closure: recomputes the loss and its gradients, and returns the loss.
        """
        self._opt_called = True
        if not self._has_step_hooks():
            return self._step(closure)
        args, kwargs = self._before_step((self,) if closure is None else (self, closure), {})
        loss = self._step(*args[1:], **kwargs)
        self._after_step(args, kwargs)
        return loss

    def _step(self, closure: Callable[[], Any] | None = None) -> Any:
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        for index, group in enumerate(self.param_groups):
            flats = self._flat(index)
            if len(flats) == 1 and self._step_flat(group, flats[0]):
                continue
            if not all(flat.holds() for flat in flats):  # parameters were converted or moved since: lay them out anew
                self._relay(index)
                flats = self._flat(index)
            if not all(self._step_flat(group, flat) for flat in flats):
                raise RuntimeError(
                    "a gradient has not the dtype and device of its parameter: call zero_grad() after converting or moving "
                    "parameters whose gradients stay behind"
                )
        return loss

    def _step_flat(self, group: dict[str, Any], flat: Flat) -> bool:
        """Update one flat set of parameters; ``False`` when they are no longer what it was laid out for."""
        grads: list[Any] = []
        missing: list[int] = []
        dtype, kind = flat.dtype, flat.grad.__class__
        for parameter, array in flat.pairs:
            if parameter._array is not array:
                return False
            edge = parameter._edge
            grad: Any = edge.grad if edge.__class__ is LeafNode else parameter.grad
            if grad.__class__ is not kind:
                if grad is None:
                    missing.append(len(grads) + len(missing))
                    continue
                grad = grad._array
                if grad.__class__ is not kind:
                    return False
            if grad.dtype is not dtype:
                return False
            grads.append(grad.ravel())
        if not grads:
            return True
        runs = flat.runs(missing)
        if flat.compiled and self.update_compiled(group, flat, grads, runs):
            return True
        update = self._update_run if flat.scalars else self._update_equals
        with flat.place:
            flat.join(grads, runs)
            for first, last in runs:
                update(group, flat, first, last, flat.advance(first, last))
        return True

    def update_compiled(self, group: dict[str, Any], flat: Flat, grads: list[Any], runs: list[tuple[int, int]]) -> bool:
        """Do the whole update with compiled kernels, where there are some; whether that was possible.

        Args:
            group: the options.
            flat: the parameters and their state.
            grads: flat gradients of those that have one.
            runs: which those are: stretches of neighbours that had equally many updates.
        """
        return False

    def _update_run(self, group: dict[str, Any], flat: Flat, first: int, last: int, step: int) -> None:
        rows = list(zip(*flat.scalars.values(), strict=True))
        while first < last:
            stop = first + 1
            while stop < last and rows[stop] == rows[first]:
                stop += 1
            now, later = self.advance(group, step, dict(zip(flat.scalars, rows[first], strict=True)))
            self.scalars = now
            self._update_equals(group, flat, first, stop, step)
            for name, numbers in flat.scalars.items():
                numbers[first:stop] = [float(np.float32(later[name]))] * (stop - first)
            first = stop

    def advance(
        self, group: dict[str, Any], step: int, scalars: dict[str, float]
    ) -> tuple[dict[str, float], dict[str, float]]:
        """The numbers of ``scalar_names`` for this update, found in ``self.scalars``, and those to keep for the next."""
        return scalars, scalars

    def _update_equals(self, group: dict[str, Any], flat: Flat, first: int, last: int, step: int) -> None:
        if flat.xp is not np:
            from rlgrad.optim import fused

            if fused.update(self, group, flat, first, last, step):
                return
        values = flat.values(first, last) if self.needs_values(group) else None
        if group.get("maximize"):
            flat.grad[flat.bounds[first] : flat.bounds[last]] *= -1
        xp, start = flat.xp, flat.bounds[first]
        for part, buffers in flat.blocks(first, last):
            old = None if values is None else values[part.start - start : part.stop - start]
            self.update(xp, group, step, old, *buffers)
        flat.subtract(first, last)

    def needs_values(self, group: dict[str, Any]) -> bool:
        """Whether :meth:`update` wants the parameters' values."""
        return bool(group.get("weight_decay"))

    def update(
        self, xp: Any, group: dict[str, Any], step: int, values: Any, grad: Any, scratch: Any, *state: Any
    ) -> None:
        """Turn ``grad`` into what is to be subtracted from the parameters, and bring ``state`` up to date.

        Args:
            xp: NumPy or CuPy; on a GPU first a :class:`~rlgrad.backend.kernels.recording.Recording`, for which CuPy steps
                in where an update asks for more than arithmetic on each element.
            group: the options.
            step: number of this update, from 1.
            values: the parameters, flat, when :meth:`needs_values`.
            grad: flat gradient, and on return the flat change.
            scratch: flat work space.
            state: flat arrays in the order of ``state_names``.
        """
        raise NotImplementedError(f"{type(self).__name__} defines no update")

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for index, group in enumerate(self.param_groups):
            lines += [""] * (index > 0) + [f"Parameter Group {index}"]
            lines += [f"    {key}: {group[key]}" for key in sorted(group) if key != "params"]
        return "\n".join([*lines, ")"])


def rate(group: dict[str, Any]) -> float:
    """A group's learning rate as a number."""
    return float(group["lr"])


def average(xp: Any, mean: Any, values: Any, keep: float, scratch: Any) -> None:
    """Bring a running mean up to date: ``mean = keep * mean + (1 - keep) * values``."""
    mean *= keep
    xp.multiply(values, 1 - keep, scratch)
    mean += scratch


def average_square(xp: Any, square: Any, values: Any, keep: float, scratch: Any) -> None:
    """Bring a running mean of squares up to date: ``square = keep * square + (1 - keep) * values**2``."""
    square *= keep
    xp.multiply(values, values, scratch)
    scratch *= 1 - keep
    square += scratch


def constants(values: tuple[float, ...], like: Any) -> tuple[Any, ...]:
    """Numbers in the form that costs operations on ``like`` least: for NumPy 0-d arrays of its dtype."""
    return _zero_dimensional(values, like.dtype) if like.__class__ is np.ndarray else values


def number(value: float, like: Any) -> Any:
    """One of :func:`constants` that is another at every step."""
    return np.array(value, like.dtype) if like.__class__ is np.ndarray else value


@functools.lru_cache(1000)
def _zero_dimensional(values: tuple[float, ...], dtype: np.dtype[Any]) -> tuple[Any, ...]:
    return tuple([np.asarray(value, dtype) for value in values])
