# SPDX-License-Identifier: Apache-2.0
"""[search]: points that an optimizer (Optuna) proposes, towards the Pareto front of the study's objectives.

Proposals come in batches of a fixed size, each from the results of all batches before it. So the points depend on study and seed
only, not on how many run at a time; and a search that was stopped continues, because its runs are finished."""

import sys
from typing import TYPE_CHECKING, Any

from bench import Bench, Settings
import results
import runner
from space import Dimension
from store import Store
from study import Constraint, Point, Study

if TYPE_CHECKING:
    import optuna

    from area import Area

BATCH = 8
IDLE_BATCHES = 25  # so many without a new point end the search: the optimizer has no other idea


def propose(trial: "optuna.Trial", dimensions: list[Dimension]) -> Settings:
    """A value of each dimension. Steps of a list of numbers are in an order, so that the optimizer can go on in one direction."""
    settings: Settings = {}
    for dimension in dimensions:
        name = " ".join(dimension.names)
        if dimension.is_open:
            chosen: tuple[Any, ...] = (trial.suggest_int(name, dimension.low, dimension.high),)
        elif len(dimension.names) == 1 and all(isinstance(value, int) for (value,) in dimension.values):
            chosen = sorted(dimension.values)[trial.suggest_int(name, 0, len(dimension.values) - 1)]
        else:
            chosen = dimension.values[trial.suggest_categorical(name, list(range(len(dimension.values))))]
        settings |= dict(zip(dimension.names, chosen, strict=True))
    return settings


def violation(constraint: Constraint, value: float) -> float:
    """Above 0: it is violated, by so much."""
    if constraint.holds(value):
        return 0.0
    return abs(value - constraint.limit) or sys.float_info.min


def points(study: Study, bench: Bench, store: Store, jobs: int, retry: bool, resume: bool, progress: runner.Progress,
           area: "Area | None" = None) -> list[Point]:
    """Proposes and runs until there are as many different points as the study says, or no others."""
    import optuna  # takes a second

    search = study.search
    assert search is not None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    samplers = {"tpe": lambda: optuna.samplers.TPESampler(seed=search.seed),
                "nsga2": lambda: optuna.samplers.NSGAIISampler(seed=search.seed, population_size=min(50, max(2, search.points // 4)))}
    optimizer = optuna.create_study(directions=["maximize" if goal == "max" else "minimize" for goal in study.objectives.values()],
                                    sampler=samplers[search.method]())
    found: dict[tuple[Any, ...], Point] = {}
    idle = 0
    while len(found) < search.points and idle < IDLE_BATCHES:
        trials = []
        before = len(found)
        for _ in range(min(BATCH, search.points - len(found))):
            trial = optimizer.ask()
            settings = propose(trial, study.dimensions)
            key = tuple(settings.values())
            if key not in found:
                found[key] = study.point(bench, len(found), settings)
            trials.append((trial, found[key]))
        idle = idle + 1 if len(found) == before else 0
        new = list(found.values())[before:]
        runs = list({run.id(): run for point in new for group in point.runs.values() for run in group}.values())
        todo = runner.unfinished(store, runs, study.timeout_s, retry, resume)
        progress.skip(len(runs) - len(todo))
        runner.execute(bench, store, todo, study.timeout_s, jobs, progress)
        _tell(optimizer, study, bench, store, trials, area)
    return list(found.values())


def _tell(optimizer: "optuna.Study", study: Study, bench: Bench, store: Store, trials: list[tuple["optuna.Trial", Point]],
          area: "Area | None") -> None:
    import optuna

    table, _ = results.rows(study, bench, store, list({point.number: point for _, point in trials}.values()), area)
    means = results.means(study, table)
    for trial, point in trials:
        row = means.get(point.number, {})
        values = [row.get(name) for name in study.objectives]
        limits = [row.get(constraint.name) for constraint in study.constraints]
        if not all(isinstance(value, (int, float)) for value in values + limits):
            optimizer.tell(trial, state=optuna.trial.TrialState.FAIL)  # did not end well
            continue
        for number, (constraint, value) in enumerate(zip(study.constraints, limits, strict=True)):
            trial.set_constraint(f"{number} {constraint}", violation(constraint, float(value)))  # type: ignore[arg-type]
        optimizer.tell(trial, [float(value) for value in values])  # type: ignore[arg-type]
