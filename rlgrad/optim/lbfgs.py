"""Limited-memory BFGS, with or without a line search for the strong Wolfe conditions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from rlgrad.autograd.modes import enable_grad
from rlgrad.autograd.tensor import Tensor, wrap
from rlgrad.backend.devices import device_of, module_of, on_device
from rlgrad.optim.optimizer import Optimizer, rate

ARMIJO = 1e-4
CURVATURE = 0.9
"""Constants c1 and c2 of the strong Wolfe conditions (Nocedal and Wright 2006, section 3.1)."""

LEAST_CURVATURE = 1e-10
"""Pairs of step and change of gradient whose product is no more than this are not remembered."""


class LBFGS(Optimizer):
    """Quasi-Newton steps from the last few changes of the gradient (Nocedal and Wright 2006, algorithm 7.4).

    It evaluates the loss several times in each step, so :meth:`step` needs a closure. All parameters belong to one
    group; a parameter without a gradient counts as having a gradient of zero.

    Args:
        params: parameters of one dtype and device.
        lr: length of a step along the direction, and the first length that a line search tries.
        max_iter: directions taken in one :meth:`step`.
        max_eval: evaluations of the closure in one :meth:`step`, 1.25 times ``max_iter`` unless given.
        tolerance_grad: stop when no element of the gradient is larger.
        tolerance_change: stop when parameters or loss change by less.
        history_size: pairs of step and change of gradient that are remembered.
        line_search_fn: ``"strong_wolfe"``, or ``None`` for steps of fixed length.

    Example:
        >>> import rlgrad
        >>> from rlgrad import optim
        >>> x = rlgrad.tensor([3.0, -2.0], requires_grad=True)
        >>> optimizer = optim.LBFGS([x], line_search_fn="strong_wolfe")
        >>> def closure():
        ...     optimizer.zero_grad()
        ...     loss = ((x - 1) ** 2).sum()
        ...     loss.backward()
        ...     return loss
        >>> optimizer.step(closure).item()
        13.0
        >>> x.detach().round()
        tensor([1., 1.])
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        defaults = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
        }
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError(
                "LBFGS doesn't support per-parameter options (parameter groups); make one optimizer for each"
            )

    def step(self, closure: Callable[[], Any]) -> Any:  # type: ignore[override]
        """Take up to ``max_iter`` quasi-Newton steps.

        Args:
            closure: clears the gradients, computes the loss and its gradients, and returns the loss.

        Returns:
            The loss before the first of them.
        """
        group = self.param_groups[0]
        if group["line_search_fn"] not in (None, "strong_wolfe"):
            raise RuntimeError(f"only 'strong_wolfe' is supported as line_search_fn, not {group['line_search_fn']!r}")
        params = group["params"]
        memory = _Memory(self.state[params[0]], group["history_size"])
        objective = _Objective(params, closure)
        with on_device(device_of(params[0]._array)):
            first, loss, gradient = objective()
            memory.func_evals += 1
            if not abs(gradient).max() <= group["tolerance_grad"]:
                self._descend(group, memory, objective, loss, gradient)
            memory.store()
        return first

    def _descend(self, group: dict[str, Any], memory: _Memory, objective: _Objective, loss: Any, gradient: Any) -> None:
        lr, least, flat = rate(group), group["tolerance_change"], group["tolerance_grad"]
        evaluations = 1
        for iteration in range(1, group["max_iter"] + 1):
            memory.n_iter += 1
            starting = memory.n_iter == 1
            direction = memory.restart(gradient) if starting else memory.direction(gradient)
            memory.remember(gradient, loss)
            length: Any = min(1.0, 1.0 / abs(gradient).sum()) * lr if starting else lr
            memory.t = length
            slope = gradient.dot(direction)
            if slope > -least:
                return
            before, evaluated = loss, 0
            if group["line_search_fn"] is not None:
                start = Point(0, loss, gradient, slope)
                limit = group["max_eval"] - evaluations
                found, evaluated = strong_wolfe(objective.along(direction), start, length, direction, limit, least)
                length, loss, gradient = found.t, found.loss, found.gradient
                memory.t = length
                objective.move(length, direction)
            else:
                objective.move(length, direction)
                if iteration != group["max_iter"]:  # nobody would use the loss after the last
                    _, loss, gradient = objective()
                    evaluated = 1
            evaluations += evaluated
            memory.func_evals += evaluated
            if (
                evaluations >= group["max_eval"]
                or abs(gradient).max() <= flat
                or abs(direction * length).max() <= least
                or abs(loss - before) < least
            ):
                return


class _Objective:
    """The closure as a function of all parameters, with the gradient joined."""

    def __init__(self, params: list[Tensor], closure: Callable[[], Any]) -> None:
        self.params, self.closure = params, closure
        self.xp = module_of(params[0]._array)

    def __call__(self) -> tuple[Any, float, Any]:
        """The loss as the closure gave it, as a number, and the joined gradient."""
        with enable_grad():
            given = self.closure()
        parts = [(self.xp.zeros_like(p._array) if p.grad is None else p.grad._array).ravel() for p in self.params]
        return given, float(given), self.xp.concatenate(parts)

    def move(self, length: Any, direction: Any) -> None:
        begin = 0
        for parameter in self.params:
            array = parameter._array
            array += (direction[begin : begin + array.size] * length).reshape(array.shape)
            parameter._cell[0] += 1
            begin += array.size

    def along(self, direction: Any) -> Callable[[Any], Point]:
        """Loss and gradient at a length along a direction; the parameters stay where they are."""
        start = [p._array.copy() for p in self.params]

        def at(length: Any) -> Point:
            self.move(length, direction)
            _, loss, gradient = self()
            for parameter, array in zip(self.params, start, strict=True):
                parameter._array[...] = array
                parameter._cell[0] += 1
            return Point(length, loss, gradient, gradient.dot(direction))

        return at


class _Memory:
    """What the next direction is computed from; kept in the optimizer's state under PyTorch's keys."""

    _ARRAYS = ("d", "prev_flat_grad")
    _LISTS = ("old_dirs", "old_stps", "ro", "al")

    def __init__(self, state: dict[str, Any], size: int) -> None:
        self.state, self.size = state, size
        self.func_evals, self.n_iter = state.get("func_evals", 0), state.get("n_iter", 0)
        self.prev_loss = state.get("prev_loss")
        self.d, self.prev_flat_grad = (_raw(state.get(name)) for name in self._ARRAYS)
        self.t, self.H_diag = _raw(state.get("t")), _raw(state.get("H_diag"))
        lists = [[_raw(item) for item in state.get(name) or ()] for name in self._LISTS]
        self.old_dirs, self.old_stps, self.ro, self.al = lists

    def store(self) -> None:
        self.state.update(func_evals=self.func_evals, n_iter=self.n_iter)
        if self.d is None:
            return
        for name in (*self._ARRAYS, "t", "H_diag"):
            self.state[name] = _shown(getattr(self, name))
        for name in self._LISTS:
            if name != "al" or self.al:
                self.state[name] = [_shown(item) for item in getattr(self, name)]
        self.state["prev_loss"] = self.prev_loss

    def restart(self, gradient: Any) -> Any:
        self.old_dirs, self.old_stps, self.ro, self.H_diag = [], [], [], 1
        self.d = -gradient
        return self.d

    def remember(self, gradient: Any, loss: float) -> None:
        self.prev_flat_grad, self.prev_loss = gradient.copy(), loss

    def direction(self, gradient: Any) -> Any:
        """The two-loop recursion: an approximate inverse Hessian times the downhill gradient."""
        change, step = gradient - self.prev_flat_grad, self.d * self.t
        product = change.dot(step)
        if product > LEAST_CURVATURE:
            if len(self.old_dirs) == self.size:
                for remembered in (self.old_dirs, self.old_stps, self.ro):
                    remembered.pop(0)
            self.old_dirs.append(change)
            self.old_stps.append(step)
            self.ro.append(1.0 / product)
            self.H_diag = product / change.dot(change)
        self.al = self.al or [None] * self.size
        result = -gradient
        for i in range(len(self.old_dirs) - 1, -1, -1):
            self.al[i] = self.old_stps[i].dot(result) * self.ro[i]
            result -= self.old_dirs[i] * self.al[i]
        result *= self.H_diag
        for i, step in enumerate(self.old_stps):
            result += step * (self.al[i] - self.old_dirs[i].dot(result) * self.ro[i])
        self.d = result
        return result


def _raw(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value._array if value.ndim else value._array[()]
    return value


def _shown(value: Any) -> Any:
    return value if value is None or (isinstance(value, (int, float)) and type(value) in (int, float)) else wrap(value)


class Point(NamedTuple):
    """A place along the direction: length, loss, gradient, and derivative of the loss along the direction."""

    t: Any
    loss: float
    gradient: Any
    slope: Any


def strong_wolfe(
    at: Callable[[Any], Point], start: Point, length: Any, direction: Any, limit: int, least: float
) -> tuple[Point, int]:
    """A length that satisfies the strong Wolfe conditions (Nocedal and Wright 2006, algorithms 3.5 and 3.6).

    Args:
        at: evaluates the objective at a length.
        start: the objective at length 0.
        length: to try first.
        direction: of descent.
        limit: trials at most.
        least: stop when the bracket moves no element by more.

    Returns:
        The best point found, and the evaluations that it took.
    """

    def too_high(point: Point) -> bool:
        return bool(point.loss > start.loss + ARMIJO * point.t * start.slope)

    def flat_enough(point: Point) -> bool:
        return bool(abs(point.slope) <= -CURVATURE * start.slope)

    previous, now = start, at(length)
    evaluations, trials = 1, 0
    while trials < limit:
        if too_high(now) or (trials > 1 and now.loss >= previous.loss):
            break
        if flat_enough(now):
            return now, evaluations
        if now.slope >= 0:
            break
        longer = _cubic_minimum(previous, now, (now.t + 0.01 * (now.t - previous.t), now.t * 10))
        previous, now = now, at(longer)
        evaluations += 1
        trials += 1
    if trials >= limit:
        return (start if start.loss <= now.loss else now), evaluations

    low, high = (previous, now) if previous.loss <= now.loss else (now, previous)
    low_is_first = low is previous
    size, stuck = abs(direction).max(), False
    while trials < limit and not abs(high.t - low.t) * size < least:
        ends = (low, high) if low_is_first else (high, low)
        t, stuck = _inside(_cubic_minimum(*ends), low.t, high.t, stuck)
        now = at(t)
        evaluations += 1
        trials += 1
        if too_high(now) or now.loss >= low.loss:
            high = now
            if (low.loss > high.loss) if low_is_first else (high.loss <= low.loss):
                low, high, low_is_first = high, low, not low_is_first
        else:
            if flat_enough(now):
                return now, evaluations
            if now.slope * (high.t - low.t) >= 0:
                high = low
            low = now
    return low, evaluations


def _inside(t: Any, low: Any, high: Any, stuck: bool) -> tuple[Any, bool]:
    """Keep a trial off the bracket's ends: a tenth away when it is close to one a second time or beyond it."""
    left, right = min(low, high), max(low, high)
    margin = 0.1 * (right - left)
    if min(right - t, t - left) >= margin:
        return t, False
    if stuck or t >= right or t <= left:
        return (right - margin if abs(t - right) < abs(t - left) else left + margin), False
    return t, True


def _cubic_minimum(a: Point, b: Point, bounds: tuple[Any, Any] | None = None) -> Any:
    """Where the cubic through two points with their slopes is least (Nocedal and Wright 2006, equation 3.59)."""
    least, most = bounds or (min(a.t, b.t), max(a.t, b.t))
    first = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t)
    square = first**2 - a.slope * b.slope
    if not square >= 0:
        return (least + most) / 2.0
    root = math.sqrt(square)
    if a.t > b.t:
        a, b = b, a
    t = b.t - (b.t - a.t) * ((b.slope + root - first) / (b.slope - a.slope + 2 * root))
    return min(max(t, least), most)
