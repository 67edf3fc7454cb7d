"""Train an agent in an environment.

    python scripts/train.py agent=ppo env=LunarLander
    python scripts/train.py agent=dqn env=CartPole seed=1 agent.learning_rate=0.001
    python scripts/train.py agent=sac env.id=Pendulum-v1 total_timesteps=20_000
    python scripts/train.py +experiment=ppo_cartpole       (a row of the table of results)
    python scripts/train.py --cfg job                      (every setting with its value)
    python scripts/train.py --multirun seed=0,1,2          (several runs, one after another)
    python scripts/train.py resume=outputs/train/...       (continue a run)

The settings are those of conf/train.yaml. The same job is installed as `rlgrad train`.
"""

import sys

from rlgrad.cli import train

if __name__ == "__main__":
    sys.exit(train())
