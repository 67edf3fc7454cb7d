"""``torch.utils.tensorboard``: tensorboardX's writer, which takes rlgrad's tensors wherever it takes arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from rlgrad.autograd.drawing import add_graph
from rlgrad.autograd.tensor import Tensor

__all__ = ["SummaryWriter"]

_PYTORCHS_OWN = {"add_scalar": ("new_style", "double_precision"), "add_hparams": ("hparam_domain_discrete",)}
"""Options of PyTorch's methods that tensorboardX's do not have; they change the encoding only."""


class SummaryWriter:
    """Writes what TensorBoard shows: ``add_scalar``, ``add_histogram``, ``add_image`` and all other methods of tensorboardX.

    Args:
        log_dir: the folder; ``runs/`` with time and host unless given.
        comment: goes behind the folder's name if that was not given.
        purge_step: what an earlier run wrote from this step on is hidden.
        max_queue, flush_secs: how many events, and for how many seconds, may wait to be written.
        filename_suffix: goes behind the names of files.

    Example:
        >>> import tempfile, rlgrad
        >>> from rlgrad.utils.tensorboard import SummaryWriter
        >>> with SummaryWriter(tempfile.mkdtemp()) as writer:
        ...     writer.add_scalar("loss", rlgrad.tensor(0.5), global_step=1)
    """

    def __init__(
        self,
        log_dir: str | None = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: int = 120,
        filename_suffix: str = "",
    ) -> None:
        from rlgrad.training.metrics import _tensorboardx

        writer = _tensorboardx("writer").SummaryWriter
        self._writer = writer(log_dir, comment, purge_step, max_queue, flush_secs, filename_suffix)

    def add_graph(self, model: Any, input_to_model: Any = None, verbose: bool = False, **options: Any) -> None:
        """Show what a module records for an input, or a tuple of them, in the Graphs tab."""
        add_graph(self._writer, model, input_to_model)

    def __getattr__(self, name: str) -> Any:
        if name == "_writer":
            raise AttributeError(name)
        found = getattr(self._writer, name)
        return _with_arrays(found, _PYTORCHS_OWN.get(name, ())) if name.startswith("add_") else found

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, *exc: object) -> None:
        self._writer.close()


def _with_arrays(method: Callable[..., Any], dropped: tuple[str, ...]) -> Callable[..., Any]:
    @functools.wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        if "run_name" in kwargs:
            kwargs["name"] = kwargs.pop("run_name")
        given = {key: _array(value) for key, value in kwargs.items() if key not in dropped}
        return method(*[_array(value) for value in args], **given)

    return call


def _array(value: Any) -> Any:
    """The value with arrays in place of tensors, also in lists, tuples and dictionaries."""
    if isinstance(value, Tensor):
        array = value.numpy(force=True)
        return array.item() if array.ndim == 0 else array
    if isinstance(value, dict):
        return {key: _array(item) for key, item in value.items()}
    return type(value)([_array(item) for item in value]) if type(value) in (list, tuple) else value
