"""How much CPU this process may use, and what it can do: the thread policy and the precision policy."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import cv2
import torch

from handler import cgroup

Precision = Literal["float32", "bfloat16"]

MB_PER_VCPU = 1769  # Lambda's documentation: at 1,769 MB a function has the equivalent of one vCPU
CPUINFO = Path("/proc/cpuinfo")


def vcpus(cgroup_quota: Callable[[], float] = cgroup.cpus) -> float:
    """CPUs that this process may use: by memory size in Lambda, by affinity and cgroup quota elsewhere."""
    if memory := os.environ.get("AWS_LAMBDA_FUNCTION_MEMORY_SIZE"):
        return round(min(int(memory) / MB_PER_VCPU, os.cpu_count() or 1), 2)
    affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(affinity, cgroup_quota())


def set_threads(setting: Literal["auto"] | int, available: float) -> int:
    """Give torch and OpenCV as many threads as there are CPUs, rounded up; returns that number.

    More than that makes threads wait for each other at every operator's end, with the clock running.
    """
    threads = math.ceil(available) if setting == "auto" else setting
    torch.set_num_threads(threads)
    cv2.setNumThreads(threads)
    return threads


def best_precision(setting: Literal["auto", "float32", "bfloat16"]) -> Precision:
    """bfloat16 where the CPU multiplies it in hardware (AMX, AVX512-BF16); emulated, it would be slower."""
    if setting != "auto":
        return setting
    able = torch.cpu.get_capabilities()
    return "bfloat16" if able.get("amx_bf16") or able.get("avx512_bf16") else "float32"


def processor(cpuinfo: Path = CPUINFO) -> str | None:
    """The model as Linux has it; None where it says none (arm64, other systems). Clouds mix several."""
    try:
        lines = cpuinfo.read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), None)
