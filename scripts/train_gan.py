"""Train a generator and a discriminator against each other, on the ring of eight Gaussians unless told otherwise.

    python scripts/train_gan.py
    python scripts/train_gan.py data=grid seed=1 gan.iterations=20_000
    python scripts/train_gan.py data=digits net=dcgan
    python scripts/train_gan.py --cfg job                     (every setting with its value)
    python scripts/train_gan.py --multirun seed=0,1,2         (several runs, one after another)
    python scripts/train_gan.py resume=outputs/gan/...        (continue a run)

The settings are those of conf/train_gan.yaml. The same job is installed as `rlgrad gan`.
"""

import sys

from rlgrad.cli import gan

if __name__ == "__main__":
    sys.exit(gan())
