"""The plan: which runs there are, and what each does. The same each time: seeds are the names of the runs."""

from __future__ import annotations

from random import Random

from infra.faults import clean, recipes
from infra.faults.drawn import Row
from infra.faults.scenario import CLEAN, Half, Photos, Run, Scenario, Set, Target
from infra.faults.strengths import SIDES, STRENGTHS

CAUSES = tuple(STRENGTHS)
RECIPES = {**recipes.RECIPES, CLEAN: clean.no_change}
CONVERSIONS = (42, 60)  # in a half


def planned(set: Set) -> list[Run]:
    """All runs of a set, causes in turns, so that a part of them is a bit of everything."""
    found = [
        _run(set, cause, number, row) for cause in CAUSES for number, row in enumerate(STRENGTHS[cause][set], 1)
    ]
    return sorted(found, key=lambda run: (run.number, CAUSES.index(run.cause)))


def _run(set: Set, cause: str, number: int, row: Row) -> Run:
    random = Random(f"{set} {cause} {number}")
    least, most = random.choice(SIDES[set])
    target: Target = random.choice(("serve", "serve", "http_event"))
    usual = Half((Photos(least, most),), clients=random.choice((1, 1, 2)))
    scenario = Scenario(target, usual, usual, (random.randint(*CONVERSIONS), random.randint(*CONVERSIONS)))
    return Run(set, cause, number, RECIPES[cause](scenario, row), {"of": list(row)})
