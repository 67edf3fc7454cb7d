"""Hooks of modules: around a call, on the backward pass, and around saving and loading; for one module or for all."""

from __future__ import annotations

import functools
import itertools
import warnings
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

from rlgrad.autograd.graph import RemovableHandle
from rlgrad.autograd.tensor import Tensor
from rlgrad.nn.boundary import BackwardBoundary

__all__ = [
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]

KINDS = (
    "forward_pre",
    "forward",
    "backward",
    "full_backward",
    "full_backward_pre",
    "state_dict_pre",
    "state_dict",
    "load_pre",
    "load_post",
)
ON_CALLS = KINDS[:5]
REGISTRATIONS = ("parameter", "buffer", "module")
_identifiers = itertools.count(1)
_everywhere: dict[str, dict[int, Any]] = {kind: OrderedDict() for kind in (*ON_CALLS, *REGISTRATIONS)}
on_every_call: list[dict[int, Any]] = []
"""The tables of hooks on the calls of all modules that are not empty: what a call looks at."""


class Hook:
    """A hook and how it wants to be called."""

    __slots__ = ("always", "function", "with_kwargs")

    def __init__(self, function: Callable[..., Any], with_kwargs: bool = False, always: bool = False) -> None:
        self.function, self.with_kwargs, self.always = function, with_kwargs, always


def _add(table: dict[int, Any], hook: Any, prepend: bool = False) -> RemovableHandle:
    key = next(_identifiers)
    table[key] = hook
    if prepend:
        table.move_to_end(key, last=False)  # type: ignore[attr-defined]
    return RemovableHandle(table, key)


def _refuse_mixing(tables: Mapping[str, Any], kind: str, whose: str) -> None:
    if kind in ("backward", "full_backward") and tables["full_backward" if kind == "backward" else "backward"]:
        raise RuntimeError(
            f"Cannot use both regular backward hooks and full backward hooks {whose}. Please use only one of them."
        )


class _EverywhereHandle(RemovableHandle):
    """Keeps :data:`on_every_call` up to date."""

    def remove(self) -> None:
        super().remove()
        if not self._table and any(table is self._table for table in on_every_call):
            on_every_call[:] = [table for table in on_every_call if table is not self._table]


def _add_everywhere(kind: str, hook: Hook) -> RemovableHandle:
    _refuse_mixing(_everywhere, kind, "as a global Module hook")
    table = _everywhere[kind]
    handle = _add(table, hook)
    if not any(known is table for known in on_every_call):
        on_every_call.append(table)
    return _EverywhereHandle(table, handle.id)


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, args)`` before the forward pass of every module."""
    return _add_everywhere("forward_pre", Hook(hook))


def register_module_forward_hook(
    hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call ``hook(module, args, output)`` after the forward pass of every module."""
    return _add_everywhere("forward", Hook(hook, with_kwargs, always_call))


def register_module_full_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, grad_input, grad_output)`` in the backward pass of every module."""
    return _add_everywhere("full_backward", Hook(hook))


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, grad_output)`` before the backward pass enters any module."""
    return _add_everywhere("full_backward_pre", Hook(hook))


def register_module_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, grad_input, grad_output)`` with the gradients of the last operation of every module."""
    return _add_everywhere("backward", Hook(hook))


def register_module_parameter_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, name, parameter)`` whenever a module gets a parameter; what it returns is taken instead."""
    return _add(_everywhere["parameter"], hook)


def register_module_buffer_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, name, tensor)`` whenever a module gets a buffer; what it returns is taken instead."""
    return _add(_everywhere["buffer"], hook)


def register_module_module_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(module, name, child)`` whenever a module gets a child; what it returns is taken instead."""
    return _add(_everywhere["module"], hook)


def registered(kind: str, module: Any, name: str, value: Any) -> Any:
    """What the hooks on registrations make of a new parameter, buffer or child."""
    for hook in tuple(_everywhere[kind].values()):
        result = hook(module, name, value)
        if result is not None:
            value = result
    return value


def is_hooked(module: Any) -> bool:
    """Whether a call of the module does more than run its ``forward``."""
    hooks = module._hooks
    return bool(on_every_call) or (hooks is not None and any(hooks[kind] for kind in ON_CALLS))


class Hooked:
    """The part of a module that holds its hooks and calls it with them."""

    _hooks: dict[str, dict[int, Any]] | None
    forward: Callable[..., Any]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._hooks is None and not on_every_call:
            return self.forward(*args, **kwargs)
        return self._call_hooked(args, kwargs)

    def _hooks_of(self, kind: str) -> list[Any]:
        own = () if self._hooks is None else self._hooks[kind].values()
        return [*_everywhere[kind].values(), *own] if kind in _everywhere else list(own)

    def _add_hook(self, kind: str, hook: Any, prepend: bool = False) -> RemovableHandle:
        if self._hooks is None:
            self.__dict__["_hooks"] = {name: OrderedDict() for name in KINDS}
        hooks = self._hooks
        assert hooks is not None
        _refuse_mixing(hooks, kind, "on a single Module")
        return _add(hooks[kind], hook, prepend)

    def _call_hooked(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        after = self._hooks_of("forward")
        pending = [hook for hook in after if hook.always]
        output = None
        try:
            args, kwargs = self._before(args, kwargs)
            full, pre = self._hooks_of("full_backward"), self._hooks_of("full_backward_pre")
            boundary = BackwardBoundary(self, full, pre) if full or pre else None
            if boundary is not None:
                args = boundary.enter(args)
            output = self.forward(*args, **kwargs)
            for hook in after:
                if hook in pending:
                    pending.remove(hook)
                result = self._call_after(hook, args, kwargs, output)
                if result is not None:
                    output = result
            if boundary is not None:
                output = boundary.leave(output)
            self._watch_last_operation(output)
            return output
        except Exception:
            for hook in pending:
                try:
                    self._call_after(hook, args, kwargs, output)
                except Exception as error:
                    warnings.warn(
                        "module forward hook with ``always_call=True`` raised an exception that was silenced as another "
                        f"error was raised in forward: {error}",
                        stacklevel=3,
                    )
            raise

    def _before(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        for hook in self._hooks_of("forward_pre"):
            result = hook.function(self, args, kwargs) if hook.with_kwargs else hook.function(self, args)
            if result is None:
                continue
            if not hook.with_kwargs:
                args = result if isinstance(result, tuple) else (result,)
            elif isinstance(result, tuple) and len(result) == 2:
                args, kwargs = result
            else:
                raise RuntimeError(
                    f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {result}."
                )
        return args, kwargs

    def _call_after(self, hook: Hook, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> Any:
        return hook.function(self, args, kwargs, output) if hook.with_kwargs else hook.function(self, args, output)

    def _watch_last_operation(self, output: Any) -> None:
        hooks = self._hooks_of("backward")
        if not hooks:
            return
        while not isinstance(output, Tensor):
            output = (
                next(v for v in output.values() if isinstance(v, Tensor)) if isinstance(output, dict) else output[0]
            )
        node = output.grad_fn
        if node is not None:
            for hook in hooks:
                node.register_hook(functools.partial(hook.function, self))

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, args)`` before ``forward``; what it returns replaces the arguments.

        Args:
            prepend: call it before the hooks there are, not after them.
            with_kwargs: call ``hook(module, args, kwargs)``, which may return both anew.
        """
        return self._add_hook("forward_pre", Hook(hook, with_kwargs), prepend)

    def register_forward_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, args, output)`` after ``forward``; what it returns replaces the output.

        Args:
            with_kwargs: call ``hook(module, args, kwargs, output)``.
            always_call: call it even if the call raises, with what output there is.
        """
        return self._add_hook("forward", Hook(hook, with_kwargs, always_call), prepend)

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(module, grad_input, grad_output)`` in backward; what it returns replaces ``grad_input``."""
        return self._add_hook("full_backward", Hook(hook), prepend)

    def register_full_backward_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(module, grad_output)`` before backward enters the module; its result replaces ``grad_output``."""
        return self._add_hook("full_backward_pre", Hook(hook), prepend)

    def register_backward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, grad_input, grad_output)`` with the gradients of the module's last operation.

        Use :meth:`register_full_backward_hook` for those of the whole module.
        """
        return self._add_hook("backward", Hook(hook))

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, prefix, keep_vars)`` before ``state_dict`` reads the module."""
        return self._add_hook("state_dict_pre", hook)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, state_dict, prefix, local_metadata)`` after ``state_dict``; it changes the state in place."""
        return self._add_hook("state_dict", (hook, True))

    def _register_state_dict_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        return self._add_hook("state_dict", (hook, False))

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call a hook before ``load_state_dict`` fills the module, to change the state in place.

        Its arguments are ``(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys,
        error_msgs)``.
        """
        return self._add_hook("load_pre", (hook, True))

    def _register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], with_module: bool = False
    ) -> RemovableHandle:
        return self._add_hook("load_pre", (hook, with_module))

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, incompatible_keys)`` after ``load_state_dict``; it may change the keys in place."""
        return self._add_hook("load_post", hook)
