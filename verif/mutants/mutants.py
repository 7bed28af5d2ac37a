#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Mutation testing: injects the faults of mutants.toml into the RTL and checks that the whole-NIC tests detect them in
lockstep. Command: `./vireo mutants`. With `--both` it injects those of both.toml into RTL and model alike: lockstep compares
equal, and the monitor or the tests' references must detect them.

All mutants are in one build. Generated copies of RTL and model select the active one by vireo_mutant(), which is constant for
a program's run (VIREO_MUTANT; 0: none). So a mutant costs a run, not a build."""

import argparse
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import time
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "verif/repo"))
import generated  # noqa: E402  pylint: disable=wrong-import-position
import shards  # noqa: E402  pylint: disable=wrong-import-position
from shards import job_array  # noqa: E402  pylint: disable=wrong-import-position

PAGE, COMMAND = ROOT / "docs/lockstep.md", "./vireo mutants --update"  # where the table of all is
LIST = pathlib.Path(__file__).with_name("mutants.toml")
BOTH_PAGE, BOTH_COMMAND = ROOT / "docs/monitor.md", "./vireo mutants --both --update"
BOTH_LIST = pathlib.Path(__file__).with_name("both.toml")
FIRST_BOTH = 1001  # number of the first of its faults; mutants.toml's count from 1
PACKAGE = """// SPDX-License-Identifier: Apache-2.0
package vireo_mutant_pkg;
  import "DPI-C" pure function int vireo_mutant();
endpackage
"""
# (name, GoogleTest filter, environment), in the order in which they run: lockstep on nic1.
STAGES = [
    ("write", "*/Write*.*/lockstep_nic1_*", {}),
    ("send", "*/Send.*/lockstep_nic1_*", {}),
    ("read", "*/*Read.*/lockstep_nic1_*", {}),
    ("atomic", "*/Atomic.*/lockstep_nic1_*", {}),
    ("uc", "*/Uc.*/lockstep_nic1_*", {}),
    ("windows", "*/Windows.*/lockstep_nic1_*", {}),
    ("fast_registration", "*/FastRegistration.*/lockstep_nic1_*", {}),
    ("cqe_elements", "*/CqeElements.*/lockstep_nic1_*", {}),
    ("datagram", "*/Datagram.*/lockstep_nic1_*", {}),
    ("net", "*/Net.*/lockstep_nic1_*", {}),
    ("loss", "*/Loss.*/lockstep_nic1_*", {}),
    ("random", "*/Random.*/lockstep_nic1_*", {"VIREO_RANDOM_ROUNDS": "3"}),
    ("frames", "*/Frames.*/lockstep_nic1", {"VIREO_FRAMES": "1500"}),
    ("errors", "*/Errors.*/lockstep_nic1", {}),
    ("more random", "*/Random.*/lockstep_nic1_*", {"VIREO_RANDOM_ROUNDS": "12", "VIREO_SEED": "2"}),
]

# Further ones for faults of both, which no lockstep sees: behind the others.
BOTH_STAGES = [
    ("fence", "*/Fence.*/lockstep_nic1", {}),
    ("long", "*/LongMessage.*/lockstep_nic1", {}),
    ("sqe", "*/Sqe*.*/lockstep_nic1_*", {}),
    ("rfc", "*/Rfc.*/lockstep_nic1_*", {}),
    ("descriptors", "*/Descriptors.*/lockstep_nic1_*", {}),
    ("drain", "*/Drain.*/lockstep_nic1_*", {}),
    ("payload", "*/Payload.*/lockstep_nic1_*", {}),
    ("passed replay", "*/PassedReplay.*/lockstep_nic1_*", {}),
    ("invalidate", "*/Invalidate.*/lockstep_nic1_*", {}),
    ("flushed read", "*/FlushedRead.*/lockstep_nic1_*", {}),
    ("atomic write", "*/AtomicWrite.*/lockstep_nic1_*", {}),
    ("flush", "*/Flush.*/lockstep_nic1_*", {}),
    ("multicast", "*/Multicast.*/lockstep_nic1_*", {}),
]


def load(path=LIST):
    """Faults of the RTL alone, numbered from 1."""
    mutants = tomllib.loads(path.read_text(encoding="utf-8"))["mutant"]
    for number, mutant in enumerate(mutants, 1):
        mutant["number"] = number
        mutant["rtl"] = [{key: mutant[key] for key in ("file", "search", "replace", "after") if key in mutant}]
        mutant["model"] = []
    return with_blocks(mutants)


def load_both():
    """Faults of RTL and model together; each side has at least one edit."""
    mutants = tomllib.loads(BOTH_LIST.read_text(encoding="utf-8"))["mutant"]
    for number, mutant in enumerate(mutants, FIRST_BOTH):
        mutant["number"] = number
        for side in ("rtl", "model"):
            if isinstance(mutant[side], dict):
                mutant[side] = [mutant[side]]
    return with_blocks(mutants)


def with_blocks(mutants):
    for mutant in mutants:
        mutant["block"] = pathlib.Path(mutant["rtl"][0]["file"]).stem.removeprefix("vireo_")
    return mutants


def locate(edit, text):
    """Position of its search text, or an error message."""
    start = 0
    if "after" in edit:
        if text.count(edit["after"]) != 1:
            return f"`after` occurs {text.count(edit['after'])} times in {edit['file']}"
        start = text.index(edit["after"]) + len(edit["after"])
    count = text.count(edit["search"], start)
    return text.index(edit["search"], start) if count == 1 else f"`search` occurs {count} times in {edit['file']}"


def stale(mutants):
    """Mutants with an edit whose search text is not found, with the reason."""
    result = {}
    for mutant in mutants:
        for edit in mutant["rtl"] + mutant["model"]:
            path = ROOT / edit["file"]
            where = locate(edit, path.read_text(encoding="utf-8")) if path.exists() else f"no such file: {edit['file']}"
            if isinstance(where, str):
                result[mutant["name"]] = where
    return result


def mutate(path, mutants, side):
    """The file's text with a run-time selection in place of each mutated text. Edits of one file must not overlap, but
    several mutants may replace the same text."""
    text = (ROOT / path).read_text(encoding="utf-8")
    edits = {}
    for mutant in mutants:
        for edit in mutant[side]:
            if edit["file"] == path:
                edits.setdefault((locate(edit, text), edit["search"]), []).append((mutant["number"], edit["replace"]))
    begins = len(text)  # of the edit behind it
    for (at, original), others in sorted(edits.items(), reverse=True):
        if at + len(original) > begins:
            sys.exit(f"{path}: mutants overlap at '{original}'")
        begins = at
        choice = original
        port, _, connected = original.partition("(")
        if original.startswith("."):
            choice = connected.removesuffix(")")
        for number, other in others:
            if side == "rtl":
                chosen = f"vireo_mutant_pkg::vireo_mutant() == 32'd{number}"
                begin, end = "begin", "end"
            else:
                chosen = f"vireo_mutant() == {number}"
                begin, end = "{", "}"
            if original.endswith(";"):
                choice = f"if ({chosen}) {begin} {other} {end} else {begin} {choice} {end}"
            else:
                choice = f"(({chosen}) ? ({other}) : ({choice}))"
        if original.startswith("."):
            choice = f"{port}({choice})"
        text = text[:at] + choice + text[at + len(original):]
    return 'extern "C" int vireo_mutant();\n' + text if edits and side == "model" else text


def generate(directory):
    """Writes every source of rtl/sources.f, and of model/, with its mutants; an unchanged file is not rewritten."""
    mutants = load() + load_both()
    skipped = stale(mutants)
    for name, why in skipped.items():
        print(f"mutant {name} skipped: {why}", file=sys.stderr)
    mutants = [mutant for mutant in mutants if mutant["name"] not in skipped]
    texts = {"vireo_mutant_pkg.sv": PACKAGE}
    for line in (ROOT / "rtl/sources.f").read_text(encoding="utf-8").split("\n"):
        if line and not line.startswith("#"):
            texts[pathlib.Path(line).name] = mutate(line, mutants, "rtl")
    for source in sorted((ROOT / "model").rglob("*")):
        if source.suffix in (".cc", ".h"):
            path = str(source.relative_to(ROOT))
            texts[path] = mutate(path, mutants, "model")
    for name, text in texts.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def run(program, number, stage, timeout):
    """(failed, first sign of the failure, seconds)."""
    _, tests, settings = stage
    environment = os.environ | {"VIREO_MUTANT": str(number), "VIREO_WAVEFORM": "off", "VIREO_SEED": "1",
                                "VIREO_STOP_AT_MISMATCH": "1"} | settings
    begin = time.monotonic()
    try:
        done = subprocess.run([program, f"--gtest_filter={tests}", "--gtest_fail_fast"], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", check=False, env=environment,
                              timeout=timeout)
    except subprocess.TimeoutExpired:
        return True, f"timeout after {timeout} s", time.monotonic() - begin  # for instance a hung device
    seconds = time.monotonic() - begin
    if done.returncode == 0:
        if not re.search(r"\[  PASSED  \] [1-9]", done.stdout):
            sys.exit(f"{program} has no tests that match {tests}")
        return False, "", seconds
    mismatch = re.search(r"LOCKSTEP MISMATCH: (.*)", done.stdout)
    if mismatch:
        return True, mismatch.group(1), seconds
    if done.returncode < 0:
        lines = done.stdout.strip().splitlines()
        return True, f"signal {-done.returncode}: {lines[-1] if lines else ''}", seconds
    table = re.search(r"^-?total +(\d+) +(\d+)", done.stdout, re.MULTILINE)
    if table and table.group(1) != table.group(2):
        return True, f"{int(table.group(1)) - int(table.group(2))} of {table.group(1)} events in a different cycle", seconds
    failure = re.search(r"^.*: Failure\n(.*)", done.stdout, re.MULTILINE)
    return True, failure.group(1).strip() if failure else f"exit status {done.returncode}", seconds


# --- Faults of both ----------------------------------------------------------------------------------------------------------


def execute(program, number, tests, settings, timeout):
    """(exit status or None if it took too long, output, seconds)."""
    environment = os.environ | {"VIREO_MUTANT": str(number), "VIREO_WAVEFORM": "off", "VIREO_SEED": "1",
                                "VIREO_STOP_AT_MISMATCH": "1"} | settings
    begin = time.monotonic()
    try:
        done = subprocess.run([program, f"--gtest_filter={tests}", "--gtest_fail_fast"], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", check=False, env=environment,
                              timeout=timeout)
    except subprocess.TimeoutExpired as late:
        output = late.stdout or b""
        return None, output.decode(errors="replace") if isinstance(output, bytes) else output, time.monotonic() - begin
    if not re.search(r"\[==========\] Running [1-9]", done.stdout):
        sys.exit(f"{program} has no tests that match {tests}")
    return done.returncode, done.stdout, time.monotonic() - begin


def rules_of(output):
    """Names of the monitor's rules that were reported, in the order of their first reports."""
    first = {}
    for rule, cycle in re.findall(r"monitor: ([a-z]+\.[a-z_]+): nic \d+, cycle (\d+): ", output):
        first[rule] = min(first.get(rule, int(cycle)), int(cycle))
    return sorted(first, key=lambda rule: first[rule])


def reference_of(status, output):
    """What a test's reference found, in a few words; empty: nothing."""
    if status is None:
        return "the test does not end"
    if status < 0:
        lines = output.strip().splitlines()
        return f"signal {-status}: {lines[-1] if lines else ''}"
    for text in re.split(r"^\S*: Failure\n", output, flags=re.MULTILINE)[1:]:
        lines = [line.strip() for line in re.split(r"\n\n|\n\[ ", text)[0].splitlines()]
        if "Violations()" in text:
            seam = re.search(r'"(nic\d+[^"]*)', text)
            if seam and "monitor: " not in seam[1].split("\\n")[0]:
                return seam[1].split("\\n")[0]
            continue
        return " ".join(lines[1:3] if lines[0] in ("Failed", "Expected equality of these values:") else lines[:3])[:120]
    return ""


def common(program, mutant, failed, settings, timeout):
    """Why the fault is none of both, because lockstep reports a difference; empty: it is. `failed`: the test that detects it
    on the model alone; none: one that passes."""
    tests = failed.replace("/model_", "/lockstep_") if failed else "*/Write.*/lockstep_nic1_*"
    status, output, _ = execute(program, mutant["number"], tests, settings, timeout)
    mismatch = re.search(r"LOCKSTEP MISMATCH: (.*)", output)
    if mismatch:
        return mismatch[1]
    for count, exact in re.findall(r"(?:^|\\n)-?total +(\d+) +(\d+)", output, re.MULTILINE):
        if count != exact:
            return f"{int(count) - int(exact)} of {count} events in a different cycle"
    if failed and status == 0:
        return f"{tests} passes in lockstep"
    return ""


def run_both(options, chosen):
    """Each fault on the model until a test fails, then that test in lockstep."""
    stages = STAGES + BOTH_STAGES
    results = []
    if not options.names:
        for _, tests, settings in stages:
            status, output, _ = execute(options.program, 0, tests.replace("lockstep_", "model_"), settings, options.timeout)
            if status != 0:
                sys.exit(f"without a fault {tests} fails: {reference_of(status, output)} {' '.join(rules_of(output))}")
    for mutant in chosen:
        begin = time.monotonic()
        by, sign, seconds, failed, used, kind, unequal = "", "", 0.0, "", {}, "", ""
        for name, tests, settings in sorted(stages, key=lambda stage: stage[0] != mutant.get("first")):
            status, output, one = execute(options.program, mutant["number"], tests.replace("lockstep_", "model_"), settings,
                                          options.timeout)
            seconds += one
            if status == 0:
                continue
            rules, reference = rules_of(output), reference_of(status, output)
            failed = failed_test(output)
            by = ", ".join([f"`{rule}`" for rule in rules] + (["reference"] if reference else []))
            sign = reference or first_report(output)
            kind = ("alone" if not reference else "joint") if rules else "references"
            used = settings
            break
        else:
            by, name = "none", ""
        if not options.model_only:
            unequal = common(options.program, mutant, failed, used, options.timeout)
        sign = sign.replace("|", "\\|")
        results.append({"name": mutant["name"], "caught": bool(failed), "seconds": time.monotonic() - begin, "kind": kind, "unequal": unequal,
                        "row": f"| `{mutant['name']}` | {mutant['fault']} | {name} | {by} | {sign} |"})
        print(f"{'caught' if failed else 'SURVIVED':9} {mutant['name']:22} {seconds:6.1f} s  {name:12} {by:40} {sign}", flush=True)
    return results


def cells_of(row):
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]]


def rows_of(before, results, names):
    """The rows of all mutants, of which `results` may have only some: the others' are those of the page, whose text is `before`."""
    rows = {cells_of(row)[0].strip("`"): row for row in re.findall(r"^\| `.*", before, re.MULTILINE)}
    rows |= {one["name"]: one["row"] for one in results}
    return [rows[name] for name in names if name in rows]


def table_of(page, command, results, names):
    """(rows of the table, minutes)."""
    before = generated.text_of(page, command)
    minutes = sum(one["seconds"] for one in results) / 60
    if len(results) < len(names):
        minutes = float(re.search(r" in (\d+) minutes", before)[1])  # of the run of all
    return rows_of(before, results, names), minutes


def score_of_both(rows):
    """One sentence, from the column `detected by`."""
    found = [cells_of(row)[3] for row in rows]
    by_monitor = [by for by in found if "`" in by]
    return (f"{sum(by != 'none' for by in found)} of {len(found)} faults caught: {len(by_monitor)} by the monitor, of "
            f"these {sum('reference' not in by for by in by_monitor)} by it alone; {found.count('reference')} by references alone")


def report_both(results, update, names):
    """Prints the score and writes the table of BOTH_PAGE. The exit code."""
    print(score_of_both([one["row"] for one in results]))
    for one in results:
        if one["unequal"]:
            print(f"NOT THE SAME FAULT in RTL and model: {one['name']}: {one['unequal']}")
    if update:
        rows, minutes = table_of(BOTH_PAGE, BOTH_COMMAND, results, names)
        generated.replace(BOTH_PAGE, BOTH_COMMAND, "\n".join([
            f"{score_of_both(rows)}. On nic1, in {minutes:.0f} minutes.", "",
            "| fault of both | what is wrong | test | detected by | first sign |", "|---|---|---|---|---|", *rows]))
        print(f"wrote {BOTH_PAGE.relative_to(ROOT)}")
    return 0 if all(one["caught"] and not one["unequal"] for one in results) else 1


def failed_test(output):
    """The test that failed, or in which the program ended."""
    failed = re.search(r"^\[  FAILED  \] (\S+), where", output, re.MULTILINE)
    return failed[1] if failed else re.findall(r"^\[ RUN      \] (\S+)", output, re.MULTILINE)[-1]


def first_report(output):
    """The monitor's report with the least cycle, without its source."""
    reports = re.findall(r"monitor: [a-z]+\.[a-z_]+: nic \d+, cycle (\d+): (seen .*?) \[", output)
    return min(reports, key=lambda report: int(report[0]))[1][:120] if reports else ""


def run_rtl(options, chosen):
    """Each fault of the RTL in lockstep until a test fails."""
    results = []
    for stage in STAGES if not options.names else STAGES[:1]:
        failed, what, _ = run(options.program, 0, stage, options.timeout)
        if failed:
            sys.exit(f"the unmutated RTL fails in {stage[0]}: {what}")
    for mutant in chosen:
        failed, what, by, seconds = False, "", "none", 0.0
        for stage in sorted(STAGES, key=lambda stage: stage[0] != mutant.get("first")):
            failed, what, one = run(options.program, mutant["number"], stage, options.timeout)
            seconds += one
            if failed:
                by = stage[0]
                break
        results.append({"name": mutant["name"], "caught": failed, "seconds": seconds,
                        "row": f"| `{mutant['name']}` | {mutant['fault']} | {by} | {what} |"})
        if options.markdown:
            print(results[-1]["row"], flush=True)
        else:
            print(f"{'caught' if failed else 'SURVIVED':9} {mutant['name']:24} by {by:12} {seconds:6.1f} s  {what}", flush=True)
    return results


def report_rtl(results, update, names):
    """Prints the score and writes the table of PAGE. The exit code."""
    caught = sum(one["caught"] for one in results)
    print(f"{caught} of {len(results)} mutants caught")
    if update:
        rows, minutes = table_of(PAGE, COMMAND, results, names)
        generated.replace(PAGE, COMMAND, "\n".join([
            f"{sum(cells_of(row)[2] != 'none' for row in rows)} of {len(rows)} mutants caught on nic1, in {minutes:.0f} minutes of one core.", "",
            "| mutant | fault | detected by | first sign |", "|---|---|---|---|", *rows]))
        print(f"wrote {PAGE.relative_to(ROOT)}")
    return 0 if caught == len(results) else 1


def report(results, options):
    names = [mutant["name"] for mutant in (load_both() if options.both else load())]
    return (report_both if options.both else report_rtl)(results, options.update, names)


def merge(files, names, parser):
    """The results of all shares in the order of the list; each of `names` once."""
    found = {}
    for file in files:
        try:
            results = json.loads(file.read_text(encoding="utf-8"))["results"]
        except (OSError, ValueError, KeyError, TypeError):
            parser.error(f"{file}: no results of --results")
        for one in results:
            if one["name"] in found:
                parser.error(f"{file}: {one['name']} is in another file too: these are not the shares of one run")
            if one["name"] not in names:
                parser.error(f"{file}: {one['name']} is no mutant of this run")
            found[one["name"]] = one
    if missing := [name for name in names if name not in found]:
        parser.error(f"{len(missing)} mutants are in no file, the first one is {missing[0]}: a share is missing")
    return [found[name] for name in names]


def by_slurm(options):
    """Files with the results of all shares, by a job array on a folder that all machines see."""
    folder = options.slurm_folder or ROOT / "build/slurm" / ("mutants-both" if options.both else "mutants")
    program = pathlib.Path(options.program).resolve()
    command = [sys.executable, str(pathlib.Path(__file__).resolve()), *options.names, "--program", str(program), "--timeout", str(options.timeout),
               *(["--both"] if options.both else []), *(["--model-only"] if options.model_only else [])]
    array = job_array.JobArray("vireo-mutants", options.slurm, shlex.split(options.slurm_options), folder.resolve())
    done = job_array.run_shares(array, command, [program], '--results "$share.json"')
    job_array.check(done)
    for line in job_array.interleaved([re.findall(r"^(?:caught|SURVIVED) .*", share.output, re.M) for share in done]):
        print(line)
    files = [array.folder / f"share-{task}.json" for task in range(options.slurm)]
    for task, (share, file) in enumerate(zip(done, files, strict=True)):
        if not file.exists():  # for instance, a test fails without a fault
            raise job_array.ArrayError(f"share {task}: {job_array.last_line(share.errors) or 'no results'}")
    return files


def main():
    parser = argparse.ArgumentParser(prog="./vireo mutants", description="Mutation testing of the RTL: runs the "
                                     "whole-NIC lockstep tests on each mutant. Exits with 1 if one survives.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these mutants")
    parser.add_argument("--list", action="store_true", help="list names and faults")
    parser.add_argument("--check", action="store_true", help="only check that every mutant still applies to the RTL")
    parser.add_argument("--markdown", action="store_true", help="print the results as Markdown table rows")
    parser.add_argument("--timeout", type=int, default=600, help="seconds per run of the test program (default: %(default)s)")
    parser.add_argument("--program", help=argparse.SUPPRESS)
    parser.add_argument("--update", action="store_true", help="write the table of docs/lockstep.md; with names only their rows")
    parser.add_argument("--generate", type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("--both", action="store_true", help="faults of RTL and model together, which the monitor or the tests' "
                        "references must detect; --update writes the table of docs/monitor.md")
    parser.add_argument("--model-only", action="store_true", help="with --both: do not repeat the failing test in lockstep")
    parser.add_argument("--shard", type=shards.share_of, metavar="I/N", help="only every N-th mutant, from the I-th (from 0) on, for as many "
                        "machines; --results keeps what it finds")
    parser.add_argument("--results", type=pathlib.Path, metavar="FILE", help="also write the results to this JSON file")
    parser.add_argument("--merge", type=pathlib.Path, nargs="+", metavar="FILE", help="run nothing: join these results of all shares")
    parser.add_argument("--slurm", type=job_array.tasks_of, metavar="N", help="run N shares as a Slurm job array on this folder, which all "
                        "machines must see, wait, and join their results")
    parser.add_argument("--slurm-options", default="", metavar="TEXT", help="for sbatch, such as '--partition=p'")
    parser.add_argument("--slurm-folder", type=pathlib.Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.generate:
        generate(options.generate)
        return 0
    mutants = load_both() if options.both else load()
    unknown = set(options.names) - {mutant["name"] for mutant in mutants}
    if unknown:
        sys.exit(f"unknown mutant {' '.join(sorted(unknown))}; ./vireo mutants {'--both ' if options.both else ''}--list shows all")
    chosen = [mutant for mutant in mutants if not options.names or mutant["name"] in options.names]
    if options.update and options.shard:
        parser.error("--update writes the rows of all mutants that run; leave out --shard: --merge joins the shares")
    if options.slurm and (options.shard or options.merge or options.list or options.check or options.results):
        parser.error("--slurm runs all shares and joins them: leave out --shard, --merge, --list, --check and --results")
    if options.slurm and not stale(chosen):
        return job_array.run_command("vireo mutants", lambda: report(merge(by_slurm(options), [mutant["name"] for mutant in chosen], parser), options))
    if options.merge:
        return report(merge(options.merge, [mutant["name"] for mutant in chosen], parser), options)
    chosen = shards.every_nth(chosen, options.shard)
    if options.list:
        for mutant in chosen:
            print(f"{mutant['name']:24} {mutant['block']:16} {mutant['fault']}")
        return 0
    skipped = stale(chosen + load_both() if options.check and not options.both else chosen)
    for name, why in skipped.items():
        print(f"{name}: {why}")
    if options.check or skipped:
        return 1 if skipped else 0
    results = run_both(options, chosen) if options.both else run_rtl(options, chosen)
    if options.results:
        options.results.write_text(json.dumps({"both": options.both, "results": results}, indent=1) + "\n", encoding="utf-8")
    return report(results, options)


if __name__ == "__main__":
    sys.exit(main())
