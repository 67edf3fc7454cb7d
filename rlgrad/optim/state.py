"""What optimizers remember of their parameters: kept flat, shown for each parameter, saved and loaded."""

from __future__ import annotations

import copy
from collections import defaultdict
from typing import Any, ClassVar

import numpy as np

from rlgrad.autograd.tensor import Tensor, wrap
from rlgrad.backend.devices import move
from rlgrad.optim.flat import Flat, by_kind
from rlgrad.optim.hooks import Hooked


class Stateful(Hooked):
    """The part of an optimizer that keeps the state of its groups.

    Attributes:
        param_groups: the groups: parameters and options.
        _flats: for each group its parameters laid out with their state; ``None`` until they are needed.
        _loaded: state that was loaded, by the parameter's ``id``, until it is laid out.
        _own_state: state of an optimizer that walks its parameters by itself.
    """

    param_groups: list[dict[str, Any]]
    _flats: list[list[Flat] | None]
    _loaded: dict[int, dict[str, Any]]
    _own_state: defaultdict[Tensor, dict[str, Any]]
    _is_flat: bool

    state_names: ClassVar[tuple[str, ...]] = ()
    state_from_start: ClassVar[bool] = False
    """Whether parameters have state before their first update, as Adagrad's have in PyTorch."""
    scalar_names: ClassVar[dict[str, float]] = {}
    """State that is one number for each parameter, kept in single precision as PyTorch does, and where it starts."""

    def group_state_names(self, group: dict[str, Any]) -> tuple[str, ...]:
        """The state buffers that a group's options call for."""
        return self.state_names

    def _flat(self, index: int) -> list[Flat]:
        flats = self._flats[index]
        if flats is None:
            group = self.param_groups[index]
            flats = [Flat(params, self.group_state_names(group)) for params in by_kind(group["params"])]
            for flat in flats:
                flat.scalars = {name: [first] * len(flat.params) for name, first in self.scalar_names.items()}
            self._flats[index] = flats
            for flat in flats:
                for position, parameter in enumerate(flat.params):
                    known = self._loaded.pop(id(parameter), None)
                    if known is not None:
                        self._restore(flat, position, known)
                    else:
                        self.initial_state(group, flat, position)
        return flats

    def initial_state(self, group: dict[str, Any], flat: Flat, position: int) -> None:
        """Set up state that does not start at zero."""

    @staticmethod
    def _restore(flat: Flat, position: int, known: dict[str, Any]) -> None:
        flat.steps[position] = int(float(known.get("step", 0)))
        for name, numbers in flat.scalars.items():
            if name in known:
                numbers[position] = float(known[name])
        for name, target in flat.slices(position).items():
            if name in known and known[name] is not None:
                value = known[name]
                array = value._array if isinstance(value, Tensor) else np.asarray(value)
                target[...] = move(array, flat.device).reshape(target.shape)

    def _relay(self, index: int) -> None:
        """Lay a group out anew, keeping its state."""
        for flat in self._flats[index] or ():
            for i, parameter in enumerate(flat.params):
                state = {name: wrap(array) for name, array in flat.slices(i).items()}
                numbers = {name: values[i] for name, values in flat.scalars.items()}
                self._loaded[id(parameter)] = {"step": flat.steps[i], **numbers, **state}
        self._flats[index] = None

    @property
    def state(self) -> defaultdict[Tensor, dict[str, Any]]:
        """For each parameter that was updated its state by name; the tensors share the optimizer's memory."""
        if not self._is_flat:
            return self._own_state
        result: defaultdict[Tensor, dict[str, Any]] = defaultdict(dict)
        for index, group in enumerate(self.param_groups):
            flats = self._flats[index]
            if flats is None and (self.state_from_start or any(id(p) in self._loaded for p in group["params"])):
                flats = self._flat(index)
            for flat in flats or ():
                for i, parameter in enumerate(flat.params):
                    if flat.steps[i] or self.state_from_start:
                        shown = {name: wrap(array) for name, array in flat.slices(i).items()}
                        for name, numbers in flat.scalars.items():
                            shown[name] = wrap(np.asarray(numbers[i], np.float32))
                        shown = self.shown_state(group, flat.steps[i], shown)
                        if shown:
                            result[parameter] = shown
        return result

    def shown_state(self, group: dict[str, Any], step: int, arrays: dict[str, Tensor]) -> dict[str, Any]:
        """One parameter's state under PyTorch's keys."""
        return {"step": wrap(np.asarray(step, np.float32)), **arrays}

    def state_dict(self) -> dict[str, Any]:
        """Options and state, parameters numbered in order, under PyTorch's keys."""
        for hook in self._hooks_of("state_dict_pre"):
            hook(self)
        numbers: dict[int, int] = {}
        groups = []
        for group in self.param_groups:
            for parameter in group["params"]:
                numbers[id(parameter)] = len(numbers)
            shown = {key: value for key, value in group.items() if key != "params"}
            groups.append({**shown, "params": [numbers[id(p)] for p in group["params"]]})
        state = {numbers[id(p)]: values for p, values in self.state.items()}
        result: dict[str, Any] = {"state": state, "param_groups": groups}
        for hook in self._hooks_of("state_dict_post"):
            changed = hook(self, result)
            result = result if changed is None else changed
        return result

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from what :meth:`state_dict` of an optimizer with the same groups gave.

        Raises:
            ValueError: when the groups or their sizes differ.
        """
        state_dict = dict(state_dict)
        for hook in self._hooks_of("load_pre"):
            changed = hook(self, state_dict)
            state_dict = state_dict if changed is None else changed
        saved = state_dict["param_groups"]
        if len(saved) != len(self.param_groups):
            raise ValueError(
                f"loaded state dict has a different number of parameter groups: {len(saved)}, expected {len(self.param_groups)}"
            )
        for position, (mine, theirs) in enumerate(zip(self.param_groups, saved, strict=True)):
            if len(mine["params"]) != len(theirs["params"]):
                raise ValueError(
                    "loaded state dict contains a parameter group that doesn't match the size of optimizer's group: group "
                    f"{position} has {len(theirs['params'])} parameters, expected {len(mine['params'])}"
                )
        state = {int(key): value for key, value in state_dict["state"].items()}
        self._loaded = {}
        self._own_state.clear()
        for mine, theirs in zip(self.param_groups, saved, strict=True):
            mine.update({key: _restored(value) for key, value in theirs.items() if key != "params"})
            for parameter, number in zip(mine["params"], theirs["params"], strict=True):
                if number in state and self._is_flat:
                    self._loaded[id(parameter)] = copy.copy(state[number])
                elif number in state:
                    self._own_state[parameter] = _fitted(parameter, state[number])
        self._flats = [None] * len(self.param_groups)
        for index in range(len(self.param_groups) if self._is_flat else 0):
            self._flat(index)
        for hook in self._hooks_of("load_post"):
            hook(self)

    def __getstate__(self) -> dict[str, Any]:
        """All attributes, with the state of each parameter in place of the buffers that hold it."""
        buffers = ("_flats", "_loaded", "_own_state")
        kept = {name: value for name, value in self.__dict__.items() if name not in buffers}
        return {**kept, "state": list(self.state.items())}

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        pairs = state.pop("state")
        self.__dict__.update(state)
        self._flats, self._loaded, self._own_state = [None] * len(self.param_groups), {}, defaultdict(dict)
        if self._is_flat:
            self._loaded.update((id(parameter), values) for parameter, values in pairs)
        else:
            self._own_state.update(pairs)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        other = memo[id(self)] = object.__new__(type(self))
        other.__setstate__(copy.deepcopy(self.__getstate__(), memo))
        return other


def _fitted(parameter: Tensor, value: Any, key: Any = None) -> Any:
    """Loaded state with its tensors in a parameter's dtype and on its device; the count of steps stays as it is."""
    if isinstance(value, Tensor):
        if key == "step":
            return value.clone()
        return value.to(parameter.device, parameter.dtype if parameter.is_floating_point() else None, copy=True)
    if isinstance(value, dict):
        return {name: _fitted(parameter, item, name) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)([_fitted(parameter, item) for item in value])
    return copy.copy(value)


def _restored(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else copy.copy(value)
