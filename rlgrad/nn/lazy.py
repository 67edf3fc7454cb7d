"""Layers that learn the number of their inputs from the first batch, and are ordinary layers from then on."""

from __future__ import annotations

from typing import Any, ClassVar

from rlgrad.autograd.ops.creation import tensor
from rlgrad.autograd.tensor import Tensor
from rlgrad.backend.dtypes import int64
from rlgrad.nn.batchnorm import (
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
    _ChannelNorm,
)
from rlgrad.nn.conv import Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d, _ConvNd
from rlgrad.nn.linear import Linear
from rlgrad.nn.module import Module
from rlgrad.nn.parameter import Parameter
from rlgrad.nn.uninitialized import UninitializedBuffer, UninitializedParameter, is_lazy

__all__ = [
    "LazyBatchNorm1d",
    "LazyBatchNorm2d",
    "LazyBatchNorm3d",
    "LazyConv1d",
    "LazyConv2d",
    "LazyConv3d",
    "LazyConvTranspose1d",
    "LazyConvTranspose2d",
    "LazyConvTranspose3d",
    "LazyInstanceNorm1d",
    "LazyInstanceNorm2d",
    "LazyInstanceNorm3d",
    "LazyLinear",
]


class LazyModuleMixin(Module):
    """A module some of whose parameters wait for their shapes.

    A subclass names the class that it becomes in ``cls_to_become`` and defines ``initialize_parameters``, which gets
    the arguments of the first call. Loading a state dictionary gives the shapes as well.
    """

    cls_to_become: ClassVar[type[Module] | None] = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._load_hook = self.register_load_state_dict_pre_hook(_shapes_from_state)
        self._initialize_hook = self.register_forward_pre_hook(_shapes_from_call, with_kwargs=True)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Give every parameter and buffer its shape, from the arguments of the first call."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def has_uninitialized_params(self) -> bool:
        """Whether some parameter or buffer still waits for its shape."""
        return any(is_lazy(value) for value in (*self._parameters.values(), *self._buffers.values()))

    def _wait_for(self, name: str, wanted: bool, place: dict[str, Any]) -> None:
        """Put a parameter without a shape in the place of one that has none yet."""
        self._parameters[name] = UninitializedParameter(**place) if wanted else None


def _shapes_from_state(module: LazyModuleMixin, state: dict[str, Any], prefix: str, *rest: Any) -> None:
    for name, value in (*module._parameters.items(), *module._buffers.items()):
        given = state.get(prefix + name)
        if is_lazy(value) and given is not None and not is_lazy(given):
            value.materialize(given.shape)  # type: ignore[union-attr]


def _shapes_from_call(module: LazyModuleMixin, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    module.initialize_parameters(*args, **kwargs)
    if module.has_uninitialized_params():
        raise RuntimeError(f"module {module._get_name()} has not been fully initialized")
    module._initialize_hook.remove()
    module._load_hook.remove()
    del module._initialize_hook, module._load_hook
    if module.cls_to_become is not None:
        module.__class__ = module.cls_to_become  # type: ignore[assignment]


class LazyLinear(LazyModuleMixin, Linear):
    """:class:`Linear` whose ``in_features`` is the last extent of its first input.

    Example:
        >>> import rlgrad
        >>> layer = rlgrad.nn.LazyLinear(2)
        >>> layer(rlgrad.ones(5, 3)).shape, layer
        (torch.Size([5, 2]), Linear(in_features=3, out_features=2, bias=True))
    """

    cls_to_become = Linear
    weight: Parameter

    def __init__(self, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__(0, 0, False)
        place = {"device": device, "dtype": dtype}
        self._wait_for("weight", True, place)
        self._wait_for("bias", bias, place)
        self.out_features = out_features

    def reset_parameters(self) -> None:
        if self.in_features and not self.has_uninitialized_params():
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        if self.has_uninitialized_params():
            self.in_features = input.shape[-1]
            _materialize(self, {"weight": (self.out_features, self.in_features), "bias": (self.out_features,)})
            self.reset_parameters()
        if not self.in_features:
            self.in_features = self.weight.shape[-1]


def _materialize(module: LazyModuleMixin, shapes: dict[str, tuple[int, ...]]) -> None:
    for name, shape in shapes.items():
        value = getattr(module, name)
        if is_lazy(value):
            value.materialize(shape)


class _LazyConv(LazyModuleMixin, _ConvNd):
    """What lazy convolutions share: the channels of the first input."""

    def __init__(
        self, out_channels: int, *args: Any, bias: bool = True, device: Any = None, dtype: Any = None, **kwargs: Any
    ) -> None:
        super().__init__(0, 0, *args, bias=False, **kwargs)
        place = {"device": device, "dtype": dtype}
        self._wait_for("weight", True, place)
        self._wait_for("bias", bias, place)
        self.out_channels = out_channels

    def reset_parameters(self) -> None:
        if self.in_channels and not self.has_uninitialized_params():
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:
        if self.has_uninitialized_params():
            if input.ndim not in (self.rank + 1, self.rank + 2):
                raise RuntimeError(
                    f"Expected {self.rank + 1}D (unbatched) or {self.rank + 2}D (batched) input to {type(self).__name__}, but got "
                    f"input of size: {list(input.shape)}"
                )
            self.in_channels = input.shape[-self.rank - 1]
            if self.in_channels % self.groups:
                raise ValueError(f"in_channels must be divisible by groups, got {self.in_channels} and {self.groups}")
            outer, inner = self.out_channels, self.in_channels
            if self.transposed:
                outer, inner = inner, outer
            _materialize(
                self, {"weight": (outer, inner // self.groups, *self.kernel_size), "bias": (self.out_channels,)}
            )
            self.reset_parameters()
        self.in_channels = self.weight.shape[0] if self.transposed else self.weight.shape[1] * self.groups


class _LazyOrdinaryConv(_LazyConv):
    def __init__(
        self,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        settings = {"dilation": dilation, "groups": groups, "padding_mode": padding_mode}
        super().__init__(out_channels, kernel_size, stride, padding, bias=bias, device=device, dtype=dtype, **settings)


class _LazyTransposedConv(_LazyConv):
    def __init__(
        self,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        settings = {"output_padding": output_padding, "groups": groups, "dilation": dilation}
        settings["padding_mode"] = padding_mode
        super().__init__(out_channels, kernel_size, stride, padding, bias=bias, device=device, dtype=dtype, **settings)


class LazyConv1d(_LazyOrdinaryConv, Conv1d):
    """:class:`Conv1d` whose ``in_channels`` is that of its first input."""

    cls_to_become = Conv1d


class LazyConv2d(_LazyOrdinaryConv, Conv2d):
    """:class:`Conv2d` whose ``in_channels`` is that of its first input."""

    cls_to_become = Conv2d


class LazyConv3d(_LazyOrdinaryConv, Conv3d):
    """:class:`Conv3d` whose ``in_channels`` is that of its first input."""

    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyTransposedConv, ConvTranspose1d):
    """:class:`ConvTranspose1d` whose ``in_channels`` is that of its first input."""

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyTransposedConv, ConvTranspose2d):
    """:class:`ConvTranspose2d` whose ``in_channels`` is that of its first input."""

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyTransposedConv, ConvTranspose3d):
    """:class:`ConvTranspose3d` whose ``in_channels`` is that of its first input."""

    cls_to_become = ConvTranspose3d


class _LazyNorm(LazyModuleMixin, _ChannelNorm):
    """What lazy normalisations share: the channels of the first input."""

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(0, eps, momentum, False, False)
        self.affine, self.track_running_stats = affine, track_running_stats
        place = {"device": device, "dtype": dtype}
        self._wait_for("weight", affine, place)
        self._wait_for("bias", affine and bias, place)
        if track_running_stats:
            self._buffers["running_mean"] = UninitializedBuffer(**place)
            self._buffers["running_var"] = UninitializedBuffer(**place)
            self._buffers["num_batches_tracked"] = tensor(0, dtype=int64, device=device)

    def reset_parameters(self) -> None:
        if self.num_features and not self.has_uninitialized_params():
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        if self.has_uninitialized_params():
            self.num_features = input.shape[1]
            names = ("weight", "bias", "running_mean", "running_var")
            _materialize(self, dict.fromkeys(names, (self.num_features,)))
            self.reset_parameters()
        self.num_features = input.shape[1]


class LazyBatchNorm1d(_LazyNorm, BatchNorm1d):
    """:class:`BatchNorm1d` whose ``num_features`` is the number of channels of its first input."""

    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(_LazyNorm, BatchNorm2d):
    """:class:`BatchNorm2d` whose ``num_features`` is the number of channels of its first input."""

    cls_to_become = BatchNorm2d


class LazyBatchNorm3d(_LazyNorm, BatchNorm3d):
    """:class:`BatchNorm3d` whose ``num_features`` is the number of channels of its first input."""

    cls_to_become = BatchNorm3d


class LazyInstanceNorm1d(_LazyNorm, InstanceNorm1d):
    """:class:`InstanceNorm1d` whose ``num_features`` is the number of channels of its first input."""

    cls_to_become = InstanceNorm1d


class LazyInstanceNorm2d(_LazyNorm, InstanceNorm2d):
    """:class:`InstanceNorm2d` whose ``num_features`` is the number of channels of its first input."""

    cls_to_become = InstanceNorm2d


class LazyInstanceNorm3d(_LazyNorm, InstanceNorm3d):
    """:class:`InstanceNorm3d` whose ``num_features`` is the number of channels of its first input."""

    cls_to_become = InstanceNorm3d
