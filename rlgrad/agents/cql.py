"""Conservative Q-learning: soft actor-critic from recorded steps, with values held down where there are none.

Source: Kumar et al., Conservative Q-Learning for Offline Reinforcement Learning (2020), equation 4 and appendix F.
"""

from __future__ import annotations

import math

import numpy as np

import rlgrad
from rlgrad import Tensor, nn
from rlgrad.agents.critics import values
from rlgrad.agents.soft_policy import SoftPolicy

__all__ = ["conservative_gap"]


def conservative_gap(
    policy: SoftPolicy,
    critics: nn.Module,
    obs: Tensor,
    next_obs: Tensor,
    chosen: list[Tensor],
    number: int,
    generator: np.random.Generator,
) -> Tensor:
    """How far the values of all actions, `log sum_a exp Q(s, a)`, lie above those of the recorded ones: CQL(H).

    For continuous actions the sum is estimated by importance sampling, from uniform actions, the policy's, and
    the policy's in the next state.

    Args:
        policy: in training.
        critics: in training.
        obs, next_obs: (n, ...) of the batch.
        chosen: for each critic (n,) values of the recorded actions.
        number: actions drawn from each of the three sources.
        generator: owns the draws.

    Returns:
        The mean over the batch, summed over the critics.
    """
    if policy.discrete:
        everywhere = [value.logsumexp(1) for value in values(critics, obs)]
    else:
        actions, log_density = _proposals(policy, obs, next_obs, number, generator)
        rows = 3 * number
        repeated = obs.reshape(len(obs), -1).repeat(rows, 1)
        opinions = values(critics, repeated, actions)
        everywhere = [(value.reshape(rows, -1) - log_density).logsumexp(0) - math.log(rows) for value in opinions]
    gaps = [(above - value).mean() for above, value in zip(everywhere, chosen, strict=True)]
    return sum(gaps[1:], gaps[0])


def _proposals(
    policy: SoftPolicy, obs: Tensor, next_obs: Tensor, number: int, generator: np.random.Generator
) -> tuple[Tensor, Tensor]:
    """Actions (3 number n, dim) and their log-densities (3 number, n)."""
    batch, dim = len(obs), policy.dim
    uniform = generator.uniform(-1.0, 1.0, (number * batch, dim)).astype(np.float32)
    actions, densities = (
        [rlgrad.from_numpy(uniform).to(obs.device)],
        [obs.new_full((number, batch), -dim * math.log(2.0))],
    )
    with rlgrad.no_grad():
        for state in (obs, next_obs):
            drawn, log_prob = policy.distribution(state).rsample_with_log_prob((number,), generator)
            actions.append(drawn.reshape(number * batch, dim))
            densities.append(log_prob)
        return rlgrad.cat(actions), rlgrad.cat(densities)
