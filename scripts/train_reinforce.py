"""Train REINFORCE in an environment.

    python scripts/train_reinforce.py env=CartPole
    python scripts/train_reinforce.py env=Acrobot seed=1 agent.learning_rate=0.005
    python scripts/train_reinforce.py env.id=MountainCar-v0 total_timesteps=1_000_000
    python scripts/train_reinforce.py --cfg job                     (every setting with its value)
    python scripts/train_reinforce.py --multirun seed=0,1,2         (several runs, one after another)
    python scripts/train_reinforce.py resume=outputs/reinforce/...  (continue a run)

The settings are those of conf/train_reinforce.yaml. The same job is installed as `rlgrad reinforce`.
"""

import sys

from rlgrad.cli import reinforce

if __name__ == "__main__":
    sys.exit(reinforce())
