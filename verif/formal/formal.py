#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves the properties in verif/formal/proofs.toml with Yosys' built-in SAT solver, and checks that each can fail: for
every assertion at least one mutant of the RTL must be refuted, by a counterexample that starts in reset. Exits with 1 if
a proof fails or a mutant is not refuted. Without names it also writes docs/formal.md. Run by `./vireo formal`, and by the
test suite with names."""

import argparse
import concurrent.futures
import fcntl
import pathlib
import re
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "fpga"), str(ROOT / "rtl"), str(ROOT / "verif/mutants")]
import mutants as faults  # noqa: E402  pylint: disable=wrong-import-position
import parameters  # noqa: E402  pylint: disable=wrong-import-position
import yosys  # noqa: E402  pylint: disable=wrong-import-position

HERE = pathlib.Path(__file__).resolve().parent
LIST = HERE / "proofs.toml"
PAGE = ROOT / "docs/formal.md"
WORK = ROOT / "build/formal"  # YoWASP's Yosys has access only to files inside the repository
BEGIN, END = "<!-- BEGIN GENERATED: ./vireo formal -->\n", "<!-- END GENERATED -->\n"
# Cuts every register: a property proven then holds in any state, also in unreachable ones.
CUT = "cutpoint t:*dff* t:*dlatch* %u"
METHODS = ("any state", "induction")
# Prefix of helper invariants: they only strengthen an induction. They are proven like the others and need no mutant.
HELPER = "inv_"
SECONDS = 300  # timeout of one solver call


def load(path=LIST):
    """The proofs of a file, with defaults filled in."""
    proofs = tomllib.loads(path.read_text(encoding="utf-8"))["proof"]
    for proof in proofs:
        proof.setdefault("top", proof["module"])
        proof.setdefault("checkers", [f"verif/formal/vireo_{proof['name']}_proof.sv"])
        proof.setdefault("sets", [""])
        proof.setdefault("free", [])
        proof.setdefault("apart", False)
        proof.setdefault("multiclock", False)
        proof.setdefault("lists", [])
        proof.setdefault("steps", 8)
        proof.setdefault("mutant", [])
        rtl = next((p.relative_to(ROOT) for p in yosys.sources(*proof["lists"]) if p.stem == proof["module"]), None)
        for mutant in proof["mutant"]:
            mutant.setdefault("file", str(rtl))
            mutant.setdefault("steps", proof["steps"])
    return proofs


def mistakes(proof):
    """Errors in an entry of the list, found before anything is proven."""
    found = []
    if proof["method"] not in METHODS:
        found.append(f"unknown method; known: {', '.join(METHODS)}")
    found += [f"no such file: {checker}" for checker in proof["checkers"] if not (ROOT / checker).exists()]
    for mutant in proof["mutant"]:
        path = ROOT / mutant["file"]
        where = faults.locate(mutant, path.read_text(encoding="utf-8")) if path.exists() else f"no such file: {mutant['file']}"
        if isinstance(where, str):
            found.append(where)
    return found


def uncovered(proof, names):
    """Errors for assertions that have no name of their own or no mutant."""
    last = {name: name.rpartition(".")[2] for name in names}
    return [f"no mutant for assertion `{name}`" for name in names if not last[name].startswith(HELPER)
            and not any(name == mutant["assertion"] or name.endswith("." + mutant["assertion"]) for mutant in proof["mutant"])]


def spoiled(mutant):
    """The text of the mutant's file with the fault applied."""
    text = (ROOT / mutant["file"]).read_text(encoding="utf-8")
    at = faults.locate(mutant, text)
    return text[:at] + mutant["replace"] + text[at + len(mutant["search"]):]


def elaboration(proof, setting, instead):
    """Commands that build the problem: one flat module, memories as registers, reduced to the assertions' cone of influence."""
    files = [str(instead.get(str(path), path)) for path in
             [*(p.relative_to(ROOT) for p in yosys.sources(*proof["lists"])), "verif/formal/vireo_formal_reset.sv", *proof["checkers"]]]
    generics = " ".join(f"-G {name}={value}" for name, value in parameters.parameters(setting.split()).items())
    top = proof["top"]
    return ["design -reset",
            f"read_slang --threads 1 -Werror=unconnected-input-port --no-implicit-memories --top {top} {generics} {' '.join(files)}",
            f"hierarchy -check -top {top}", "proc -noopt", "flatten -noscopeinfo",
            # A step is a cycle of the one clock, or with several any time between two edges, of which each clock has one or none.
            "clk2fflogic" if proof["multiclock"] else "async2sync", "chformal -lower", "delete -output o:*",
            *(line for wire in proof["free"] for line in (f"select -assert-count 1 w:{wire}", f"cutpoint w:{wire}")),
            *([CUT] if proof["method"] == "any state" else []), "opt_expr", "opt_clean -purge"]


def script(proof, stem):
    """All solver calls of a proof for one run of Yosys, and the files that get the results."""
    lines, proven, refuted = [], [], []

    def solve(output, options):
        lines.append(f"tee -q -o {output.relative_to(ROOT)} sat -set-assumes -prove-asserts -timeout {SECONDS} "
                     + ("" if proof["method"] == "any state" else options))

    def alone(assertion):
        lines.extend([f"delete t:$assert c:{assertion} c:*.{assertion} %u %d", "select -assert-min 1 t:$assert", "opt_clean -purge"])

    for number, setting in enumerate(proof["sets"]):
        output = WORK / f"{stem}.proof{number}"
        lines += [*elaboration(proof, setting, {}), f"select -write {output.relative_to(ROOT)}.assertions t:$assert",
                  "select -assert-min 1 t:$assert", "select -assert-none t:$check"]
        for part in dict.fromkeys(mutant["assertion"] for mutant in proof["mutant"]) if proof["apart"] else [""]:
            if part:
                output = WORK / f"{stem}.proof{number}.{part}"
                lines.append("design -push-copy")
                alone(part)
            solve(output, f"-tempinduct -maxsteps {proof['steps']}")
            if part:
                lines.append("design -pop")
            proven.append((setting, output))
    for number, mutant in enumerate(proof["mutant"]):
        output, file = WORK / f"{stem}.mutant{number}", WORK / f"{stem}.mutant{number}.sv"
        file.write_text(spoiled(mutant), encoding="utf-8")
        lines += elaboration(proof, proof["sets"][0], {mutant["file"]: file.relative_to(ROOT)})
        alone(mutant["assertion"])
        solve(output, f"-tempinduct-baseonly -maxsteps {mutant['steps']}")
        refuted.append(output)
    return lines, proven, refuted


def verdict(text):
    """Result of Yosys' `sat`: ("proven", k) by induction over k cycles, 0 without induction; ("refuted", cycles); or
    ("open", why). Only the solver's own final messages count."""
    lengths = re.findall(r"^\*\* Trying induction with length (\d+) \*\*", text, re.MULTILINE)
    steps = int(lengths[-1]) if lengths else 0
    if re.search(r"interrupted by timeout", text, re.IGNORECASE):
        return "open", "timeout"
    if re.search(r"^Induction step proven: SUCCESS!", text, re.MULTILINE):
        return "proven", steps
    if re.search(r"^SAT proof finished - no model found: SUCCESS!", text, re.MULTILINE):
        return "proven", 0
    if re.search(r"proof finished - model found(?: for base case)?: FAIL!", text):
        return "refuted", steps
    if re.search(r"^Reached maximum number of time steps", text, re.MULTILINE):
        return "open", f"undecided after {steps} cycles"
    return "open", "no result in the log"


def prove(proof):
    """Proves it and refutes its mutants. Returns a row for the table, and errors."""
    errors = mistakes(proof)
    row = {"name": proof["name"], "module": proof["module"], "property": proof["property"], "sets": proof["sets"], "how": "",
           "seconds": 0.0, "refuted": 0, "mutants": len(proof["mutant"])}
    if errors:
        return row, [f"{proof['name']}: {error}" for error in errors]
    with open(WORK / f"{proof['name']}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # a concurrent run of the same proof writes the same files
        return settle(proof, row)


def settle(proof, row):
    """prove() for an entry without errors."""
    errors = []
    lines, proven, refuted = script(proof, proof["name"])
    for output in [*(output for _, output in proven), *refuted]:
        output.unlink(missing_ok=True)
    row["seconds"], error = yosys.run(WORK, proof["name"], lines)
    if error:
        return row, [f"{proof['name']}: Yosys failed:\n{error}"]
    lengths = []
    asserted = (WORK / f"{proof['name']}.proof0.assertions").read_text(encoding="utf-8").split()
    errors += [f"{proof['name']}: {wrong}" for wrong in uncovered(proof, [name.partition("/")[2] for name in asserted])]
    for setting, output in proven:
        result, detail = verdict(output.read_text(encoding="utf-8"))
        if result == "proven":
            lengths.append(detail)
        else:
            errors.append(f"{proof['name']} {setting}: {result}: {detail}; see {output.relative_to(ROOT)}")
    for mutant, output in zip(proof["mutant"], refuted):
        result, detail = verdict(output.read_text(encoding="utf-8"))
        if result == "refuted":
            row["refuted"] += 1
        else:
            errors.append(f"{proof['name']}: mutant not refuted: `{mutant['replace']}` for `{mutant['search']}` against "
                          f"`{mutant['assertion']}`: {detail}; see {output.relative_to(ROOT)}")
    if lengths:
        row["how"] = "any state" if proof["method"] == "any state" else f"induction, k = {max(lengths)}"
    return row, errors


def page(rows):
    """The table of docs/formal.md."""
    lines = ["| proof | module | sizes | property | method | mutants refuted | s |", "|---|---|---|---|---|---:|---:|"]
    lines += [f"| `{row['name']}` | `{row['module']}` | {'; '.join(row['sets']) or 'defaults'} | {row['property']} | {row['how']} | "
              f"{row['refuted']} of {row['mutants']} | {row['seconds']:.1f} |" for row in rows]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(prog="./vireo formal", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these proofs; docs/formal.md is not written")
    parser.add_argument("--list", action="store_true", help="list names and properties")
    parser.add_argument("--jobs", type=int, default=2, help="proofs in parallel (default: %(default)s)")
    parser.add_argument("--proofs", type=pathlib.Path, default=LIST, help=argparse.SUPPRESS)  # another list, for tests
    options = parser.parse_args()
    try:
        proofs = load(options.proofs.resolve())
    except (tomllib.TOMLDecodeError, OSError, KeyError) as error:
        sys.exit(f"vireo formal: {options.proofs}: {error}")
    unknown = set(options.names) - {proof["name"] for proof in proofs}
    if unknown:
        sys.exit(f"vireo formal: unknown proof {', '.join(sorted(unknown))}; known: {', '.join(p['name'] for p in proofs)}")
    chosen = [proof for proof in proofs if not options.names or proof["name"] in options.names]
    if options.list:
        for proof in chosen:
            print(f"{proof['name']:<18} {proof['module']:<24} {proof['property']}")
        return 0
    if not yosys.PROGRAM.exists():
        sys.exit("vireo formal: Yosys is not installed; run ./vireo setup")
    WORK.mkdir(parents=True, exist_ok=True)
    rows, errors = [], []
    print(f"{'':<8} {'proof':<18} {'module':<24} {'method':<18} {'refuted':>8} {'s':>6}", flush=True)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        runs = [pool.submit(prove, proof) for proof in chosen]
        for run in concurrent.futures.as_completed(runs):
            row, wrong = run.result()
            rows.append(row)
            errors += wrong
            print(f"{'FAILED' if wrong else 'proven':<8} {row['name']:<18} {row['module']:<24} {row['how']:<18} "
                  f"{row['refuted']:>3} / {row['mutants']:<2} {row['seconds']:>6.1f}", flush=True)
    print(f"{sum(len(p['sets']) for p in chosen)} problems of {len(chosen)} proofs, {sum(row['refuted'] for row in rows)} of "
          f"{sum(row['mutants'] for row in rows)} mutants refuted, {sum(row['seconds'] for row in rows):.0f} s of CPU time")
    for error in errors:
        print(f"vireo formal: {error}", file=sys.stderr)
    if not errors and not options.names and options.proofs == LIST:
        order = [proof["name"] for proof in proofs]
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
        PAGE.write_text(before + BEGIN + page(sorted(rows, key=lambda row: order.index(row["name"]))) + END
                        + rest.partition(END)[2], encoding="utf-8")
        print(f"wrote {PAGE.relative_to(ROOT)}")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
