"""Draw samples from a trained generator.

    python scripts/sample_gan.py checkpoint=outputs/gan/... n=64 out=grid.png
    python scripts/sample_gan.py checkpoint=outputs/gan/... n=1000 out=samples.npy seed=3
    python scripts/sample_gan.py checkpoint=outputs/gan/... label=7

The same command is installed as `rlgrad sample`.
"""

import sys

from rlgrad.cli import sample

if __name__ == "__main__":
    sys.exit(sample())
