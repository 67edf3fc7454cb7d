"""Whole trainings against Stable-Baselines3 in one run: ``python -m benchmarks.rl [ppo] [a2c] [dqn] [sac] [td3]``.

Both libraries train in the same environments with the same settings and one thread, in turns. Steps per second are those
of the whole training: environment, acting and updates. Ratios are medians over the turns. Matrix products of NumPy follow
``OPENBLAS_CORETYPE`` where it is set, torch's do not. ``--wide`` adds PPO with 64 copies of CartPole, which
Stable-Baselines3 would take too long for.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")


def rlgrad_agent(name: str, env: str, settings: dict[str, Any], seed: int) -> Any:
    from rlgrad.agents import BY_NAME

    agent_class, config_class = BY_NAME[name]
    return agent_class(env, config_class(**settings), seed=seed)


def sb3_agent(name: str, env: str, num_envs: int, settings: dict[str, Any], seed: int) -> Any:
    import stable_baselines3
    import torch
    from stable_baselines3.common.env_util import make_vec_env

    torch.set_num_threads(1)
    kind = getattr(stable_baselines3, name.upper())
    return kind("MlpPolicy", make_vec_env(env, n_envs=num_envs, seed=seed), seed=seed, device="cpu", **settings)


def linear(start: float) -> Callable[[float], float]:
    """Stable-Baselines3's form of a value that falls to zero."""
    return lambda remaining: remaining * start


NETWORK = {"net_arch": [256, 256]}
CASES: dict[str, dict[str, Any]] = {
    "ppo": {
        "env": "CartPole-v1",
        "steps": 16_384,
        "ours": {
            "num_envs": 8, "n_steps": 32, "batch_size": 256, "epochs": 20, "gamma": 0.98, "gae_lambda": 0.8,
            "learning_rate": 1e-3, "learning_rate_end": 0.0, "clip_range": 0.2, "clip_range_end": 0.0,
        },
        "theirs": {
            "n_steps": 32, "batch_size": 256, "n_epochs": 20, "gamma": 0.98, "gae_lambda": 0.8,
            "learning_rate": linear(1e-3), "clip_range": linear(0.2), "ent_coef": 0.0,
        },
        "aim": 5.0,
    },
    "a2c": {
        "env": "CartPole-v1",
        "steps": 20_000,
        "ours": {"num_envs": 8},
        "theirs": {"ent_coef": 0.0},
        "aim": 4.0,
    },
    "dqn": {
        "env": "CartPole-v1",
        "steps": 8_192,
        "ours": {
            "double": False, "learning_rate": 2.3e-3, "batch_size": 64, "buffer_size": 100_000, "learning_starts": 1000,
            "target_update_interval": 10, "train_freq": 256, "gradient_steps": 128, "exploration_steps": 8000,
            "exploration_final": 0.04, "hidden_sizes": [256, 256],
        },
        "theirs": {
            "learning_rate": 2.3e-3, "batch_size": 64, "buffer_size": 100_000, "learning_starts": 1000,
            "target_update_interval": 10, "train_freq": 256, "gradient_steps": 128, "exploration_fraction": 0.98,
            "exploration_final_eps": 0.04, "policy_kwargs": NETWORK,
        },
        "aim": 4.0,
    },
    "sac": {
        "env": "Pendulum-v1",
        "steps": 1000,
        "ours": {"learning_rate": 1e-3, "learning_starts": 100},
        "theirs": {"learning_rate": 1e-3, "learning_starts": 100},
        "aim": 1.3,
    },
    "td3": {
        "env": "Pendulum-v1",
        "steps": 1000,
        "ours": {"gamma": 0.98, "buffer_size": 200_000, "learning_starts": 100, "noise_std": 0.0},
        "theirs": {
            "gamma": 0.98, "buffer_size": 200_000, "learning_starts": 100, "learning_rate": 1e-3,
            "policy_kwargs": {"net_arch": [400, 300]},
        },
        "aim": 1.3,
    },
}  # fmt: skip
"""For each algorithm the settings of RL Baselines3 Zoo, in the words of both libraries."""

WIDE = {
    "num_envs": 64, "n_steps": 32, "batch_size": 512, "epochs": 4, "gamma": 0.98, "gae_lambda": 0.8,
    "learning_rate": 1e-3,
}  # fmt: skip


def seconds(build: Callable[[], Any], steps: int) -> tuple[float, float]:
    """Wall and processor seconds of one training, without building the agent."""
    agent = build()
    wall, cpu = time.perf_counter(), time.process_time()
    agent.learn(steps)
    return time.perf_counter() - wall, time.process_time() - cpu


def compare(name: str, repeats: int) -> None:
    case = CASES[name]
    env, steps, num_envs = case["env"], case["steps"], case["ours"].get("num_envs", 1)
    builders = {
        "rlgrad": lambda seed: rlgrad_agent(name, env, case["ours"], seed),
        "sb3": lambda seed: sb3_agent(name, env, num_envs, case["theirs"], seed),
    }
    # Long enough for a first update, so that what is compiled when it is first used does not count.
    for build in builders.values():
        build(0).learn(512 + case["ours"].get("learning_starts", 0))
    taken: dict[str, list[tuple[float, float]]] = {library: [] for library in builders}
    for repeat in range(repeats):
        for library, build in builders.items():
            taken[library].append(seconds(lambda build=build, seed=repeat: build(seed), steps))
    rates = {library: steps / statistics.median(cpu for _, cpu in times) for library, times in taken.items()}
    ratios = [theirs[1] / ours[1] for ours, theirs in zip(taken["rlgrad"], taken["sb3"], strict=True)]
    wall = [theirs[0] / ours[0] for ours, theirs in zip(taken["rlgrad"], taken["sb3"], strict=True)]
    print(
        f"{name:4} {env:14} rlgrad {rates['rlgrad']:9,.0f} steps/s   Stable-Baselines3 {rates['sb3']:7,.0f} steps/s   "
        f"{statistics.median(ratios):5.2f} times as fast ({min(ratios):.2f} to {max(ratios):.2f}; "
        f"wall {statistics.median(wall):.2f}; aim {case['aim']})",
        flush=True,
    )


def wide(repeats: int) -> None:
    steps = 262_144
    rates = [
        steps / seconds(lambda seed=r: rlgrad_agent("ppo", "CartPole-v1", WIDE, seed), steps)[1] for r in range(repeats)
    ]
    print(f"ppo  CartPole-v1, 64 copies: {statistics.median(rates):,.0f} steps/s (aim 100,000)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", choices=[*CASES, []], help="which; all by default")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--wide", action="store_true")
    arguments = parser.parse_args()
    print(f"OPENBLAS_CORETYPE={os.environ.get('OPENBLAS_CORETYPE', '')!r}")
    for name in arguments.cases or CASES:
        compare(name, arguments.repeats)
    if arguments.wide:
        wide(arguments.repeats)


if __name__ == "__main__":
    main()
