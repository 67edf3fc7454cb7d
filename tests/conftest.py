import functools
import os

import pytest

# Two test processes share the cores, where NumPy's own threads would get in each other's way.
# NumPy reads this when it is first imported, which happens after this file.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

if os.environ.get("RLGRAD_CUPY_STAND_IN"):
    from . import cupy_stand_in

    cupy_stand_in.install()


@functools.cache
def no_gpu_because() -> str | None:
    from rlgrad.backend.devices import as_device

    try:
        as_device("cuda")
    except RuntimeError as error:
        return str(error)
    return None


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("gpu") and no_gpu_because():
        pytest.skip(no_gpu_because())
