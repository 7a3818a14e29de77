"""One module per cause: the pattern it reads, why that means this cause, and what to do about it.

A rule takes a log and gives a finding or None. Its thresholds are the constants above it.
"""

from __future__ import annotations

from collections.abc import Callable

from infra.diagnose.causes import Finding
from infra.diagnose.log import Log
from infra.diagnose.rules.cache import cache_misses
from infra.diagnose.rules.cold import cold_starts
from infra.diagnose.rules.contention import cpu_contention
from infra.diagnose.rules.cpus import fewer_cpus
from infra.diagnose.rules.decode import slow_decode
from infra.diagnose.rules.encode import slow_encode
from infra.diagnose.rules.inputs import larger_inputs
from infra.diagnose.rules.memory import memory_growth
from infra.diagnose.rules.paging import paging
from infra.diagnose.rules.queueing import queueing
from infra.diagnose.rules.s3 import slow_s3
from infra.diagnose.rules.style import slower_style
from infra.diagnose.rules.threads import thread_oversubscription

Rule = Callable[[Log], Finding | None]

# What is asked of the whole log, in the order in which equal shares of a slowdown are told.
RULES: tuple[Rule, ...] = (
    larger_inputs,
    slower_style,
    fewer_cpus,
    slow_decode,
    slow_encode,
    slow_s3,
    cache_misses,
    cold_starts,
    thread_oversubscription,
    paging,
    cpu_contention,
    queueing,
    memory_growth,
)
# What can befall one environment alone: its own machine, its own neighbours, its own network.
OF_ENVIRONMENTS: tuple[Rule, ...] = (paging, cpu_contention, slow_s3)
