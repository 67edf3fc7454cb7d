"""The GPU tests without a GPU: on CuPy's interface over NumPy's memory, which refuses what CuPy refuses."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import no_gpu_because


@pytest.mark.timeout(900)
def test_what_gpus_run_mixes_no_memory_and_uses_what_cupy_has():
    pytest.importorskip("cupy")
    pytest.importorskip("scipy")
    if no_gpu_because() is None:
        pytest.skip("there is a GPU, which runs these tests itself")
    command = [sys.executable, "-m", "pytest", "-m", "gpu", "-n", "0", "-q", "-p", "no:cacheprovider"]
    run = subprocess.run(
        command,
        cwd=Path(__file__).parent.parent,
        env={**os.environ, "RLGRAD_CUPY_STAND_IN": "1"},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout[-8000:] + run.stderr[-2000:]
    assert " passed" in run.stdout
