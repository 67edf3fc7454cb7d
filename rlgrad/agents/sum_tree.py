"""Drawing in proportion to priorities that change."""

from __future__ import annotations

import numpy as np

__all__ = ["SumTree"]

_WIDTH = 64


class SumTree:
    """Non-negative priorities, drawn in proportion and changed a batch at a time.

    Every node is the sum of up to 64 below it, so a few array operations per level serve a whole batch, and
    three levels a quarter of a million entries. A changed sum is formed anew from its parts: rounding does
    not pile up.

    Args:
        size: number of priorities, all 0 at first.

    Attributes:
        priorities: (size,) float64, to read; change them with `update`.

    Example:
        >>> import numpy as np
        >>> tree = SumTree(1000)
        >>> tree.update(np.array([3, 800]), np.array([1.0, 3.0]))
        >>> drawn = tree.sample(400, np.random.default_rng(0))
        >>> int((drawn == 800).sum()), int((drawn == 3).sum())
        (300, 100)
    """

    def __init__(self, size: int) -> None:
        self._levels: list[np.ndarray] = []
        count = size
        while True:
            groups = -(-count // _WIDTH)
            self._levels.append(np.zeros((groups, _WIDTH)))
            if groups == 1:
                break
            count = groups
        self._levels.reverse()
        self.priorities = self._levels[-1].reshape(-1)[:size]

    @property
    def total(self) -> float:
        """The sum of all priorities."""
        return float(self._levels[0].sum())

    def update(self, index: np.ndarray, priorities: np.ndarray) -> None:
        """Sets the priorities at `index: (n,)`; where an index comes twice, the last value counts."""
        self.priorities[index] = priorities
        for above, below in zip(self._levels[-2::-1], self._levels[:0:-1], strict=True):
            index = index // _WIDTH
            if len(index) > _WIDTH:
                index = np.unique(index)
            above.reshape(-1)[index] = below[index].sum(1)

    def sample(self, number: int, generator: np.random.Generator) -> np.ndarray:
        """Draws `number` indices, one from each of as many equal shares of the total.

        Raises:
            ValueError: all priorities are 0.
        """
        total = self.total
        if not total > 0.0:
            raise ValueError("All priorities are 0: add transitions before drawing from them.")
        mass = (np.arange(number) + generator.random(number)) * (total / number)
        group = np.zeros(number, np.int64)
        rows = np.arange(number)
        for level in self._levels:
            sums = level[group].cumsum(1)
            # Rounding may leave a remainder just above a group's sum, where nothing lies.
            mass = np.minimum(mass, np.nextafter(sums[:, -1], 0.0))
            child = (sums <= mass[:, None]).sum(1)
            mass = mass - np.where(child > 0, sums[rows, child - 1], 0.0)
            group = group * _WIDTH + child
        return group
