#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lists the fuzzing targets, or runs them with libFuzzer and the address and undefined-behaviour sanitizers.
Command: `./vireo fuzz`; documentation: docs/fuzzing.md.

The first run builds what it needs in build/fuzz. The corpus stays in build/fuzz/corpus/TARGET, so that later runs continue
from it. A failing input is saved to verif/fuzz/regress/TARGET, where the target's test (verif.fuzz.TARGET) runs it from
then on."""

import argparse
import hashlib
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "verif/repo"))
import generated  # noqa: E402  pylint: disable=wrong-import-position
import shards  # noqa: E402  pylint: disable=wrong-import-position
from shards import job_array  # noqa: E402  pylint: disable=wrong-import-position

HERE = pathlib.Path(__file__).resolve().parent
LIST = HERE / "targets.toml"
PAGE = ROOT / "docs/fuzzing.md"
COMMAND = "./vireo fuzz --update"  # of the block in PAGE
BUILD = ROOT / "build/fuzz"


def load():
    return tomllib.loads(LIST.read_text(encoding="utf-8"))["target"]


def count(number):
    return f"{number:,}"


def show(targets):
    rows = [("target", "random", "libFuzzer", "checks")]
    rows += [(t["name"], count(t["by_chance"]), count(t["by_libfuzzer"]), t["checks"]) for t in targets]
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    for name, by_chance, by_libfuzzer, checks in rows:
        print(f"{name:{widths[0]}}  {by_chance:>{widths[1]}}  {by_libfuzzer:>{widths[2]}}  {checks}")
    print("\nNumbers: inputs without a failure, see docs/fuzzing.md.\n"
          "To run one: ./vireo fuzz TARGET [--seconds N | --runs N]; the CI run: ./vireo fuzz --smoke")


def markdown(targets):
    rows = [f"| `{t['name']}` | {t['checks']} | {count(t['by_chance'])} in {t['seconds']} s | {count(t['by_libfuzzer'])} |"
            for t in targets]
    return "\n".join(["| target | checks | random inputs, in CPU time | libFuzzer inputs |", "|---|---|---|---|", *rows])


def check():
    """Checks that the page's table matches targets.toml and that every target has its program in CMake."""
    targets = load()
    errors = []
    if markdown(targets) not in (ROOT / "docs/fuzzing.md").read_text(encoding="utf-8"):
        errors.append("docs/fuzzing.md: the table is out of date; ./vireo fuzz --markdown prints the current one")
    programs = re.findall(r"^vireo_fuzz\((\w+)", (HERE / "CMakeLists.txt").read_text(encoding="utf-8"), re.M)
    if sorted(programs) != sorted(target["name"] for target in targets):
        errors.append(f"targets.toml and CMakeLists.txt have different targets; CMakeLists.txt has {sorted(programs)}")
    regress = HERE / "regress"
    for folder in sorted(regress.iterdir()) if regress.exists() else []:
        if folder.name not in programs:
            errors.append(f"verif/fuzz/regress/{folder.name}: no such target")
    for error in errors:
        print(error, file=sys.stderr)
    return 1 if errors else 0


def record(name, **values):
    """Writes values of a target into targets.toml."""
    before, mark, rest = LIST.read_text(encoding="utf-8").partition(f'[[target]]\nname = "{name}"\n')
    own, separator, after = rest.partition("\n[[target]]")
    for key, value in values.items():
        own = re.sub(rf"^{key} = .*$", f"{key} = {value}", own, flags=re.M)
    LIST.write_text(before + mark + own + separator + after, encoding="utf-8")


def build_random(names):
    targets = [f"verif.fuzz.{name}" for name in names]
    if subprocess.run(["cmake", "--build", "--preset", "dev", "--target", *targets], cwd=ROOT, check=False).returncode != 0:
        sys.exit("fuzz: the build failed, see above; ./vireo build configures build/dev")


def run_random(target, inputs):
    """(it survived, seconds of CPU). The target's ordinary test: g++, no sanitizer, random changes of seeds."""
    program = f"verif.fuzz.{target}"
    environment = os.environ | {"VIREO_SEED": os.environ.get("VIREO_SEED", "1"), "VIREO_FUZZ_INPUTS": str(inputs)}
    done = subprocess.run([str(ROOT / "build/dev/verif/fuzz" / program), "--gtest_filter=*MutatedSeedsPass*"], env=environment,
                          stdout=subprocess.PIPE, text=True, check=False)
    found = re.search(rf"^{inputs} inputs passed, ([0-9.]+) s of CPU", done.stdout, re.M)
    if done.returncode != 0 or found is None:
        print(done.stdout, file=sys.stderr)
        return False, 0.0
    return True, float(found[1])


def build(names):
    if not (BUILD / "build.ninja").exists():
        print("== configuring build/fuzz (clang)", file=sys.stderr)
        if subprocess.run(["cmake", "--preset", "fuzz"], cwd=ROOT, stdout=subprocess.DEVNULL, check=False).returncode != 0:
            sys.exit("fuzz: CMake failed; are clang and libclang-rt-dev installed? ./vireo setup installs them")
    targets = [f"vireo_fuzz_{name}" for name in names]
    done = subprocess.run(["cmake", "--build", "--preset", "fuzz", "--target", *targets], cwd=ROOT, check=False)
    if done.returncode != 0:
        sys.exit("fuzz: build failed, see above")


def keep(target, found):
    """Saves failing inputs where the target's test reads them, named by their hash."""
    folder = HERE / "regress" / target
    for path in found:
        folder.mkdir(parents=True, exist_ok=True)
        data = path.read_bytes()
        kept = folder / hashlib.sha256(data).hexdigest()[:16]
        kept.write_bytes(data)
        print(f"\nfuzz: {target} fails on an input of {len(data)} bytes: {kept.relative_to(ROOT)}\n"
              f"  reproduce: build/fuzz/verif/fuzz/vireo_fuzz_{target} {kept.relative_to(ROOT)}\n"
              f"  minimize:  build/fuzz/verif/fuzz/vireo_fuzz_{target} -minimize_crash=1 -max_total_time=60 "
              f"{kept.relative_to(ROOT)}\n"
              f"  with g++:  ./vireo test -R verif.fuzz.{target}\n"
              f"  Fix the defect and commit the input: it is a regression test from now on.", file=sys.stderr)


def run(folder, target, seconds=None, runs=None, simulates=False):
    """(no failure, number of inputs). Prints libFuzzer's own output, without the dictionary at its end."""
    program = folder / "verif/fuzz" / f"vireo_fuzz_{target}"
    corpus, found = folder / "corpus" / target, folder / "found" / target
    for made in (corpus, found):
        made.mkdir(parents=True, exist_ok=True)
    for old in found.iterdir():
        old.unlink()
    # The simulation draws its random numbers from one seed, so that an input behaves the same in every run.
    environment = os.environ | {"VIREO_SEED": os.environ.get("VIREO_SEED", "1")}
    subprocess.run([program, "--write-seeds", corpus], check=True, env=environment, stderr=subprocess.DEVNULL)
    command = [program, f"-artifact_prefix={found}/", "-timeout=60", "-rss_limit_mb=4096", "-print_final_stats=1",
               "-reload=0", corpus]
    regress = HERE / "regress" / target
    if regress.exists():
        command.append(regress)
    if simulates:
        # An input of a simulated NIC has tens of thousands of features. libFuzzer's schedule by entropy looks at all of them
        # after each input, which took more time than the input.
        command.append("-entropic=0")
    if seconds is not None:
        command.append(f"-max_total_time={seconds}")
    if runs is not None:
        command.append(f"-runs={runs}")
    executed, in_dictionary = 0, False
    with subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace") as process:
        for line in process.stdout:
            in_dictionary = (in_dictionary or "Recommended dictionary" in line) and "End of recommended" not in line
            if in_dictionary or line.startswith("######") or "\tNEW " in line or "\tREDUCE " in line:
                continue
            if match := re.match(r"stat::number_of_executed_units:\s*(\d+)", line):
                executed = int(match[1])
            if not line.startswith("stat::") and not re.match(r"#\d+\s+(NEW|REDUCE) ", line):
                print(f"{target} | {line}", end="", flush=True)
    keep(target, sorted(found.iterdir()))
    return process.returncode == 0, executed


def by_slurm(options, wanted):
    """The targets as a job array on a folder that all machines see; each target is in one task, with its corpus."""
    limits = [word for name in ("seconds", "runs", "random") if (value := getattr(options, name)) for word in (f"--{name}", str(value))]
    command = [sys.executable, str(HERE / "fuzz.py"), *wanted, *limits, *(["--smoke"] if options.smoke else []), "--no-build",
               "--build-folder", str(options.build_folder.resolve())]
    programs = ([ROOT / "build/dev/verif/fuzz" / f"verif.fuzz.{name}" for name in wanted] if options.random else
                [options.build_folder.resolve() / "verif/fuzz" / f"vireo_fuzz_{name}" for name in wanted])
    array = job_array.JobArray("vireo-fuzz", options.slurm, shlex.split(options.slurm_options), options.slurm_folder.resolve())
    done = job_array.run_shares(array, command, programs)
    job_array.check(done)
    own = re.compile(rf"^fuzz: (?:{'|'.join(wanted)}): .*", re.M)  # of a target, in the order of the share
    for line in job_array.interleaved([own.findall(share.output) for share in done]):
        print(line)
    for share in done:
        if share.code:
            print(share.errors, end="", file=sys.stderr)
    return max(share.code for share in done)


def positive(text):
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def main():
    parser = argparse.ArgumentParser(prog="./vireo fuzz", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", nargs="*", help="targets to run, or `all`; without any: list them")
    limit = parser.add_mutually_exclusive_group()
    limit.add_argument("--seconds", type=positive, metavar="N", help="time per target (default: 60)")
    limit.add_argument("--runs", type=positive, metavar="N", help="inputs per target")
    limit.add_argument("--smoke", action="store_true", help="the CI run: targets that build quickly, 60 s in total")
    limit.add_argument("--random", type=positive, metavar="N", help="N random changes of seeds, with g++ and without sanitizers")
    parser.add_argument("--shard", type=shards.share_of, metavar="I/N", help="only every N-th of the targets given (or of --smoke), "
                        "from the I-th (from 0) on; `all` gives all; for as many machines")
    parser.add_argument("--update", action="store_true", help="write docs/fuzzing.md; counts the run if it is longer than before")
    parser.add_argument("--dry-run", action="store_true", help="with --shard: only print the targets of the share")
    parser.add_argument("--markdown", action="store_true", help="print the table of docs/fuzzing.md")
    parser.add_argument("--check", action="store_true", help="only check that targets.toml, page and CMake agree")
    parser.add_argument("--slurm", type=job_array.tasks_of, metavar="N", help="run the targets given (or of --smoke) as a Slurm job array of N "
                        "tasks on this folder, which all machines must see, and wait")
    parser.add_argument("--slurm-options", default="", metavar="TEXT", help="for sbatch, such as '--partition=p'")
    parser.add_argument("--slurm-folder", type=pathlib.Path, default=ROOT / "build/slurm/fuzz", help=argparse.SUPPRESS)
    parser.add_argument("--build-folder", type=pathlib.Path, default=BUILD, help=argparse.SUPPRESS)
    parser.add_argument("--no-build", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.check:
        return check()
    targets = load()
    if options.markdown:
        print(markdown(targets))
        return 0
    names = [target["name"] for target in targets]
    for name in options.target:
        if name not in names and name != "all":
            parser.error(f"unknown target '{name}'; known: all, {', '.join(names)}")
    wanted = names if "all" in options.target else options.target
    if options.smoke:
        wanted = wanted or [target["name"] for target in targets if target.get("smoke")]
    if options.dry_run and not options.shard:
        parser.error("--dry-run needs --shard")
    if options.slurm:
        if not wanted:
            parser.error("--slurm needs targets, `all` or --smoke")
        if options.update or options.shard or options.dry_run:
            parser.error("--slurm runs all shares and writes no page: leave out --shard, --update and --dry-run")
    if options.shard:
        if not wanted:
            parser.error("--shard needs targets, `all` or --smoke")
        if options.update:
            parser.error("--update writes what one machine has counted; leave out --shard")
        wanted = shards.every_nth(wanted, options.shard)
        print(f"fuzz: share {options.shard[0]}/{options.shard[1]}: {' '.join(wanted) or 'no target'}", flush=True)
        if options.dry_run or not wanted:
            return 0
    if not wanted:
        if options.update:
            generated.replace(PAGE, COMMAND, markdown(targets))
            print(f"wrote {PAGE.relative_to(ROOT)}")
        else:
            show(targets)
        return 0
    if not options.no_build:
        (build_random if options.random else build)(wanted)
    if options.slurm:
        return job_array.run_command("fuzz", lambda: by_slurm(options, wanted))
    best = {target["name"]: target for target in targets}
    failed = []
    if options.random:
        for name in wanted:
            survived, used = run_random(name, options.random)
            print(f"fuzz: {name}: {count(options.random)} random inputs, {used} s of CPU" if survived
                  else f"fuzz: {name}: a random input broke it, see above", flush=True)
            if not survived:
                failed.append(name)
            elif options.update and options.random >= best[name]["by_chance"]:
                record(name, by_chance=options.random, seconds=used)
        if options.update:
            generated.replace(PAGE, COMMAND, markdown(load()))
        return 1 if failed else 0
    seconds = None if options.runs else options.seconds or 60
    if options.smoke:
        seconds = max(1, 60 // len(wanted))
    for name in wanted:
        passed, executed = run(options.build_folder, name, seconds, options.runs, best[name].get("simulates", False))
        print(f"fuzz: {name}: {count(executed)} inputs{'' if passed else ', FAILED'}", flush=True)
        if not passed:
            failed.append(name)
        elif options.update and executed > best[name]["by_libfuzzer"]:
            record(name, by_libfuzzer=executed)
    if options.update:
        generated.replace(PAGE, COMMAND, markdown(load()))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
