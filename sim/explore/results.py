# SPDX-License-Identifier: Apache-2.0
"""The table of results: one row per point and seed, from the records of its runs."""

import pathlib
import statistics
from typing import TYPE_CHECKING, Any

from bench import CUSTOM, Bench, Settings
from errors import suggest
import pareto
import program
from store import STATUS, Record, Store, write_atomically
from study import AREA, TIMING, Point, Study

if TYPE_CHECKING:
    import pandas

    from area import Area

# Columns besides the settings that vary and the metrics.
HEAD = ("point", "seed", "status", "reason")
STAGE = "cycles_in_"  # metrics of the time in one place (docs/bench.md)
TAIL = ("bottleneck", "feasible", "pareto", "run_s", "host", "finished", "model", "runs")


def rows(study: Study, bench: Bench, store: Store, points: list[Point], area: "Area | None" = None,
         is_whole: bool = True) -> tuple[list[dict[str, Any]], int]:
    """A row per point and seed that is finished, in the order of the study, and the number of those that are not. `is_whole`: fails
    if what counts is in none; a share may have none of it."""
    result: list[dict[str, Any]] = []
    missing = 0
    for point in points:
        for seed in study.seeds:
            records = [store.load(run) for run in point.runs[seed]]
            done = [record for record in records if record is not None]
            if len(done) != len(records):
                missing += 1
                continue
            row = _row(study, bench, point, seed, done)
            if area is not None:
                _add_area(area, row, bench.resolve(dict(point.runs[seed][0].settings)))
            row |= {"model": bench.model, "runs": " ".join(run.id() for run in point.runs[seed])}
            result.append(row)
    if is_whole:
        check(study, result)
    _judge(study, result)
    return result, missing


def _add_area(area: "Area", row: dict[str, Any], settings: Settings) -> None:
    row |= dict.fromkeys((*AREA, *TIMING))
    if row["status"] != "ok":
        return
    found = area.of(settings)
    if isinstance(found, str):
        row |= {"status": "failed", "reason": f"area: {found}"}
    else:
        row |= found


def _row(study: Study, bench: Bench, point: Point, seed: int, records: list[Record]) -> dict[str, Any]:
    worst = max(records, key=lambda record: STATUS.index(record.outcome.status)).outcome
    row: dict[str, Any] = {"point": point.number, "seed": seed, "status": worst.status, "reason": worst.reason, **point.varied}
    for workload, record in zip(study.workloads, records, strict=True):
        if workload.bench == CUSTOM:  # the same columns, whatever ended well
            row |= {study.column(workload, metric): None for metric in bench.metrics if metric in bench.simulated}
        row |= {study.column(workload, metric): None for metric in program.metrics(workload.program)}
        for metric, value in record.outcome.metrics.items():
            if workload.is_added and not metric.startswith((STAGE, "latency_")):
                continue  # each step of the breakdown
            if metric in record.outcome.simulated or study.column(workload, metric) in study.metrics:
                row[study.column(workload, metric)] = value
    if study.metrics:
        wanted = {*study.metrics, *study.objectives, *(c.name for c in study.constraints), *(c.y for c in study.curves)}
        row = {key: value for key, value in row.items() if key in HEAD or key in point.varied or key in wanted or STAGE in key}
    words = [(workload.name, record.outcome.bottleneck) for workload, record in zip(study.workloads, records, strict=True)
             if record.outcome.bottleneck]
    row["bottleneck"] = "; ".join(text if len(words) == 1 else f"{name}: {text}" for name, text in words)
    return row | {"run_s": round(sum(record.outcome.seconds for record in records), 3), "host": records[-1].host,
                  "finished": max(record.finished for record in records)}


def check(study: Study, table: list[dict[str, Any]]) -> None:
    """Fails if something that counts is in no row that ended well, although there are such rows."""
    good = [row for row in table if row["status"] == "ok"]
    if not good:
        return
    for what, at, names in (("objective", "objectives", list(study.objectives)), ("metric", "metrics", study.metrics),
                            ("constraint", "constraints", [c.name for c in study.constraints]),
                            ("curve", "curves", [c.y for c in study.curves])):
        for name in names:
            if all(row.get(name) is None for row in good):
                known = sorted({key for row in good for key, value in row.items() if value is not None} - {*HEAD, *TAIL})
                raise study.source.error(("results", at, name), f"{what} '{name}': no point has it{suggest(name, known)}")


def means(study: Study, table: list[dict[str, Any]]) -> dict[int, dict[str, float | int | str]]:
    """point -> its settings and the mean of each metric over its seeds; points with a seed that did not end well are left
    out."""
    by_point: dict[int, list[dict[str, Any]]] = {}
    for row in table:
        by_point.setdefault(row["point"], []).append(row)
    result = {}
    for point, group in by_point.items():
        if any(row["status"] != "ok" for row in group):
            continue
        mean: dict[str, float | int | str] = {"point": point}
        for key in group[0]:
            if key in study.varied:
                mean[key] = group[0][key]
            elif key not in HEAD and key not in TAIL:
                values = [row[key] for row in group if row[key] is not None]
                if len(values) == len(group):
                    mean[key] = statistics.fmean(values)
        result[point] = mean
    return result


def _judge(study: Study, table: list[dict[str, Any]]) -> None:
    """Sets `feasible` and `pareto`, which are of the point: by the means over its seeds."""
    mean = means(study, table)
    feasible = {point for point, row in mean.items()
                if all(constraint.name in row and constraint.holds(float(row[constraint.name])) for constraint in study.constraints)}
    candidates = [point for point in feasible
                  if all(isinstance(mean[point].get(name), (int, float)) for name in study.objectives)]
    costs = [[float(mean[point][name]) * (-1 if goal == "max" else 1) for name, goal in study.objectives.items()]
             for point in candidates]
    best = {point for point, is_best in zip(candidates, pareto.front(costs), strict=True) if is_best and study.objectives}
    for row in table:
        row["feasible"] = row["point"] in feasible
        row["pareto"] = row["point"] in best


def unmet(study: Study, table: list[dict[str, Any]]) -> str:
    """Why no point keeps the constraints; empty: one does, or none has ended well."""
    mean = means(study, table)
    if not study.constraints or not mean or any(row["feasible"] for row in table):
        return ""
    for constraint in study.constraints:
        values = [float(row[constraint.name]) for row in mean.values() if constraint.name in row]
        if values and not any(constraint.holds(value) for value in values):
            nearest = min(values) if constraint.relation[0] == "<" else max(values)
            return str(study.source.error(("results", "constraints"), f"no point keeps '{constraint}'; the nearest has {nearest:g}"))
    return str(study.source.error(("results", "constraints"), "no point keeps all constraints"))


def frame(study: Study, table: list[dict[str, Any]]) -> "pandas.DataFrame":
    import pandas  # not before it is needed: it takes a second

    metrics = list(dict.fromkeys(key for row in table for key in row if key not in HEAD and key not in TAIL
                                 and key not in study.varied))
    data = pandas.DataFrame(table, columns=[*HEAD, *study.varied, *metrics, *TAIL])
    return data.astype(dict.fromkeys(metrics, "float64"))


def write(folder: pathlib.Path, data: "pandas.DataFrame") -> None:
    """results.csv and results.parquet with the same rows."""
    write_atomically(folder / "results.csv", data.to_csv(index=False, lineterminator="\n"))
    write_atomically(folder / "results.parquet", data.to_parquet(index=False))

