"""Mixed precision: scaling of losses and gradients, which works, and ``autocast``, which is switched off with a warning.

Operations compute in the dtype of their tensors. To train in half precision convert the module and its inputs with
``.half()``; where gradients get too small for that, :class:`GradScaler` helps.
"""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from rlgrad import cuda
from rlgrad.autograd.modes import no_grad
from rlgrad.autograd.tensor import Tensor
from rlgrad.backend import devices, dtypes

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available", "is_autocast_enabled"]

F = TypeVar("F", bound=Callable[..., Any])


class autocast:
    """A block, or decorated function, that PyTorch would compute in lower precision; here it is computed as it stands.

    Args:
        device_type: ``"cpu"`` or ``"cuda"``.
        dtype: what PyTorch would compute in.
        enabled: ``True`` gives a warning that nothing is cast.
        cache_enabled: accepted as in PyTorch.

    Raises:
        ValueError: for a device type that is no string.
        RuntimeError: for an unknown device.

    Example:
        >>> import rlgrad
        >>> with rlgrad.autocast("cpu", enabled=False):
        ...     y = rlgrad.ones(2, 2) @ rlgrad.ones(2, 2)
        >>> y.dtype
        torch.float32
    """

    def __init__(
        self,
        device_type: str,
        dtype: dtypes.dtype | None = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        self.device = devices.device(device_type).type
        self.fast_dtype = dtype
        if enabled:
            warnings.warn(
                f"autocast({device_type!r}) is disabled: operations compute in the dtype of their tensors. Pass "
                "enabled=False, or convert the module and its inputs with .half().",
                UserWarning,
                stacklevel=2,
            )

    def __enter__(self) -> autocast:
        return self

    def __exit__(self, *exc: object) -> None: ...

    def __call__(self, function: F) -> F:
        return function


def is_autocast_enabled(device_type: str | None = None) -> bool:
    """Whether operations are cast to a lower precision: never."""
    return False


def is_autocast_available(device_type: str) -> bool:
    """Whether operations on a device can be cast to a lower precision on their way: nowhere."""
    devices.device(device_type)
    return False


def custom_fwd(fwd: Any = None, *, device_type: str = "cuda", cast_inputs: dtypes.dtype | None = None) -> Any:
    """The forward of a ``Function`` as it is: casts are for autocast's blocks only, and there is none."""
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)
    return fwd


def custom_bwd(bwd: Any = None, *, device_type: str = "cuda") -> Any:
    """The backward of a ``Function`` as it is, as autocast is never on."""
    return functools.partial(custom_bwd, device_type=device_type) if bwd is None else bwd


class _Progress:
    """How far one optimizer has come since the last update of the scale."""

    def __init__(self, optimizer: Any) -> None:
        self.optimizer = optimizer  # held so that its id stays its own
        self.unscaled = self.stepped = False
        self.found: bool | None = None  # whether a gradient was inf or nan; None before there was any gradient


class GradScaler:
    """Multiplies losses by a large number so that half-precision gradients do not vanish, and divides it out again.

    A step whose gradients overflowed is left out and the scale falls; after many good ones it rises.

    Args:
        device: ``"cuda"`` or ``"cpu"``; without a GPU ``"cuda"`` is disabled with a warning.
        init_scale: the scale at first.
        growth_factor: what the scale is multiplied by after ``growth_interval`` steps without overflow.
        backoff_factor: what it is multiplied by after an overflow.
        enabled: ``False`` makes all methods pass things through.

    Source: Micikevicius et al. (2018), "Mixed precision training", section 3.2.

    Example:
        >>> import rlgrad
        >>> w = rlgrad.nn.Parameter(rlgrad.ones(1))
        >>> optimizer = rlgrad.optim.SGD([w], lr=0.5)
        >>> scaler = rlgrad.GradScaler("cpu")
        >>> scaler.scale(w.sum()).backward()
        >>> scaler.step(optimizer)
        >>> scaler.update()
        >>> w.item()
        0.5
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        self._device = devices.device(device).type
        self._enabled = enabled
        if enabled and self._device == "cuda" and not cuda.is_available():
            warnings.warn("GradScaler is enabled, but CUDA is not available.  Disabling.", UserWarning, stacklevel=2)
            self._enabled = False
        if not self._enabled:
            return
        if growth_factor <= 1.0:
            raise AssertionError(f"The growth factor must be > 1.0, got {growth_factor}.")
        if backoff_factor >= 1.0:
            raise AssertionError(f"The backoff factor must be < 1.0, got {backoff_factor}.")
        self._init_scale, self._scale = float(init_scale), math.nan
        self._growth_factor, self._backoff_factor = growth_factor, backoff_factor
        self._growth_interval, self._growth_tracker = growth_interval, 0
        self._progress: dict[int, _Progress] = {}

    def _started(self, what: str) -> None:
        if math.isnan(self._scale):
            raise AssertionError(
                f"Attempted {what} but nothing was scaled yet. This may indicate your script did not use "
                "scaler.scale(loss or outputs) earlier in the iteration."
            )

    def _of(self, optimizer: Any) -> _Progress:
        return self._progress.setdefault(id(optimizer), _Progress(optimizer))

    def scale(self, outputs: Any) -> Any:
        """The loss, or tensors in lists and tuples, times the scale."""
        if not self._enabled:
            return outputs
        if math.isnan(self._scale):
            self._scale = self._init_scale
        if isinstance(outputs, Tensor):
            return outputs * self._scale
        if isinstance(outputs, (list, tuple)):
            return type(outputs)([self.scale(one) for one in outputs])
        if isinstance(outputs, Iterable):
            return map(self.scale, outputs)
        raise ValueError(f"outputs must be a Tensor or an iterable of Tensors, got {type(outputs).__name__}")

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of an optimizer's parameters by the scale, for example to clip them before its step.

        Raises:
            RuntimeError: a second time since the last :meth:`update`, or after :meth:`step`.
            ValueError: for gradients in half precision, whose parameters should be float32.
        """
        if not self._enabled:
            return
        self._started("unscale_")
        progress = self._of(optimizer)
        if progress.unscaled:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if progress.stepped:
            raise RuntimeError("unscale_() is being called after step().")
        gradients = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        if any(g.dtype is dtypes.float16 for g in gradients):
            raise ValueError("Attempting to unscale FP16 gradients.")
        with no_grad():
            for gradient in gradients:
                gradient.mul_(1.0 / self._scale)
        if gradients:
            progress.found = not all(bool(g.isfinite().all()) for g in gradients)
        progress.unscaled = True

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """Let the optimizer take its step, unless a gradient is infinite or no number.

        Raises:
            RuntimeError: a second time since the last :meth:`update`, or with a closure.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._started("step")
        progress = self._of(optimizer)
        if progress.stepped:
            raise RuntimeError("step() has already been called since the last update().")
        if not progress.unscaled:
            self.unscale_(optimizer)
        if progress.found is None:
            raise AssertionError(
                "No inf checks were recorded for this optimizer: none of its parameters has a gradient."
            )
        progress.stepped = True
        return None if progress.found else optimizer.step(*args, **kwargs)

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Set the scale for the next iteration: lower after an overflow, now and then higher, or ``new_scale``."""
        if not self._enabled:
            return
        self._started("update")
        if new_scale is not None:
            self._scale = float(new_scale)
        else:
            found = [p.found for p in self._progress.values() if p.found is not None]
            if not found:
                raise AssertionError("No inf checks were recorded prior to update.")
            self._grow(not any(found))
        self._progress = {}

    def _grow(self, finite: bool) -> None:
        if not finite:
            self._scale *= self._backoff_factor
            self._growth_tracker = 0
            return
        self._growth_tracker += 1
        if self._growth_tracker == self._growth_interval:
            self._scale *= self._growth_factor
            self._growth_tracker = 0

    def get_scale(self) -> float:
        """The scale; 1 where scaling is disabled."""
        if not self._enabled:
            return 1.0
        return self._init_scale if math.isnan(self._scale) else self._scale

    def get_growth_factor(self) -> float:
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        self._growth_interval = new_interval

    def is_enabled(self) -> bool:
        """Whether losses are scaled."""
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """The scale and its settings under PyTorch's keys; empty where scaling is disabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._growth_tracker,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from what :meth:`state_dict` gave.

        Raises:
            RuntimeError: for an empty one, which comes from a disabled scaler.
        """
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler."
            )
        self._init_scale = float(state_dict["scale"])
        if not math.isnan(self._scale):
            self._scale = self._init_scale
        self._growth_factor, self._backoff_factor = state_dict["growth_factor"], state_dict["backoff_factor"]
        self._growth_interval, self._growth_tracker = state_dict["growth_interval"], state_dict["_growth_tracker"]
