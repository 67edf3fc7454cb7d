"""CuPy's elementwise kernels, compiled for the processor."""

import atexit
import ctypes
import functools
import itertools
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

COMPILER = shutil.which("cc") or shutil.which("gcc")
SOURCE = """
#include <math.h>
#include <stdbool.h>
typedef {type} T;
void run(long size, T **arrays, T *numbers) {{
    for (long i = 0; i < size; i++) {{
        {names}
        {body}
    }}
}}
"""


@functools.cache
def folder():
    """Where the kernels of this process are kept while it runs."""
    path = Path(tempfile.mkdtemp(prefix="kernels"))
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


class CompiledForCPU:
    """In place of ``cupy.ElementwiseKernel``: made and called with the same arguments."""

    made = itertools.count()
    calls = 0

    def __init__(self, reads, writes, body, name):
        parameters = [part.split() for part in f"{reads}, {writes}".split(", ")]
        assert {kind for kind, _ in parameters} == {"T"}
        self.names, self.body, self.libraries = [name for _, name in parameters], body, {}

    def __call__(self, *arguments):
        type(self).calls += 1
        given = dict(zip(self.names, arguments, strict=True))
        arrays = {name: value for name, value in given.items() if isinstance(value, np.ndarray)}
        numbers = {name: value for name, value in given.items() if name not in arrays}
        ((dtype, _),) = {(array.dtype, array.shape) for array in arrays.values()}
        flats = [np.ascontiguousarray(array).reshape(-1) for array in arrays.values()]
        pointers = (ctypes.c_void_p * len(flats))(*(flat.ctypes.data for flat in flats))
        packed = np.array([*numbers.values()], dtype)
        if dtype not in self.libraries:
            self.libraries[dtype] = self.compile(dtype, [*arrays], [*numbers])
        self.libraries[dtype].run(ctypes.c_long(flats[0].size), pointers, ctypes.c_void_p(packed.ctypes.data))
        for array, result in zip(arrays.values(), flats, strict=True):
            array[...] = result.reshape(array.shape)

    def compile(self, dtype, arrays, numbers):
        path = folder() / f"kernel{next(self.made)}.c"
        names = [f"T *_{name} = arrays[{i}] + i;\n#define {name} (*_{name})\n" for i, name in enumerate(arrays)]
        names += [f"T {name} = numbers[{i}];" for i, name in enumerate(numbers)]
        kind = {"f": "float", "d": "double"}[dtype.char]
        path.write_text(SOURCE.format(type=kind, names="".join(names), body=self.body))
        subprocess.run([COMPILER, "-shared", "-fPIC", "-o", path.with_suffix(".so"), path, "-lm"], check=True)
        return ctypes.CDLL(path.with_suffix(".so"))
