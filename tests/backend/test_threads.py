import os
import subprocess
import sys

import pytest

from rlgrad.backend.threads import set_num_threads

REPORT = """
import ctypes, sys
from numpy._core import _multiarray_umath
from rlgrad.backend.threads import set_num_threads
library = ctypes.CDLL(_multiarray_umath.__file__)
known = set_num_threads(eval(sys.argv[1]))
getter = getattr(library, "scipy_openblas_get_num_threads64_", None)
print(getter() if known and getter else -1)
"""


def threads_after(argument, **variables):
    environment = {key: value for key, value in os.environ.items() if not key.endswith("_NUM_THREADS")}
    result = subprocess.run(
        [sys.executable, "-c", REPORT, argument],
        env={**environment, **variables},
        text=True,
        capture_output=True,
    )
    assert result.returncode == 0, result.stderr
    if int(result.stdout) < 0:
        pytest.skip("NumPy's library is not the OpenBLAS of its wheels")
    return int(result.stdout)


def test_one_thread_unless_the_environment_says_otherwise():
    assert threads_after("None") == 1
    assert threads_after("None", OMP_NUM_THREADS="2") == min(2, os.cpu_count())


def test_a_given_number_wins():
    assert threads_after("1", OMP_NUM_THREADS="2") == 1


def test_less_than_one_thread_is_refused():
    with pytest.raises(ValueError, match="at least 1, got 0"):
        set_num_threads(0)
