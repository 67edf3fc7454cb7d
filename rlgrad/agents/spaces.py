"""Between Gymnasium's spaces and the arrays that networks read and write."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from gymnasium import spaces

__all__ = ["ActionCodec", "ObservationCodec"]

_UNBOUNDED = 1e15
"""Bounds beyond this are how environments write that there is none."""


class ObservationCodec:
    """Turns observations into one array of network inputs.

    A Box is flattened, a Discrete becomes one-hot, a MultiDiscrete one one-hot after another, a MultiBinary zeros and
    ones; the parts of a Dict (in the order of its keys) or a Tuple lie side by side. An image, which is a uint8 Box
    from 0 to 255 of two to four axes, stays uint8 and becomes (channels, height, width), stacked colour frames with all
    their channels together; dividing by 255 is the network's part. Inside a Dict or Tuple an image is scaled to [0, 1]
    and flattened.

    Args:
        space: the observation space of one environment.

    Attributes:
        shape: of one encoded observation.
        dtype: of encoded observations: float32, or uint8 for images.
        dim: number of elements of one encoded observation.
        is_image: whether encoded observations are uint8 images.
        parts: for Dict and Tuple spaces, each part's name, its columns and its codec.

    Raises:
        TypeError: the space is of another kind, or has a part that is.

    Example:
        >>> codec = ObservationCodec(spaces.Dict({"goal": spaces.Discrete(3), "place": spaces.Box(-1, 1, (2,))}))
        >>> codec.encode({"goal": np.array([2]), "place": np.array([[0.5, 0.0]])})
        array([[0. , 0. , 1. , 0.5, 0. ]], dtype=float32)
    """

    dim: int

    def __init__(self, space: spaces.Space[Any]) -> None:
        self.space = space
        self.is_image = _is_image(space)
        self.dtype: Any = np.dtype(np.uint8 if self.is_image else np.float32)
        self.parts: list[tuple[Any, slice, ObservationCodec]] = []
        self._encode: Callable[[Any], np.ndarray]
        if self.is_image:
            self._axes, self.shape = _channels_first(space.shape or ())
            self._encode = self._encode_image
        elif isinstance(space, spaces.Box):
            self.shape = (int(np.prod(space.shape)),)
            self._encode = self._encode_box
        elif isinstance(space, (spaces.Discrete, spaces.MultiDiscrete)):
            counts = np.atleast_1d(np.asarray(space.n if isinstance(space, spaces.Discrete) else space.nvec)).ravel()
            self.shape = (int(counts.sum()),)
            self._columns = np.concatenate([[0], np.cumsum(counts)[:-1]]) - np.ravel(space.start)
            self._encode = self._encode_indices
        elif isinstance(space, spaces.MultiBinary):
            self.shape = (int(np.prod(space.shape)),)
            self._encode = self._encode_box
        elif isinstance(space, (spaces.Dict, spaces.Tuple)):
            named = space.spaces.items() if isinstance(space, spaces.Dict) else enumerate(space.spaces)
            width = 0
            for name, part in named:
                codec = ObservationCodec(part)
                self.parts.append((name, slice(width, width + codec.dim), codec))
                width += codec.dim
            self.shape = (width,)
            self._encode = self._encode_parts
        else:
            raise TypeError(
                f"Observation space {space} is not supported: expected Box, Discrete, MultiDiscrete, MultiBinary, or a Dict "
                "or Tuple of these. Write an ObservationWrapper that turns it into one of them."
            )
        self.dim = int(np.prod(self.shape))

    def encode(self, observations: Any) -> np.ndarray:
        """A batch of n observations, as a vector environment returns them, to (n, *shape)."""
        return self._encode(observations)

    def split(self, encoded: Any) -> dict[Any, Any]:
        """The parts of encoded Dict or Tuple observations (n, dim), arrays or tensors, by name."""
        return {name: encoded[:, columns] for name, columns, _ in self.parts}

    def _encode_box(self, observations: Any) -> np.ndarray:
        return np.asarray(observations, dtype=np.float32).reshape(len(observations), self.shape[0])

    def _encode_image(self, observations: Any) -> np.ndarray:
        images = np.asarray(observations, dtype=np.uint8)
        return np.ascontiguousarray(images.transpose(self._axes)).reshape(len(images), *self.shape)

    def _encode_indices(self, observations: Any) -> np.ndarray:
        indices = np.asarray(observations).reshape(len(observations), -1)
        encoded = np.zeros((len(indices), self.shape[0]), dtype=np.float32)
        encoded[np.arange(len(indices))[:, None], indices + self._columns] = 1.0
        return encoded

    def _encode_parts(self, observations: Any) -> np.ndarray:
        encoded = []
        for name, _, codec in self.parts:
            part = codec.encode(observations[name])
            encoded.append(part.reshape(len(part), -1) / np.float32(255.0) if codec.is_image else part)
        return np.concatenate(encoded, axis=1)

    def check(self, observation: Any) -> tuple[Any, bool]:
        """Validates one observation or a batch of them, as a user hands them in.

        Returns:
            The observations with a leading batch axis, and whether that axis was added here.

        Raises:
            TypeError: not numbers, not integers for a Discrete space, not a mapping or sequence for a Dict or Tuple.
            ValueError: a wrong shape, a missing part, a value outside a Discrete space, or NaN or infinity.
        """
        if self.parts:
            return self._check_parts(observation)
        try:
            array = np.asarray(observation)
        except ValueError:  # a sequence of unlike things
            array = np.asarray(None)
        if array.dtype.kind not in "biuf":
            raise TypeError(
                f"Observations must be an array of numbers, got {type(observation).__name__} of dtype {array.dtype}. "
                "reset() returns (observation, info): pass the first."
            )
        shape = self.space.shape or ()
        if array.shape not in (shape, (*array.shape[:1], *shape)):
            raise ValueError(
                f"Observation of shape {array.shape} does not fit {self.space}: expected {shape} for one "
                f"observation or {('n', *shape)} for a batch.".replace("'n'", "n")
            )
        single = array.ndim == len(shape)
        batch = array[None] if single else array
        if isinstance(self.space, (spaces.Discrete, spaces.MultiDiscrete)):
            if array.dtype.kind not in "iu":
                raise TypeError(f"Observations of {self.space} are integers, got dtype {array.dtype}.")
            low = np.asarray(self.space.start)
            count = self.space.n if isinstance(self.space, spaces.Discrete) else self.space.nvec
            if ((batch < low) | (batch >= low + count)).any():
                raise ValueError(f"Observations {batch.min()} to {batch.max()} leave {self.space}.")
        elif not np.isfinite(batch).all():
            raise ValueError(f"Observation contains NaN or infinity: {array!r}.")
        return batch, single

    def _check_parts(self, observation: Any) -> tuple[Any, bool]:
        kind: type = dict if isinstance(self.space, spaces.Dict) else tuple
        names = [name for name, _, _ in self.parts]
        if not isinstance(observation, dict if kind is dict else (tuple, list)):
            raise TypeError(f"Observations of {self.space} are a {kind.__name__}, got {type(observation).__name__}.")
        given = list(observation) if kind is dict else list(range(len(observation)))
        if sorted(given, key=str) != sorted(names, key=str):
            raise ValueError(f"Observations of {self.space} have the parts {names}, got {given}.")
        checked = {name: codec.check(observation[name]) for name, _, codec in self.parts}
        singles = {single for _, single in checked.values()}
        if len(singles) > 1:
            raise ValueError(
                f"Some parts of the observation are single and others a batch: {self.space} needs all alike."
            )
        batch = {name: part for name, (part, _) in checked.items()}
        return (batch if kind is dict else tuple(batch.values())), singles.pop()


class ActionCodec:
    """Turns network outputs into actions that the environment accepts.

    Discrete and MultiDiscrete actions are counted from the space's `start`. Continuous actions live in units in which a
    bounded component of a Box is [-1, 1]: outputs are clipped to it and mapped to [low, high] for the environment only,
    so that the learning algorithm keeps the action that its policy really drew. Components without two bounds pass
    through unchanged, but for the bound they have.

    Args:
        space: the action space of one environment.

    Attributes:
        discrete: whether actions are single indices.
        dim: width of the policy's output: number of choices (for MultiDiscrete, of all variables together) or of
            components.
        shape: of one action as the policy draws it: () for Discrete, (variables,) for MultiDiscrete, (components,)
            otherwise.
        dtype: of actions as the policy draws them.

    Raises:
        TypeError: the space is neither Discrete, MultiDiscrete, MultiBinary nor a Box of floats.

    Example:
        >>> ActionCodec(spaces.Box(0.0, 10.0, (1,))).to_env(np.array([[-1.0], [0.0], [7.0]])).ravel()
        array([ 0.,  5., 10.], dtype=float32)
    """

    def __init__(self, space: spaces.Space[Any]) -> None:
        self.space = space
        self.discrete = isinstance(space, spaces.Discrete)
        self.dtype: Any = np.dtype(np.int64)
        self.shape: tuple[int, ...]
        if isinstance(space, spaces.Discrete):
            self.dim, self.shape = int(space.n), ()
        elif isinstance(space, spaces.MultiDiscrete):
            self.dim, self.shape = int(space.nvec.sum()), (int(space.nvec.size),)
        elif isinstance(space, spaces.MultiBinary):
            self.dim = int(np.prod(space.shape))
            self.shape = (self.dim,)
        elif isinstance(space, spaces.Box) and np.issubdtype(space.dtype, np.floating):
            self.dim = int(np.prod(space.shape))
            self.shape, self.dtype = (self.dim,), np.dtype(np.float32)
            low, high = space.low.astype(np.float64), space.high.astype(np.float64)
            bounded = (np.abs(low) < _UNBOUNDED) & (np.abs(high) < _UNBOUNDED)
            low, high = np.where(bounded, low, -1.0), np.where(bounded, high, 1.0)
            self._bias, self._scale = (low + high) / 2, (high - low) / 2
        else:
            raise TypeError(
                f"Action space {space} is not supported: expected Discrete or a Box of floats, MultiDiscrete or MultiBinary. "
                "Wrap the environment so that it takes one of these."
            )

    def to_env(self, actions: np.ndarray) -> np.ndarray:
        """(n, *shape) actions of the policy to a batch of n elements of the action space."""
        space = self.space
        if isinstance(space, spaces.Discrete):
            return (actions + space.start).astype(space.dtype, copy=False)
        actions = actions.reshape(len(actions), *(space.shape or ()))
        if isinstance(space, spaces.MultiDiscrete):
            return (actions + space.start).astype(space.dtype, copy=False)
        if isinstance(space, spaces.Box):
            return np.clip(actions * self._scale + self._bias, space.low, space.high).astype(space.dtype)
        return actions.astype(space.dtype)

    def from_env(self, actions: np.ndarray) -> np.ndarray:
        """The inverse of `to_env`, for actions that come from elsewhere, such as a data set.

        Raises:
            ValueError: the actions have another shape than the space's, or lie outside a space of choices.
        """
        space, shape = self.space, (len(actions), *self.shape)
        given = (len(actions), *(space.shape or ()))
        if actions.size != math.prod(shape):
            raise ValueError(f"Actions of shape {actions.shape} do not fit {space}: expected {given}.")
        if isinstance(space, spaces.Box):
            scaled = (actions.reshape(given) - self._bias) / np.where(self._scale > 0, self._scale, 1.0)
            return scaled.reshape(shape).astype(np.float32)
        choices = (actions.reshape(given) - getattr(space, "start", 0)).astype(np.int64)
        if ((choices < 0) | (choices >= self._counts)).any():
            raise ValueError(f"Actions {actions.min()} to {actions.max()} leave {space}.")
        return choices.reshape(shape)

    def sample(self, number: int, generator: np.random.Generator) -> np.ndarray:
        """`number` random actions (number, *shape): uniform, and within [-1, 1] for a Box, as explorers start with."""
        space = self.space
        if isinstance(space, spaces.Box):
            return generator.uniform(-1.0, 1.0, (number, self.dim)).astype(np.float32)
        if isinstance(space, spaces.Discrete):
            return generator.integers(self.dim, size=number)
        return generator.integers(self._counts, size=(number, *(space.shape or ()))).reshape(number, *self.shape)

    @property
    def _counts(self) -> Any:
        """How many choices each variable has, in the space's shape."""
        space = self.space
        if isinstance(space, spaces.Discrete):
            return space.n
        return space.nvec if isinstance(space, spaces.MultiDiscrete) else 2


def _is_image(space: spaces.Space[Any]) -> bool:
    if not isinstance(space, spaces.Box) or space.dtype != np.uint8 or not 2 <= len(space.shape) <= 4:
        return False
    return bool((space.low == 0).all() and (space.high == 255).all())


def _channels_first(shape: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The order of axes that puts the channels of a batch of images first, and the shape (channels, height, width).

    The channel axis is the last where that is the shorter end, as colours come; frames of a stack come first.
    """
    if len(shape) == 2:
        return (0, 1, 2), (1, *shape)
    if len(shape) == 4:
        frames, *image = shape
        axes, (channels, height, width) = _channels_first(tuple(image))
        return (0, 1, *[axis + 1 for axis in axes[1:]]), (frames * channels, height, width)
    if shape[-1] < shape[0]:
        return (0, 3, 1, 2), (shape[2], shape[0], shape[1])
    return (0, 1, 2, 3), shape
