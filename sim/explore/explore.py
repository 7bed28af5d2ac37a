#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Architecture exploration: simulates every point of a study on the model. Command: `./vireo explore`. docs/explore.md."""

import argparse
import concurrent.futures
import datetime
import itertools
import os
import pathlib
import re
import shlex
import socket
import subprocess
import sys
from collections import Counter
from typing import TYPE_CHECKING

from bench import Bench, Run, Stopped
import confirm as confirm_module
from confirm import Confirmed
from errors import StudyError
import results
import runner
import slurm
from store import FORMAT, Store
import study as study_file
from study import Point, Study

if TYPE_CHECKING:
    from area import Area

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROBE_S = 120  # most time for one run that a dry run takes as the measure
CHECKED = 1000  # most points whose legality a dry run checks


def share_of(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d+)/(\d+)", text)
    if match is None or int(match[1]) >= int(match[2]):
        raise argparse.ArgumentTypeError(f"{text!r} is not I/N with I from 0 to N - 1")
    return int(match[1]), int(match[2])


def jobs_of(text: str) -> int:
    if not text.isdigit() or not 1 <= int(text) <= 4096:
        raise argparse.ArgumentTypeError(f"{text!r} is not 1 to 4096")
    return int(text)


def confirmed_of(text: str) -> str:
    if text not in ("front", "all") and not (text.isdigit() and int(text) > 0):
        raise argparse.ArgumentTypeError(f"{text!r} is not front, all or a number of points")
    return text


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="vireo explore", formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Simulates every point of a study on the model and writes results.csv, results.parquet, manifest.json and\n"
                    "report.html. Finished points are never simulated again: the same command continues a study.\n"
                    "docs/explore.md describes the study file.",
        epilog="Exit code: 0; 1 if a point is illegal, failed or exceeded its time (results.csv has the reason), or no point keeps the\n"
               "constraints; 2 for an invalid argument or study; 130 if interrupted.\n"
               "Example: vireo explore examples/studies/dma_tags.toml")
    parser.add_argument("study", type=pathlib.Path, help="study file (TOML)")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", dest="overrides",
                        help="fix a setting, also one that the study varies")
    parser.add_argument("--profile", choices=("rfc-v2", "vireo"), help="ABI profile of the NICs: --set host.profile=…")
    parser.add_argument("--sweep", action="append", default=[], metavar="NAME=A,B,C", help="vary a setting over these values")
    parser.add_argument("--out", type=pathlib.Path, metavar="DIR", help="folder of the results (default: results/ and the study's name)")
    parser.add_argument("--jobs", type=jobs_of, default=os.cpu_count() or 1, metavar="N",
                        help="runs at a time (default: number of cores)")
    parser.add_argument("--index", type=share_of, metavar="I/N",
                        help="simulate only every N-th point, from the I-th on, for job arrays on a shared folder; afterwards the "
                             "command without it writes the results")
    parser.add_argument("--slurm", type=slurm.job_array.tasks_of, metavar="N",
                        help="simulate by a Slurm job array of N tasks, wait, and write the results; --out must be on a folder that all see")
    parser.add_argument("--slurm-options", default="", metavar="TEXT", help="for sbatch, such as '--partition=p --cpus-per-task=4'")
    parser.add_argument("--merge", type=pathlib.Path, action="append", default=[], metavar="DIR",
                        help="first take what a share has simulated into its own folder, for instance on another machine; repeatable")
    parser.add_argument("--dry-run", action="store_true", help="print number of points and estimated time; write nothing")
    parser.add_argument("--resume", action=argparse.BooleanOptionalAction, default=True,
                        help="finished points are not simulated again (default); --no-resume: all are")
    parser.add_argument("--retry", action="store_true", help="simulate again what failed, crashed, was illegal or too slow")
    parser.add_argument("--confirm", choices=("rtl",), help="run points again on RTL in lockstep, and compare")
    parser.add_argument("--confirm-points", type=confirmed_of, default="front", metavar="front|all|N",
                        help="which: the Pareto front (default), all, or N of all")
    parser.add_argument("--bottleneck", action="store_true", help="add, in words, what limits each point")
    parser.add_argument("--area", choices=study_file.FAMILIES, default="", help="add LUT, FF, LUTRAM, BRAM and DSP of each configuration, by Yosys")
    parser.add_argument("--charts", action="store_true",
                        help="also write each figure of the report as SVG and PNG into charts/; needs the package chromium")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    parser.add_argument("--bench", type=pathlib.Path, default=ROOT / "build/explore/sim/bench/vireo_nic_bench", metavar="PROGRAM",
                        help="the benchmark to run (default: that of the build)")
    parser.add_argument("--simulator", type=pathlib.Path, default=ROOT / "build/explore/sim/simulator/vireo_run", metavar="PROGRAM",
                        help="what runs programs (default: that of the build)")
    parser.add_argument("--rtl-bench", type=pathlib.Path, default=ROOT / "build/dev/sim/bench/vireo_nic_bench", metavar="PROGRAM",
                        help="benchmark with RTL of the named configurations (default: that of the build, if there is one)")
    options = parser.parse_args(arguments)
    if options.profile:
        options.overrides.append(f"host.profile={options.profile}")
    if options.confirm and (options.index or options.dry_run):
        parser.error("--confirm needs all points: leave out --index and --dry-run")
    if options.slurm and (options.index or options.dry_run or not options.resume):
        parser.error("--slurm runs all shares of what is not finished: leave out --index, --dry-run and --no-resume")
    return options


def plan(options: argparse.Namespace, study: Study, bench: Bench, points: list[Point], runs: list[Run], folder: pathlib.Path) -> int:
    """--dry-run."""
    seconds: list[float] = []
    todo = runs
    if folder.exists() and (folder / "manifest.json").exists():
        store = Store(folder, study)
        records = [record for run in runs if (record := store.load(run)) is not None]
        seconds = [record.outcome.seconds for record in records if record.outcome.status != "illegal"]
        todo = runner.unfinished(store, runs, study.timeout_s, options.retry)
    print(f"{study.name}: {len(points)} points, {len(runs)} runs ({len(study.workloads)} workload(s), {len(study.seeds)} seed(s)), "
          f"{len(runs) - len(todo)} finished")
    checked = todo[:CHECKED]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        reasons = list(pool.map(bench.why_illegal, checked))
    if illegal := Counter(reason for reason in reasons if reason):
        among = "" if len(checked) == len(todo) else f" of the first {len(checked)}"
        print(f"{illegal.total()} runs{among} are illegal:")
        for reason, number in illegal.most_common():
            print(f"  {number}: {reason}")
    legal = [run for run, reason in itertools.zip_longest(todo, reasons, fillvalue="") if not reason]
    if not legal:
        return 0
    basis = f"{len(seconds)} finished runs"
    if not seconds:
        outcome = bench.run(legal[len(legal) // 2], min(PROBE_S, study.timeout_s), pathlib.Path("/tmp"))
        seconds, basis = [outcome.seconds], f"one run, which took {outcome.seconds:.1f} s and was {outcome.status}"
    estimate = sum(seconds) / len(seconds) * len(legal) / options.jobs
    print(f"estimated time: {runner.duration(estimate)} with --jobs {options.jobs}, by {basis}")
    return 0


def version() -> str:
    """Of the sources; empty outside of a git repository."""
    def git(*command: str) -> str:  # describe --dirty would write the index
        return subprocess.run(["git", "--no-optional-locks", "-C", str(ROOT), *command], capture_output=True, text=True, check=False).stdout.strip()

    try:
        return git("describe", "--always") + ("-dirty" if git("status", "--porcelain", "--untracked-files=no") else "")
    except OSError:
        return ""


def manifest(options: argparse.Namespace, study: Study, bench: Bench, table: list[dict[str, object]], points: int) -> dict[str, object]:
    return {"format": FORMAT, "study": study.name, "title": study.title, "file": str(study.file), "text": study.source.text,
            "set": options.overrides, "sweep": options.sweep, "seeds": study.seeds, "points": points, "rows": len(table),
            "status": dict(Counter(str(row["status"]) for row in table)), "objectives": study.objectives,
            "constraints": [str(constraint) for constraint in study.constraints], "base": study.base,
            "workloads": {workload.name: {"bench": workload.program or workload.bench, **workload.settings} for workload in study.workloads},
            "metric_units": bench.metrics, "setting_units": {name: bench.settings[name].get("unit", "") for name in study.varied},
            "model": bench.model, "version": version(), "host": socket.gethostname(),
            "written": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "command": shlex.join(["./vireo", "explore", *sys.argv[1:]])}


def explore(options: argparse.Namespace) -> int:
    bench = Bench(options.bench, options.simulator)
    study = study_file.read(options.study, bench, options.overrides, options.sweep, options.area, options.bottleneck)
    folder = options.out or ROOT / "results" / study.name
    share = options.index
    if study.search:
        return explore_search(options, study, bench, folder)
    points = study.points(bench)
    mine = [point for point in points if share is None or point.number % share[1] == share[0]]
    # Points that differ in what one workload does not use share its run.
    runs = list({run.id(): run for point in mine for group in point.runs.values() for run in group}.values())
    if options.dry_run:
        return plan(options, study, bench, mine, runs, folder)
    store = Store(folder, study)
    if options.slurm:
        # Without the folder's lock: the tasks hold those of their shares.
        slurm.Slurm(options.slurm, shlex.split(options.slurm_options), store, slurm_command(options, folder), study.timeout_s, options.retry,
                    options.quiet).run(points)
        options.retry = False
    with store.lock(share):
        for other in options.merge:
            print(f"{other}: {store.take(other)} records", file=sys.stderr)
        todo = runner.unfinished(store, runs, study.timeout_s, options.retry, options.resume)
        print(f"{study.name}: {len(mine)} points, {len(runs)} runs, {len(runs) - len(todo)} finished before", file=sys.stderr)
        with runner.Progress(len(todo), options.quiet) as progress:
            runner.execute(bench, store, todo, study.timeout_s, options.jobs, progress)
        if not options.quiet and (figures := progress.figures()):
            print(figures)
        if share is not None:
            table, _ = results.rows(study, bench, store, mine, is_whole=False)
            return summary(folder, study, table, share)
        return finish(options, study, bench, store, points)


def slurm_command(options: argparse.Namespace, folder: pathlib.Path) -> list[str]:
    """Of a task, without its share."""
    settings = [word for name in options.overrides for word in ("--set", name)]
    settings += [word for name in options.sweep for word in ("--sweep", name)]
    settings += ["--area", options.area] if options.area else []
    settings += ["--bottleneck"] if options.bottleneck else []
    return [*slurm.program(), str(options.study.resolve()), *settings, "--out", str(folder.resolve()), "--bench", str(options.bench.resolve()),
            "--simulator", str(options.simulator.resolve())]


def explore_search(options: argparse.Namespace, study: Study, bench: Bench, folder: pathlib.Path) -> int:
    import search  # needs the packages of build/venv

    assert study.search is not None
    if options.index or options.slurm:
        raise StudyError("--index, --slurm: each point of a [search] depends on those before it; a search has no shares", study.file)
    study.check_number()
    runs = study.search.points * len(study.seeds) * len(study.workloads)
    if options.dry_run:
        print(f"{study.name}: at most {study.search.points} points, {runs} runs, by {study.search.method}")
        return 0
    store = Store(folder, study)
    with store.lock(None):
        print(f"{study.name}: a search of {study.search.points} points, at most {runs} runs", file=sys.stderr)
        with runner.Progress(runs, options.quiet) as progress:
            points = search.points(study, bench, store, options.jobs, options.retry, options.resume, progress, area_of(options, study))
        if not options.quiet and (figures := progress.figures()):
            print(figures)
        return finish(options, study, bench, store, points)


def area_of(options: argparse.Namespace, study: Study) -> "Area | None":
    if not study.area:
        return None
    from area import Area

    return Area(study.area, options.jobs, (lambda text: None) if options.quiet else confirm_module.say, study.area_blocks,
                lambda text: study.source.error(("results", "area_blocks"), text))


def finish(options: argparse.Namespace, study: Study, bench: Bench, store: Store, points: list[Point]) -> int:
    """After all runs: writes the results."""
    table, _ = results.rows(study, bench, store, points, area_of(options, study))
    confirmed = confirm(options, study, bench, store, points, table) if options.confirm else []
    import report  # needs the packages of build/venv

    results.write(store.folder, results.frame(study, table))
    about = manifest(options, study, bench, table, len(points))
    store.write_manifest(about)
    figures = report.write(store.folder / "report.html", study, bench, table, about, confirmed)
    if options.charts:
        report.charts(store.folder / "charts", figures)
    bad = summary(store.folder, study, table, None)
    return 1 if any(result.reason for result in confirmed) else bad


def confirm(options: argparse.Namespace, study: Study, bench: Bench, store: Store, points: list[Point],
            table: list[dict[str, object]]) -> list[Confirmed]:
    chosen = confirm_module.chosen(study, points, table, options.confirm_points)
    confirmer = confirm_module.Confirmer(bench, confirm_module.verilated(options.rtl_bench), store, study, options.jobs,
                                         (lambda text: None) if options.quiet else confirm_module.say, options.quiet)
    result = confirmer.points(chosen)
    for one in result:
        print(one.text())
    print(confirm_module.summary(result))
    return result


def summary(folder: pathlib.Path, study: Study, table: list[dict[str, object]], share: tuple[int, int] | None) -> int:
    status = Counter(str(row["status"]) for row in table)
    print(f"{study.name}: {len(table)} rows: " + ", ".join(f"{number} {name}" for name, number in status.most_common()))
    bad: dict[str, list[object]] = {}
    for row in table:
        if row["status"] != "ok":
            bad.setdefault(f"{row['status']}: {row['reason']}", []).append(row["point"])
    for reason, where in list(bad.items())[:5]:
        print(f"  {len(where)} {reason} (first: point {where[0]})")
    if share is not None:
        print(f"share {share[0]}/{share[1]} is done; when all are, the command without --index writes the results")
    else:
        front = len({row["point"] for row in table if row["pareto"]})
        if why := results.unmet(study, table):
            print(f"vireo explore: {why}", file=sys.stderr)
            bad[why] = []
        if study.objectives:
            print(f"{front} points on the Pareto front of {', '.join(study.objectives)}")
        print(f"{folder}/report.html")
    return 1 if bad else 0


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    try:
        return explore(options)
    except StudyError as error:
        print(f"vireo explore: {error}", file=sys.stderr)
        return 2
    except OSError as error:  # for instance a full disk
        print(f"vireo explore: {error.filename or 'file'}: {error.strerror}; what is finished is kept, the same command continues",
              file=sys.stderr)
        return 2
    except (KeyboardInterrupt, Stopped):
        print("vireo explore: interrupted; the same command continues", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
