"""GFLOP/s of NumPy's BLAS (OpenBLAS, where NumPy has it) at the shapes of BenchmarkKernels in graph/gemm.

    OPENBLAS_NUM_THREADS=1 python3 tools/peer/gemm.py
    GOMAXPROCS=1 go test -run '^$' -bench Kernels ./graph/gemm

prints a line for each shape: what a second of the clock did, and what a CPU second of this process did. NumPy says
on which library it runs: numpy.show_config(), or, where that is a system's libblas, the file that it is linked to. An
OpenBLAS that is older than the processor may take kernels for SSE: OPENBLAS_VERBOSE=2 prints which, and
OPENBLAS_CORETYPE=SkylakeX or Haswell chooses those for AVX-512 or AVX2.
"""

import resource
import time

import numpy as np

# name, m, k, n, whether A and B lie in memory transposed: the list of graph/gemm/bench_test.go.
SHAPES = [
    ("sgc-product", 153431, 602, 41, False, False),
    ("sgc-adjoint", 602, 153431, 41, True, False),
    ("classes7-product", 44625, 500, 7, False, False),
    ("classes7-adjoint", 500, 44625, 7, True, False),
    ("hidden-product", 40000, 602, 256, False, False),
    ("hidden-adjoint", 602, 40000, 256, True, False),
    ("hidden-back", 40000, 41, 256, False, True),
    ("distances", 1024, 602, 154, False, True),
    ("small", 154, 602, 41, False, False),
    ("square", 1024, 1024, 1024, False, False),
]
SECONDS = 1.0


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def operand(rng, rows, cols, transposed):
    """Returns an r×c matrix of float32; transposed is a view of a c×r one."""
    if transposed:
        return rng.random((cols, rows), dtype=np.float32).T
    return rng.random((rows, cols), dtype=np.float32)


def main():
    rng = np.random.default_rng(3)
    for name, m, k, n, ta, tb in SHAPES:
        a, b = operand(rng, m, k, ta), operand(rng, k, n, tb)
        out = np.empty((m, n), np.float32)
        np.matmul(a, b, out=out)
        runs, began, used = 0, time.perf_counter(), cpu_seconds()
        while time.perf_counter() - began < SECONDS:
            np.matmul(a, b, out=out)
            runs += 1
        seconds, used = time.perf_counter() - began, cpu_seconds() - used
        work = 2e-9 * m * k * n * runs
        print(f"{name:18s} {work / seconds:8.1f} GFLOP/s {work / used:8.1f} GFLOP/core-s", flush=True)


if __name__ == "__main__":
    main()
