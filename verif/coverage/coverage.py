#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""RTL coverage of the tests: builds tests with Verilator's coverage, runs them, and merges the counts of all processes into
one report. Command: `./vireo coverage`.

Lines and branches are those of rtl/, added up over all instances and parameterizations of a module. User points
(verif/sva/*_cov.sv) count for the module that contains them, so that block tests and the whole device add up."""

import argparse
import concurrent.futures
import html
import json
import os
import pathlib
import re
import resource
import shlex
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "verif/repo"))
import generated  # noqa: E402  pylint: disable=wrong-import-position

PAGE = ROOT / "docs/coverage.md"
BUILD = ROOT / "build/coverage"
PROGRAMS = r"verif\.(common|dma|virtio|ctrl|eth|rdma|mac|card|pcie|cosim)\."
# GoogleTest filter for whole-NIC programs, which have tests of every device; the others run all their tests.
COSIM = "*/rtl_*"
# Pipeline stages between two handshakes: their points count for the module that instantiates them.
STAGES = {"vireo_slice", "vireo_fifo"}


def die(text):
    sys.exit(f"vireo coverage: {text}")


def info(text):
    print(text, file=sys.stderr, flush=True)


# --- Building and running


class Program:
    """A test program with RTL: what builds it, and the command that runs it."""

    def __init__(self, target, command, folder):
        self.target, self.command, self.folder = target, [str(word) for word in command], folder


def cocotb_programs(build):
    """name -> Program, of the modules of tests by cocotb."""
    found = {}
    for file in sorted((pathlib.Path(build) / "cocotb").glob("*.json")):
        top = json.loads(file.read_text(encoding="utf-8"))
        for test in top["tests"]:
            found[f"verif.{top['area']}.{test}.{top['config']}"] = Program(
                f"{top['top']}_{top['config']}",
                [ROOT / "build/venv/bin/python", ROOT / "verif/common/run_cocotb.py", "test", top["folder"], top["top"], top["config"],
                 f"{test}_test", *top["folders"]], ROOT)
    return found


def programs(build, pattern):
    """name -> Program, of the test programs whose name matches the pattern."""
    try:
        wanted = re.compile(pattern)
    except re.error as error:
        die(f"{pattern!r} is not a regular expression: {error}")
    listing = subprocess.run(["ninja", "-C", build, "-t", "targets", "all"], capture_output=True, text=True, check=False)
    if listing.returncode != 0:
        die(f"{build} is not configured; run ./vireo coverage, or: cmake --preset coverage\n{listing.stderr.strip()}")
    found = {name: program for name, program in cocotb_programs(build).items() if wanted.search(name)}
    for line in listing.stdout.splitlines():
        match = re.match(r"(\S+/(verif\.[\w.]+)): CXX_EXECUTABLE_LINKER", line)
        if match and wanted.search(match[2]):
            path = pathlib.Path(build) / match[1]
            found[match[2]] = Program(match[2], [path], path.parent)
    if not found:
        die(f"no test program matches {pattern!r}; --list shows all")
    return dict(sorted(found.items()))


def build_them(build, targets, jobs):
    info(f"building {len(targets)} test programs in {build}; the first build takes minutes for each")
    if subprocess.run(["cmake", "--build", build, "-j", str(jobs), "--target", *targets], stdout=sys.stderr, check=False).returncode != 0:
        die("build failed, see above; ./vireo build checks whether the tree builds without coverage")


def run_one(name, program, data, cosim, timeout):
    """(name, seconds, error or "", output)."""
    command = program.command + ([f"--gtest_filter={cosim}"] if name.startswith("verif.cosim.") else [])
    environment = os.environ | {"VIREO_COVERAGE_DIR": str(data), "SYSTEMC_DISABLE_COPYRIGHT_MESSAGE": "1"}
    begin = time.monotonic()
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                              env=environment, cwd=program.folder, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        return name, time.monotonic() - begin, f"timeout after {timeout} s", ""
    what = "" if done.returncode == 0 else f"exit status {done.returncode}"
    return name, time.monotonic() - begin, what, done.stdout


def run_all(found, output, options):
    """Runs all programs; returns the names of failed ones. Their counts are kept."""
    data = output / "data"
    shutil.rmtree(data, ignore_errors=True)
    data.mkdir(parents=True)
    failed = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        runs = [pool.submit(run_one, name, program, data, options.cosim, options.timeout) for name, program in found.items()]
        for number, run in enumerate(concurrent.futures.as_completed(runs), 1):
            name, seconds, what, text = run.result()
            info(f"[{number}/{len(found)}] {name} {seconds:.1f} s{': ' + what if what else ''}")
            if what:
                failed.append(name)
                log = output / f"{name}.log"
                log.write_text(text, encoding="utf-8")
                info(f"  output: {log}")
    return failed


def merge(output):
    """Merges the counts into one file and writes an annotated listing of each source, by verilator_coverage."""
    parts = sorted((output / "data").glob("*.dat"))
    if not parts:
        die("no test wrote coverage data: none of them has RTL, or all aborted (see above)")
    merged = output / "merged.dat"
    annotated = output / "annotated"
    shutil.rmtree(annotated, ignore_errors=True)
    for arguments in (["--write", merged, *parts], ["--annotate", annotated, "--annotate-all", merged]):
        try:
            done = subprocess.run(["verilator_coverage", *arguments], capture_output=True, text=True, check=False)
        except FileNotFoundError:
            die("verilator_coverage not found; ./vireo setup installs the package verilator")
        if done.returncode != 0:
            die(f"verilator_coverage: {done.stderr.strip() or done.stdout.strip()}")
    return merged


# --- Reading


def read_points(text):
    """Each point of Verilator's file: a dict of its keys, and `count`."""
    points = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("#"):
            continue
        match = re.fullmatch(r"C '(.*)' (\d+)", line)
        if not match:
            die(f"line {number} is not coverage data: {line!r}")
        point = dict(pair.split("\x02", 1) for pair in match[1].split("\x01") if "\x02" in pair)
        point["count"] = int(match[2])
        points.append(point)
    return points


def lines_of(point):
    """The lines that a point covers."""
    lines = set()
    for part in point.get("S", "").split(","):
        if part:
            first, _, last = part.partition("-")
            lines.update(range(int(first), int(last or first) + 1))
    return lines


def module_of(page):
    """Module name without the parameters that Verilator appends."""
    return re.sub(r"__[A-Z].*$", "", page.partition("/")[2])


class Module:
    """Coverage of one source file of rtl/."""

    def __init__(self):
        self.points = {}  # (line, column, comment) -> count: lines and branches
        self.branches = set()  # the keys of branches
        self.lines = {}  # line -> {key}
        self.user = {}  # name -> count

    def add(self, point):
        key = (int(point["l"]), int(point["n"]), point["o"])
        self.points[key] = self.points.get(key, 0) + point["count"]
        if point["page"].startswith("v_branch"):
            self.branches.add(key)
        for line in lines_of(point) | {key[0]}:
            self.lines.setdefault(line, set()).add(key)

    def line_state(self, line):
        """Which of the line's points are covered: "all", "some", "none"; "" if it has none."""
        counts = [self.points[key] != 0 for key in self.lines.get(line, ())]
        if not counts:
            return ""
        return "all" if all(counts) else "some" if any(counts) else "none"

    def figures(self):
        """(covered, total) of lines, branches and user points."""
        states = [self.line_state(line) for line in self.lines]
        return ((sum(state != "none" for state in states), len(states)),
                (sum(self.points[key] != 0 for key in self.branches), len(self.branches)),
                (sum(count != 0 for count in self.user.values()), len(self.user)))


def user_point(hierarchy, modules):
    """(module, name) of a user point; the module is empty if the instance's module is unknown."""
    *path, label = hierarchy.split(".")
    cover = path.pop()  # the instance of the cover module
    name = re.sub(r"^u_(cov_)?", "", cover)
    if cover.startswith("u_stream"):
        name = label
    owner = ".".join(path)
    inside = []
    while path and modules.get(".".join(path), "") in STAGES | {""} and len(path) > 2:
        inside.insert(0, re.sub(r"^u_", "", path.pop()))
    owner = modules.get(".".join(path), "") or modules.get(owner, "")
    return owner, ": ".join([*([".".join(inside)] if inside else []), name])


def analyse(points, rtl):
    """source -> Module, for the sources in the folder rtl."""
    result = {}
    modules = {}  # instance -> its module
    for point in points:
        if point["page"].startswith(("v_line", "v_branch")):
            modules[point["h"]] = module_of(point["page"])
            source = pathlib.Path(point["f"])
            if source.is_relative_to(rtl):
                result.setdefault(source, Module()).add(point)
    by_name = {source.stem: module for source, module in result.items()}
    for point in points:
        if not point["page"].startswith("v_user"):
            continue
        owner, name = user_point(point["h"], modules)
        if owner in by_name:
            user = by_name[owner].user
            user[name] = user.get(name, 0) + point["count"]
    return dict(sorted(result.items()))


# --- Reporting


def share(figures):
    hit, total = figures
    return f"{hit}/{total}" if total else "-"


def percent(figures):
    hit, total = figures
    return f"{100 * hit / total:.1f} %" if total else "-"


def total_of(result):
    sums = [[0, 0], [0, 0], [0, 0]]
    for module in result.values():
        for sum_, (hit, total) in zip(sums, module.figures()):
            sum_[0] += hit
            sum_[1] += total
    return tuple(map(tuple, sums))


def rows_of(result):
    rows = [(source.stem.removeprefix("vireo_"), module.figures()) for source, module in result.items()]
    return rows + [("total", total_of(result))]


def table(result, markdown=False):
    lines = []
    if markdown:
        lines += ["| module | lines | | branches | | user points | |", "|---|---:|---:|---:|---:|---:|---:|"]
    else:
        lines += [f"{'module':18} {'lines':>11} {'':>8} {'branches':>11} {'':>8} {'user points':>11}"]
    for name, figures in rows_of(result):
        cells = [text for one in figures for text in (share(one), percent(one))]
        if markdown:
            lines.append("| " + " | ".join([name, *cells]) + " |")
        else:
            lines.append(f"{name:18} " + " ".join(f"{cell:>{width}}" for cell, width in zip(cells, (11, 8) * 3)))
    return "\n".join(lines)


STYLE = """
body { font: 14px sans-serif; margin: 2em; } table { border-collapse: collapse; } td, th { padding: 2px 12px; text-align: right; }
td:first-child, th:first-child { text-align: left; } tr:nth-child(even) { background: #f4f4f4; }
pre { margin: 0; line-height: 1.25; } pre span { display: block; } .n { color: #888; }
.all { background: #dff5df; } .some { background: #fff3c4; } .none { background: #fbd5d5; }
ul { columns: 3; } summary { cursor: pointer; font-weight: bold; padding: 6px 0; }
"""


def page(result, title):
    """The report as one HTML file: the table, and each source with coloured lines."""
    out = ["<!DOCTYPE html><html lang='en'><head><meta charset='utf-8'>",
           f"<title>{html.escape(title)}</title><style>{STYLE}</style></head><body><h1>{html.escape(title)}</h1>",
           "<p><span class='all'>covered</span>, <span class='some'>some branches covered</span>, "
           "<span class='none'>not covered</span>. Number before a line: count of its least covered point.</p>",
           "<table><tr><th>module</th><th>lines</th><th></th><th>branches</th><th></th><th>user points</th><th></th></tr>"]
    for name, figures in rows_of(result):
        link = name if name == "total" else f"<a href='#{name}'>{name}</a>"
        cells = "".join(f"<td>{share(one)}</td><td>{percent(one)}</td>" for one in figures)
        out.append(f"<tr><td>{link}</td>{cells}</tr>")
    out.append("</table>")
    for source, module in result.items():
        name = source.stem.removeprefix("vireo_")
        out.append(f"<details id='{name}'><summary>{name}</summary>")
        if module.user:
            items = "".join(f"<li class='{'all' if count else 'none'}'>{html.escape(point)} {count}</li>"
                            for point, count in sorted(module.user.items()))
            out.append(f"<ul>{items}</ul>")
        out.append("<pre>")
        for number, text in enumerate(source.read_text(encoding="utf-8").splitlines(), 1):
            counts = [module.points[key] for key in module.lines.get(number, ())]
            count = f"{min(counts):>10}" if counts else " " * 10
            out.append(f"<span class='{module.line_state(number)}'><span class='n' style='display:inline'>{number:5} "
                       f"{count}</span>  {html.escape(text)}</span>")
        out.append("</pre></details>")
    out.append("<script>addEventListener('hashchange',()=>{const e=document.getElementById(location.hash.slice(1));"
               "if(e){e.open=true;e.scrollIntoView();}});</script></body></html>")
    return "\n".join(out)


def missing(result):
    """The uncovered user points, by module."""
    lines = []
    for source, module in result.items():
        names = sorted(name for name, count in module.user.items() if count == 0)
        if names:
            lines.append(f"{source.stem.removeprefix('vireo_')}: {', '.join(names)}")
    return "\n".join(lines)


def joined(before, rows):
    """The table of `before` with these rows in place of those of the same modules, new ones behind them, and the total of all."""
    old = {cells[0]: cells for cells in (re.split(r" *\| *", line)[1:-1] for line in before.splitlines() if line.startswith("| "))}
    rows = {row[0]: row for row in rows}
    cells = [rows.get(name, row) for name, row in old.items() if name not in ("module", "total")]
    cells += [row for name, row in rows.items() if name not in old]
    totals = []
    for column in (1, 3, 5):
        shares = [tuple(map(int, row[column].split("/"))) for row in cells if "/" in row[column]]
        figures = (sum(hit for hit, _ in shares), sum(total for _, total in shares))
        totals += [share(figures), percent(figures)]
    return [*cells, ["total", *totals]]


def update_page(result, names, seconds, options):
    """Writes the generated block of docs/coverage.md: the rows of the folders whose tests ran. With the page's own command also its head."""
    areas = {name.split(".")[1] for name in names}
    own = {source: module for source, module in result.items() if source.parent.name in areas}
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table(own, True).splitlines()[2:-1]]
    before = generated.one(PAGE, "./vireo coverage")
    lines = [*table({}, True).splitlines()[:2], *("| " + " | ".join(row) + " |" for row in joined(before.text, rows))]
    words = ["./vireo coverage", *([shlex.quote(options.tests)] if options.tests != PROGRAMS else []),
             *(["--cosim", shlex.quote(options.cosim)] if options.cosim != COSIM else []), "--update"]
    command = " ".join(words)
    head = before.text.partition("| module |")[0].rstrip()
    if command == before.command:
        head = f"{len(names)} test programs, {seconds:.0f} s of CPU, all passed:\n\n```\n{command}\n```"
    generated.replace(PAGE, "./vireo coverage", "\n".join([head, "", *lines]))
    print(f"wrote {len(rows)} rows of {PAGE.relative_to(ROOT)}", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(prog="./vireo coverage", description="RTL coverage of the tests: lines, branches and user "
                                     "points. Builds in build/coverage, prints a table and writes an HTML page.")
    parser.add_argument("tests", nargs="?", default=PROGRAMS, metavar="REGEX",
                        help="test programs whose names match; default: all blocks and whole NICs, %(default)s")
    parser.add_argument("--list", action="store_true", help="list the test programs")
    parser.add_argument("--cosim", default=COSIM, metavar="FILTER",
                        help="GoogleTest filter for whole-NIC programs (default: %(default)s); for example '*/rtl_nic1*'")
    parser.add_argument("--no-run", action="store_true", help="do not run tests; report the last run again")
    parser.add_argument("--missing", action="store_true", help="also list the uncovered user points")
    parser.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="programs in parallel (default: %(default)s)")
    parser.add_argument("--timeout", type=int, default=3600, help="seconds per program (default: %(default)s)")
    parser.add_argument("--output", type=pathlib.Path, default=BUILD / "report", metavar="DIR",
                        help="folder for data, annotated listings and page (default: build/coverage/report)")
    parser.add_argument("--build", type=pathlib.Path, default=BUILD, help=argparse.SUPPRESS)
    parser.add_argument("--update", action="store_true", help="write the table of docs/coverage.md")
    options = parser.parse_args()
    output = options.output.resolve()
    failed = []
    if options.update and options.no_run:
        parser.error("--update writes what this run counts; leave out --no-run")
    if not options.no_run:
        found = programs(options.build, options.tests)
        if options.list:
            print("\n".join(found))
            return 0
        build_them(options.build, sorted({program.target for program in found.values()}), options.jobs)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        failed = run_all(found, output, options)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    elif not (output / "data").is_dir():
        die(f"no data in {output}; run without --no-run first")
    merged = merge(output)
    result = analyse(read_points(merged.read_text(encoding="utf-8")), ROOT / "rtl")
    if not result:
        die("no counts for rtl/; was the build configured with VIREO_COVERAGE?")
    index = output / "index.html"
    index.write_text(page(result, "Vireo: RTL coverage"), encoding="utf-8")
    print(table(result, options.markdown))
    if options.update and not failed:
        update_page(result, found, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, options)
    if options.missing:
        print("\nnot covered:\n" + (missing(result) or "none"))
    info(f"page: {index}\nlistings: {output / 'annotated'}")
    if failed:
        die(f"tests failed, so the figures are not reliable: {' '.join(failed)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
