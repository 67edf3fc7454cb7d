"""PyTorch's wrapper for several GPUs, on the one device that there is."""

from __future__ import annotations

from typing import Any

from rlgrad.nn.module import Module

__all__ = ["DataParallel"]


class DataParallel(Module):
    """Calls a module with the whole batch: nothing is spread over devices.

    It is there for programs that wrap their networks; parameters have PyTorch's names, with ``module.`` in front.

    Args:
        module: the network.
        device_ids, output_device, dim: accepted as in PyTorch.

    Example:
        >>> from rlgrad import nn
        >>> list(nn.DataParallel(nn.Linear(2, 1)).state_dict())
        ['module.weight', 'module.bias']
    """

    def __init__(self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0) -> None:
        super().__init__()
        self.module = module
        self.device_ids = [] if device_ids is None else list(device_ids)
        self.dim = dim

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*inputs, **kwargs)
