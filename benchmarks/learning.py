"""What the agents learn, over several seeds: ``python -m benchmarks.learning ppo_cartpole dqn_cartpole --seeds 10``.

Each experiment of ``conf/experiment`` is trained once per seed and judged by 100 deterministic episodes after the last
step. Runs are stored in ``benchmarks/results`` with their settings and commit; runs that are there already are not
repeated. ``--page`` writes what is stored into ``docs/results.md``, beside what others published.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path(__file__).parent / "results"
PAGE = Path(__file__).parent.parent / "docs" / "results.md"
INTRODUCTION = """# What the agents learn

Each row is an experiment of `conf/experiment`: `rlgrad train +experiment=ppo_cartpole` repeats one run of it, and
`python -m benchmarks.learning ppo_cartpole --seeds 10` the row. A run is judged after its last step by the mean return of 100
deterministic episodes with seeds of their own; no checkpoint is picked. IQM is the interquartile mean over seeds, with a 95 %
bootstrap interval. Every run is stored with its settings and commit in `benchmarks/results`.

Published figures come from other protocols, so compare with care: RL Baselines3 Zoo shows one trained agent, CleanRL the return
while training over three seeds.

"""

TARGETS = {
    "reinforce_cartpole": 475, "ppo_cartpole": 475, "a2c_cartpole": 475, "dqn_cartpole": 475,
    "ppo_acrobot": -90, "a2c_acrobot": -90, "dqn_acrobot": -90,
    "dqn_mountaincar": -115, "ppo_mountaincar": -120,
    "td3_mountaincarcontinuous": 90, "sac_mountaincarcontinuous": 90,
    "td3_pendulum": -170, "ddpg_pendulum": -170, "sac_pendulum": -170, "ppo_pendulum": -250,
    "ppo_lunarlander": 200, "dqn_lunarlander": 150,
    "ppo_halfcheetah": 1500, "ppo_hopper": 2000, "ppo_walker2d": 2000,
}  # fmt: skip
"""The mean return over seeds that each experiment is to reach."""

PUBLISHED = {
    "ppo_cartpole": "500 (zoo, 100k), 490 ± 6 (CleanRL, 500k)",
    "a2c_cartpole": "500 (zoo, 500k)",
    "dqn_cartpole": "500 (zoo, 50k), 489 ± 16 (CleanRL, 500k)",
    "ppo_acrobot": "-73.5 (zoo, 1M), -86.4 ± 1.3 (CleanRL, 500k)",
    "a2c_acrobot": "-83.4 (zoo, 500k)",
    "dqn_acrobot": "-76.6 (zoo, 100k), -91.5 ± 7.2 (CleanRL, 500k)",
    "ppo_mountaincar": "-110.4 (zoo, 1M), -200 (CleanRL, 500k)",
    "dqn_mountaincar": "-100.8 (zoo, 120k), -195 ± 8 (CleanRL, 500k)",
    "td3_mountaincarcontinuous": "93.5 (zoo, 300k)",
    "sac_mountaincarcontinuous": "94.7 (zoo with gSDE, 50k)",
    "td3_pendulum": "-151.9 (zoo, 20k)",
    "ddpg_pendulum": "-152.1 (zoo, 20k)",
    "sac_pendulum": "-157.0 (zoo, 20k)",
    "ppo_pendulum": "-172.2 (zoo with gSDE, 100k)",
    "ppo_lunarlander": "242.1 (zoo, v2, 1M)",
    "dqn_lunarlander": "154.4 (zoo, v2, 100k)",
    "ppo_halfcheetah": "5,819 (zoo, v3, 1M), 1,443 ± 46 (CleanRL, v4, 1M)",
    "td3_halfcheetah": "9,656 (zoo, v3, 1M), 9,583 ± 126 (CleanRL, v4, 1M)",
    "ppo_hopper": "2,410 (zoo, v3, 1M), 2,383 ± 272 (CleanRL, v4, 1M)",
    "ppo_walker2d": "3,479 (zoo, v3, 1M), 2,288 ± 572 (CleanRL, v4, 1M)",
}
"""RL Zoo: one agent, deterministic; CleanRL: return in training, 3 seeds. Protocols differ from this one's."""


def train(experiment: str, seed: int, overrides: list[str]) -> dict[str, Any]:
    """One run of an experiment: its figures and settings."""
    from rlgrad.cli.app import compose_job
    from rlgrad.cli.train_agent import TRAIN, make_agent

    job = compose_job(TRAIN, [f"+experiment={experiment}", f"seed={seed}", "progress=false", *overrides])
    agent = make_agent(job)
    wall, cpu = time.perf_counter(), time.process_time()
    agent.learn(job.total_timesteps)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    result = agent.evaluate(episodes=100)
    agent.close()
    return {
        "seed": seed,
        "return": result.mean,
        "std_over_episodes": result.std,
        "steps": agent.num_timesteps,
        "seconds": round(wall, 1),
        "cpu_seconds": round(cpu, 1),
        "commit": commit(),
        "settings": {
            "total_timesteps": job.total_timesteps,
            "env": dataclasses.asdict(job.env),
            "agent": {"name": job.agent["name"], **plain(dataclasses.asdict(agent.config))},
        },
    }


def plain(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings that every reader of JSON takes: infinity becomes a word."""
    return {name: str(value) if value in (math.inf, -math.inf) else value for name, value in settings.items()}


def commit() -> str:
    """The commit that is measured, marked where files differ from it."""
    root = Path(__file__).parent.parent
    found = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=root, capture_output=True, text=True)
    return found.stdout.strip() or "unknown"


def interquartile_mean(returns: np.ndarray) -> np.ndarray:
    """The mean of the middle half along the last axis."""
    cut = returns.shape[-1] // 4
    return np.sort(returns, axis=-1)[..., cut : returns.shape[-1] - cut].mean(-1)


def bootstrap_interval(returns: np.ndarray, draws: int = 10_000) -> tuple[float, float]:
    """95 % percentile interval of the interquartile mean over seeds (Agarwal et al., 2021, section 4.1)."""
    drawn = np.random.default_rng(0).choice(returns, size=(draws, len(returns)))
    low, high = np.percentile(interquartile_mean(drawn), [2.5, 97.5])
    return float(low), float(high)


def load(experiment: str) -> list[dict[str, Any]]:
    """The stored runs of an experiment."""
    path = RESULTS / f"{experiment}.json"
    return json.loads(path.read_text()) if path.exists() else []


def store(experiment: str, runs: list[dict[str, Any]]) -> None:
    """Writes the runs of an experiment, one a line."""
    RESULTS.mkdir(exist_ok=True)
    lines = ",\n".join(json.dumps(run) for run in sorted(runs, key=lambda run: run["seed"]))
    (RESULTS / f"{experiment}.json").write_text(f"[\n{lines}\n]\n")


def table() -> str:
    """The stored results as Markdown."""
    lines = [
        "| experiment | steps | seeds | mean | worst seed | IQM | 95 % interval | aim | published |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for path in sorted(RESULTS.glob("*.json")):
        runs = load(path.stem)
        returns = np.array([run["return"] for run in runs])
        low, high = bootstrap_interval(returns)
        steps = runs[0]["settings"]["total_timesteps"]
        aim = TARGETS.get(path.stem)
        lines.append(
            f"| {path.stem} | {steps:,} | {len(runs)} | {returns.mean():.1f} | {returns.min():.1f} "
            f"| {interquartile_mean(returns):.1f} | {low:.1f} to {high:.1f} | {'' if aim is None else aim} "
            f"| {PUBLISHED.get(path.stem, '')} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("experiments", nargs="*", help="names in conf/experiment")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUE", help="settings to try; nothing is stored")
    parser.add_argument("--page", action="store_true", help="write docs/results.md")
    arguments = parser.parse_args()
    for experiment in arguments.experiments:
        runs = [] if arguments.set else load(experiment)
        for seed in range(arguments.seeds):
            if any(run["seed"] == seed for run in runs):
                continue
            run = train(experiment, seed, arguments.set)
            runs.append(run)
            print(f"{experiment} seed {seed}: {run['return']:.1f} in {run['seconds']} s", flush=True)
            if not arguments.set:
                store(experiment, runs)
        returns = np.array([run["return"] for run in runs])
        print(
            f"{experiment}: mean {returns.mean():.1f}, worst {returns.min():.1f}, IQM {interquartile_mean(returns):.1f}"
        )
    if arguments.page:
        PAGE.write_text(INTRODUCTION + table() + "\n")


if __name__ == "__main__":
    main()
