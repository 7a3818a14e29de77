"""Checks of what the function runs on: CPU, threads, allocator, caches, /tmp."""

from __future__ import annotations

import json
import math
import os
import tempfile
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

from infra.allocators import tcmalloc
from infra.doctor import machine
from infra.doctor.checks import Finding, Patient, State, Unknown
from infra.doctor.machine import MIB
from infra.text import explained, shown

SPINNING = {"OMP_WAIT_POLICY": "active", "GOMP_SPINCOUNT": "infinity"}  # waiting threads that use a whole CPU
PINNING = ("OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY", "KMP_AFFINITY")
COUNTS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OMP_THREAD_LIMIT")
KERNELS = (16, 1024)  # oneDNN's cache: below, kernels are made again; above, memory grows with sizes seen
STOLEN = 0.05  # of the time, before it is worth a word
TMP_MIB = 64


def threads(patient: Patient) -> Finding:
    said = patient.fact("threads")
    torch, opencv, vcpus = said["torch"], said["opencv"], said["vcpus"]
    want, set_to = math.ceil(vcpus), patient.environment.get("NUM_THREADS", "auto")
    measured = f"torch {torch}, OpenCV {opencv}, vCPUs {vcpus:g}, NUM_THREADS={set_to}"
    if max(torch, opencv) > want:
        return Finding(State.FAIL, measured, f"threads wait for each other: NUM_THREADS=auto, or at most {want}")
    if min(torch, opencv) < want:
        return Finding(State.WARN, measured, f"CPUs are left idle: NUM_THREADS=auto, or {want}")
    slots = patient.configured().max_concurrency
    if slots > 1 and slots * torch > want:
        change = f"MAX_CONCURRENCY=1, or NUM_THREADS={max(1, want // slots)}"
        return Finding(State.WARN, f"{measured}; MAX_CONCURRENCY={slots} times {torch} threads", change)
    return Finding(State.OK, measured)


def thread_variables(patient: Patient) -> Finding:
    """Those of OpenMP, MKL and OpenBLAS; the counts change nothing, as torch and OpenCV are told theirs."""
    given = patient.environment
    bad = [name for name, value in SPINNING.items() if given.get(name, "").lower() == value]
    bad += [name for name in PINNING if given.get(name, "false").lower() not in ("false", "")]
    if bad:
        return Finding(State.WARN, _listed(patient, bad), f"unset {', '.join(bad)}: threads cannot move or rest")
    openblas = given.get("OPENBLAS_NUM_THREADS", "1")
    if openblas != "1":
        return Finding(State.WARN, f"OPENBLAS_NUM_THREADS={shown(openblas)}", "unset it: nothing here uses them")
    counts = [name for name in COUNTS if name in given]
    return Finding(State.OK, f"{_listed(patient, counts)}: overridden" if counts else "none set")


def _listed(patient: Patient, names: list[str]) -> str:
    return ", ".join(f"{name}={shown(patient.environment[name])}" for name in names)


def cpu(patient: Patient) -> Finding:
    """Whether this process gets the CPUs that it counts on, by the log lines of the trial's conversions."""
    lines = [line for text in patient.lines() if (line := json.loads(text)).get("event") == "conversion"]
    if not lines:
        raise Unknown("no conversion was made")
    wall, stolen = (sum(_value(line, name) for line in lines) for name in ("Duration", "steal_time"))
    share = stolen * 1000 / (wall * max(1.0, _value(lines[0], "vcpus")))
    used, switches = median(_value(line, "CpuUtilization") for line in lines), lines[-1]["involuntary_switches"]
    load = lines[0]["load_average"][0]
    measured = f"{used:.0f} % used by conversions, steal {share:.0%}, load {load}, {switches} turns lost"
    if share > STOLEN:
        return Finding(State.WARN, measured, "the hypervisor gives this CPU to others: take another machine")
    if load > max(lines[0]["vcpus"], os.cpu_count() or 1) + 1:  # it is the whole machine's
        return Finding(State.WARN, measured, "other processes use these CPUs: end them, or wait for them")
    return Finding(State.OK, measured)


def _value(line: dict[str, Any], name: str) -> float:
    said = line[name]
    return float(said[0] if isinstance(said, list) else said)


def allocator(patient: Patient) -> Finding:
    """Which malloc is mapped into the process: glibc's maps and unmaps every large tensor."""
    loaded, asked = patient.fact("started")["allocators"], patient.environment.get("LD_PRELOAD", "")
    if not loaded:
        said = f"; LD_PRELOAD={shown(asked)} is none" if asked else ""
        change = f"LD_PRELOAD={tcmalloc() or '…/libtcmalloc_minimal.so.4'} (Debian: libtcmalloc-minimal4)"
        return Finding(State.WARN, f"the system's malloc{said}", f"{change} is a fifth to a third faster")
    kept = "dirty_decay_ms:-1" in patient.environment.get("MALLOC_CONF", "")
    if any("jemalloc" in name for name in loaded) and not kept:
        change = "MALLOC_CONF=oversize_threshold:0,dirty_decay_ms:-1,muzzy_decay_ms:-1, or tcmalloc"
        return Finding(State.WARN, f"{', '.join(loaded)}, which gives pages back: slower than glibc", change)
    return Finding(State.OK, ", ".join(loaded))


def kernel_cache(patient: Patient) -> Finding:
    name = "ONEDNN_PRIMITIVE_CACHE_CAPACITY"
    said, (least, most) = patient.environment.get(name, "256"), KERNELS
    if not (said.isdecimal() and least <= int(said) <= most):
        return Finding(State.WARN, f"{name}={shown(said)}", f"unset {name}: it is 256 then, {least} to {most} do")
    return Finding(State.OK, f"oneDNN keeps {said} kernels")


def opencv_limit(patient: Patient) -> Finding:
    name, ours = "OPENCV_IO_MAX_IMAGE_PIXELS", patient.configured().max_input_pixels
    said = patient.environment.get(name, str(ours))
    if not (said.isdecimal() and int(said) < 2**64):
        return Finding(State.FAIL, f"{name}={shown(said)} ends the process when OpenCV is loaded", f"unset {name}")
    if int(said) < ours:
        return Finding(State.FAIL, f"{name}={said}, MAX_INPUT_PIXELS={ours}: larger photos fail", f"unset {name}")
    if int(said) > ours:
        return Finding(State.WARN, f"{name}={said} is over MAX_INPUT_PIXELS={ours}", f"unset {name}")
    return Finding(State.OK, f"OpenCV refuses what is over MAX_INPUT_PIXELS too ({ours:,})")


def tmp(patient: Patient) -> Finding:
    """The only folder that Lambda lets write into. The function leaves nothing there; tools and libraries do."""
    change = "make it writable, or point TMPDIR at a folder that is"
    folder = Path(patient.environment.get("TMPDIR", "/tmp"))
    try:
        with tempfile.NamedTemporaryFile(dir=folder) as file:
            file.write(os.urandom(MIB))
            file.flush()
        free = machine.free_mib(folder)
    except OSError as error:
        return Finding(State.WARN, f"{shown(folder)} cannot be written to: {explained(error)}", change)
    measured = f"{shown(folder)} is writable, {free:,.0f} MiB free"
    return Finding(State.OK, measured) if free >= TMP_MIB else Finding(State.WARN, measured, "make room")


def quota(patient: Patient) -> Finding:
    """Whether the cgroup stopped the trial for its CPU quota: threads that are all stopped in mid-operator."""
    times = patient.fact("throttled")
    if times:
        return Finding(State.WARN, f"stopped {times} times by the CPU quota", "a quota of whole CPUs")
    return Finding(State.OK, "the CPU quota stopped nothing")


def s3(patient: Patient) -> Finding:
    if find_spec("boto3") is None:
        return Finding(State.WARN, "boto3 is not installed", "S3 events and uploads need it: pip install boto3")
    return Finding(State.OK, "boto3 is there for S3 events")
