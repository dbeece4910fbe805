"""What the peers share: the machine in a line, a table as `rivulet bench` prints it, and timing in turn."""
import os
import platform
import statistics
import time

import torch


def machine():
    name = platform.processor()
    try:
        with open("/proc/cpuinfo") as f:
            name = next(line.split(":")[1].strip() for line in f if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return f"{name}, {torch.get_num_threads()} threads of {os.cpu_count()} cores, PyTorch {torch.__version__}, Python {platform.python_version()}"


def short(value):
    if value >= 100 or value == 0:
        return f"{value:.0f}"
    if value >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}" if value >= 1 else f"{value:.2g}"


def show(section, columns, rows):
    """rows are (name, {column: value})."""
    lines = [[section, *columns]] + [[name, *(short(v[c]) if c in v else "" for c in columns)] for name, v in rows]
    widths = [max(len(line[k]) for line in lines) for k in range(len(lines[0]))]
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip())


def seconds(run, budget, least=3):
    """The median time of run(k), k = 0, 1, …, and of its CPU time, for about budget seconds; the first run is not counted."""
    run(0)
    wall, cpu, k, began = [], [], 1, time.perf_counter()
    while len(wall) < least or time.perf_counter() - began < budget:
        a, b = time.perf_counter(), time.process_time()
        run(k)
        wall.append(time.perf_counter() - a)
        cpu.append(time.process_time() - b)
        k += 1
    return statistics.median(wall), statistics.median(cpu)
