"""Saving and loading what a module holds, key by key."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rlgrad.autograd.modes import no_grad
from rlgrad.autograd.ops.creation import as_tensor
from rlgrad.autograd.tensor import Tensor
from rlgrad.nn.parameter import Parameter
from rlgrad.nn.uninitialized import is_lazy

_EXTRA = "_extra_state"


class _IncompatibleKeys(NamedTuple):
    """What ``load_state_dict(strict=False)`` could not match."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"


class Stateful:
    """The part of a module that gives its state by name and takes it back."""

    _version: int = 1
    """Of the layout of the state; written beside it, and read by ``_load_from_state_dict`` of modules that changed."""
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Any]
    _transient: set[str]

    if TYPE_CHECKING:

        def _hooks_of(self, kind: str) -> list[Any]: ...

    def state_dict(
        self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> dict[str, Any]:
        """Parameters and persistent buffers by dotted name, sharing their memory.

        Args:
            destination: a dictionary to add to.
            prefix: put before every name.
            keep_vars: give the parameters themselves rather than detached tensors.
        """
        if args:
            warnings.warn("state_dict: pass destination, prefix and keep_vars by name", FutureWarning, stacklevel=2)
            given = dict(zip(("destination", "prefix", "keep_vars"), args, strict=False))
            return self.state_dict(**{"destination": destination, "prefix": prefix, "keep_vars": keep_vars, **given})
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = metadata
        for hook in self._hooks_of("state_dict_pre"):
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=prefix + name + ".", keep_vars=keep_vars)
        for hook, public in self._hooks_of("state_dict"):
            result = hook(self, destination, prefix, metadata)
            if public and result is not None:
                raise RuntimeError("state_dict post-hook must return None: it changes the state in place")
            destination = destination if result is None else result
        return destination

    def _saved(self) -> dict[str, Tensor]:
        """The parameters and persistent buffers of this module alone."""
        buffers = {name: value for name, value in self._buffers.items() if name not in self._transient}
        return {name: value for name, value in {**self._parameters, **buffers}.items() if value is not None}

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        for name, value in self._saved().items():
            destination[prefix + name] = value if keep_vars else value.detach()
        if type(self).get_extra_state is not Stateful.get_extra_state:
            destination[prefix + _EXTRA] = self.get_extra_state()

    def get_extra_state(self) -> Any:
        """More state to save beside tensors, for subclasses to define together with :meth:`set_extra_state`."""
        raise RuntimeError(
            f"{type(self).__name__} has no get_extra_state(): define it, and set_extra_state(), to save more than tensors"
        )

    def set_extra_state(self, state: Any) -> None:
        """Take back what :meth:`get_extra_state` gave."""
        raise RuntimeError(
            f"{type(self).__name__} has no set_extra_state(): define it to load what get_extra_state() saved"
        )

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> _IncompatibleKeys:
        """Copy parameters and buffers from tensors or NumPy arrays under the names of :meth:`state_dict`.

        Args:
            state_dict: values by dotted name.
            strict: raise unless the names are exactly this module's.
            assign: take the given tensors themselves instead of copying into the present ones.

        Returns:
            The missing and the unexpected keys.

        Raises:
            RuntimeError: listing every missing, unexpected and mis-shaped key; what fits is loaded all the same.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        keys = _IncompatibleKeys([], [])
        problems: list[str] = []
        metadata = getattr(state_dict, "_metadata", None)
        state: OrderedDict[str, Any] = OrderedDict(state_dict)
        if metadata is not None:
            state._metadata = metadata  # type: ignore[attr-defined]
        self._load(state, "", metadata or {}, assign, keys, problems)
        if strict:
            for kind, names in (("Unexpected", keys.unexpected_keys), ("Missing", keys.missing_keys)):
                if names:
                    problems.insert(0, f"{kind} key(s) in state_dict: " + ", ".join(f'"{k}"' for k in names) + ". ")
        if problems:
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t" + "\n\t".join(problems))
        return keys

    def _load(
        self,
        state: dict[str, Any],
        prefix: str,
        metadata: Mapping[str, Any],
        assign: bool,
        keys: _IncompatibleKeys,
        problems: list[str],
    ) -> None:
        local = dict(metadata.get(prefix[:-1], {}))
        if assign:
            local["assign_to_params_buffers"] = True
        self._load_from_state_dict(state, prefix, local, True, keys.missing_keys, keys.unexpected_keys, problems)
        for name, child in self._modules.items():
            if child is not None:
                below = prefix + name + "."
                part = {key: value for key, value in state.items() if key.startswith(below)}
                child._load(part, below, metadata, assign, keys, problems)
        for hook in self._hooks_of("load_post"):
            if hook(self, keys) is not None:
                raise AssertionError(
                    "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new values, if "
                    "incompatible_keys need to be modified, it should be done inplace."
                )

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Fill this module alone, and note what does not fit; subclasses whose layout changed extend it."""
        rest = (state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        for hook, with_module in self._hooks_of("load_pre"):
            hook(self, *rest) if with_module else hook(*rest)
        own = self._saved()
        assign = bool(local_metadata.get("assign_to_params_buffers"))
        for name, target in own.items():
            key = prefix + name
            if key not in state_dict:
                if strict:
                    missing_keys.append(key)
                continue
            problem = self._load_one(name, key, target, state_dict[key], assign)
            if problem is not None:
                error_msgs.append(problem)
        if type(self).set_extra_state is not Stateful.set_extra_state:
            if prefix + _EXTRA in state_dict:
                self.set_extra_state(state_dict[prefix + _EXTRA])
            elif strict:
                missing_keys.append(prefix + _EXTRA)
            own[_EXTRA] = None  # type: ignore[assignment]
        for key in state_dict if strict else ():
            if key.startswith(prefix):
                name, dot, _ = key[len(prefix) :].partition(".")
                if name not in (self._modules if dot else own):
                    unexpected_keys.append(key)

    def _load_one(self, name: str, key: str, target: Tensor, value: Any, assign: bool) -> str | None:
        """Copy or assign one value; returns what is wrong with it."""
        if not isinstance(value, (Tensor, np.ndarray, np.generic)):
            return (
                f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from checkpoint but '
                f"received {type(value)}"
            )
        if is_lazy(target):  # and so is the value, or the target would have got its shape
            return None
        source = value if isinstance(value, Tensor) else as_tensor(np.asarray(value))
        if target.ndim == 0 and tuple(source.shape) == (1,):
            source = source[0]
        if source.shape != target.shape:
            return (
                f"size mismatch for {key}: copying a param with shape {source.shape} from checkpoint, the shape in current "
                f"model is {target.shape}."
            )
        try:
            with no_grad():
                if not assign:
                    target.copy_(source)
                elif not isinstance(target, Parameter):
                    setattr(self, name, source)
                elif isinstance(source, Parameter):
                    setattr(self, name, source.requires_grad_(target.requires_grad))
                else:
                    setattr(self, name, Parameter(source.detach(), target.requires_grad))
        except Exception as error:
            return (
                f'While copying the parameter named "{key}", whose dimensions in the model are {target.shape} and whose '
                f"dimensions in the checkpoint are {source.shape}, an exception occurred : {error.args}."
            )
        return None
