"""Between Gymnasium's spaces and the arrays that networks read and write."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces

__all__ = ["ActionCodec", "ObservationCodec"]


class ObservationCodec:
    """Turns observations into network inputs: a Box is flattened, a Discrete becomes one-hot.

    Args:
        space: the observation space of one environment.

    Attributes:
        dim: length of one encoded observation.

    Raises:
        TypeError: the space is neither Box nor Discrete.
    """

    def __init__(self, space: spaces.Space[Any]) -> None:
        self.space = space
        if isinstance(space, spaces.Box):
            self.dim = int(np.prod(space.shape))
        elif isinstance(space, spaces.Discrete):
            self.dim = int(space.n)
        else:
            raise TypeError(
                f"Observation space {space} is not supported: expected Box or Discrete. Wrap the environment "
                "in gymnasium.wrappers.FlattenObservation to turn Dict, Tuple and Multi* spaces into a Box."
            )

    def encode(self, observations: np.ndarray) -> np.ndarray:
        """`observations: (n, *space.shape)` to (n, dim) float32."""
        if isinstance(self.space, spaces.Discrete):
            encoded = np.zeros((len(observations), self.dim), dtype=np.float32)
            encoded[np.arange(len(observations)), observations - int(self.space.start)] = 1.0
            return encoded
        return np.asarray(observations, dtype=np.float32).reshape(len(observations), self.dim)

    def check(self, observation: Any) -> tuple[np.ndarray, bool]:
        """Validates one observation or a batch of them, as a user hands them in.

        Returns:
            The observations with a leading batch axis, and whether that axis was added here.

        Raises:
            TypeError: not numbers, or not integers for a Discrete space.
            ValueError: a wrong shape, a value outside a Discrete space, or NaN or infinity.
        """
        array = np.asarray(observation)
        if array.dtype.kind not in "biuf":
            raise TypeError(
                f"Observations must be an array of numbers, got dtype {array.dtype} from "
                f"{type(observation).__name__}. reset() returns (observation, info): pass the first."
            )
        shape = self.space.shape or ()
        if array.shape not in (shape, (*array.shape[:1], *shape)):
            raise ValueError(
                f"Observation of shape {array.shape} does not fit {self.space}: expected {shape} for one "
                f"observation or {('n', *shape)} for a batch.".replace("'n'", "n")
            )
        single = array.ndim == len(shape)
        batch = array[None] if single else array
        if isinstance(self.space, spaces.Discrete):
            if array.dtype.kind not in "iu":
                raise TypeError(f"Observations of {self.space} are integers, got dtype {array.dtype}.")
            low = int(self.space.start)
            if batch.size and (batch.min() < low or batch.max() >= low + self.dim):
                raise ValueError(f"Observations {batch.min()} to {batch.max()} leave {self.space}.")
        elif not np.isfinite(batch).all():
            raise ValueError(f"Observation contains NaN or infinity: {array!r}.")
        return batch, single


class ActionCodec:
    """Turns network outputs into actions that the environment accepts.

    Discrete actions are counted from the space's `start`. Continuous actions live in units in which a bounded
    Box is [-1, 1]: outputs are clipped to it and mapped to [low, high] for the environment only, so that the
    learning algorithm keeps the action that its policy really drew. An unbounded Box passes through
    unchanged.

    Args:
        space: the action space of one environment.

    Attributes:
        discrete: whether actions are indices.
        dim: number of choices (discrete) or of components (continuous), which is the width of the policy's
            output.

    Raises:
        TypeError: the space is neither Discrete nor a Box of floats.
    """

    def __init__(self, space: spaces.Space[Any]) -> None:
        self.space = space
        self.discrete = isinstance(space, spaces.Discrete)
        if isinstance(space, spaces.Discrete):
            self.dim = int(space.n)
        elif isinstance(space, spaces.Box) and np.issubdtype(space.dtype, np.floating):
            self.dim = int(np.prod(space.shape))
            bounded = np.isfinite(space.low) & np.isfinite(space.high)
            low, high = np.where(bounded, space.low, -1.0), np.where(bounded, space.high, 1.0)
            self._bias, self._scale = (low + high) / 2, (high - low) / 2
        else:
            raise TypeError(
                f"Action space {space} is not supported: expected Discrete or a Box of floats. Wrap the "
                "environment so that it takes one of the two."
            )

    def to_env(self, actions: np.ndarray) -> np.ndarray:
        """(n,) indices or (n, dim) numbers to a batch of elements of the action space."""
        if isinstance(self.space, spaces.Discrete):
            return (actions + self.space.start).astype(self.space.dtype, copy=False)
        box = self.space
        assert isinstance(box, spaces.Box)
        scaled = actions.reshape(len(actions), *box.shape) * self._scale + self._bias
        return np.clip(scaled, box.low, box.high).astype(box.dtype)
