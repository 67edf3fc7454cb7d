"""Hooks of optimizers: around a step, and around saving and loading the state."""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from rlgrad.autograd.graph import RemovableHandle

KINDS = ("step_pre", "step_post", "state_dict_pre", "state_dict_post", "load_pre", "load_post")

_everywhere: dict[str, OrderedDict[int, Callable[..., Any]]] = {"step_pre": OrderedDict(), "step_post": OrderedDict()}


def _add(table: OrderedDict[int, Callable[..., Any]], hook: Callable[..., Any], prepend: bool) -> RemovableHandle:
    key = 1 + max(table, default=0)
    table[key] = hook
    if prepend:
        table.move_to_end(key, last=False)
    return RemovableHandle(table, key)


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` before every step of every optimizer."""
    return _add(_everywhere["step_pre"], hook, prepend=False)


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` after every step of every optimizer."""
    return _add(_everywhere["step_post"], hook, prepend=False)


class Hooked:
    """The part of an optimizer that holds its hooks.

    ``_hooks`` is ``None`` until the first is registered.
    """

    _hooks: dict[str, OrderedDict[int, Callable[..., Any]]] | None = None

    def _hooks_of(self, kind: str) -> tuple[Callable[..., Any], ...]:
        return () if self._hooks is None else tuple(self._hooks[kind].values())

    def _has_step_hooks(self) -> bool:
        return self._hooks is not None or bool(_everywhere["step_pre"] or _everywhere["step_post"])

    def _before_step(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        for hook in (*_everywhere["step_pre"].values(), *self._hooks_of("step_pre")):
            result = hook(self, args, kwargs)
            if result is not None:
                if not (isinstance(result, tuple) and len(result) == 2):
                    raise RuntimeError(
                        f"{hook} must return None or a tuple of (new_args, new_kwargs), but got {result}."
                    )
                args, kwargs = result
        return args, kwargs

    def _after_step(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        for hook in (*self._hooks_of("step_post"), *_everywhere["step_post"].values()):
            hook(self, args, kwargs)

    def _register(self, kind: str, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        if self._hooks is None:
            self._hooks = {name: OrderedDict() for name in KINDS}
        return _add(self._hooks[kind], hook, prepend)

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` before every step; the pair it returns, if any, replaces both."""
        return self._register("step_pre", hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` after every step."""
        return self._register("step_post", hook)

    def register_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer)`` before ``state_dict`` collects."""
        return self._register("state_dict_pre", hook, prepend)

    def register_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` on what was collected; what it returns, if anything, replaces it."""
        return self._register("state_dict_post", hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` on a shallow copy before loading; what it returns replaces it."""
        return self._register("load_pre", hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer)`` after loading."""
        return self._register("load_post", hook, prepend)


def between_hooks(step: Callable[..., Any]) -> Callable[..., Any]:
    """A ``step`` that runs the hooks of its optimizer around it."""

    @functools.wraps(step)
    def hooked(self: Any, *args: Any, **kwargs: Any) -> Any:
        self._opt_called = True
        if not self._has_step_hooks():
            return step(self, *args, **kwargs)
        given, kwargs = self._before_step((self, *args), kwargs)
        result = step(*given, **kwargs)
        self._after_step(given, kwargs)
        return result

    return hooked
