#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves the properties of verif/formal/proofs.toml with Yosys' built-in SAT solver, and that each of them can fail: of
every assertion at least one mutant of the RTL must be refuted, by a counterexample that begins in reset. Ends with 1 if
a proof fails or a mutant is not refuted. Without names, docs/formal.md is written. `./vireo formal` calls it, and the
test suite with names."""

import argparse
import concurrent.futures
import fcntl
import pathlib
import re
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "fpga"), str(ROOT / "verif/cosim")]
import mutants as faults  # noqa: E402  pylint: disable=wrong-import-position
import yosys  # noqa: E402  pylint: disable=wrong-import-position

HERE = pathlib.Path(__file__).resolve().parent
LIST = HERE / "proofs.toml"
PAGE = ROOT / "docs/formal.md"
WORK = ROOT / "build/formal"  # Yosys sees nothing outside of the repository
BEGIN, END = "<!-- BEGIN GENERATED: ./vireo formal -->\n", "<!-- END GENERATED -->\n"
# Cuts every register: what holds then, holds in any state, also in those that cannot be reached.
CUT = "cutpoint t:*dff* t:*dlatch* %u"
METHODS = ("any state", "induction")
# Assertions of this kind only help an induction; they are proven as the others are, but say nothing to the outside.
HELPER = "inv_"
SECONDS = 300  # for one question to the solver


def load(path=LIST):
    """The proofs of a file, each with its defaults."""
    proofs = tomllib.loads(path.read_text(encoding="utf-8"))["proof"]
    for proof in proofs:
        proof.setdefault("top", proof["module"])
        proof.setdefault("checkers", [f"verif/formal/vireo_{proof['name']}_proof.sv"])
        proof.setdefault("sets", [""])
        proof.setdefault("free", [])
        proof.setdefault("apart", False)
        proof.setdefault("steps", 8)
        proof.setdefault("mutant", [])
        rtl = next((p.relative_to(ROOT) for p in yosys.sources() if p.stem == proof["module"]), None)
        for mutant in proof["mutant"]:
            mutant.setdefault("file", str(rtl))
            mutant.setdefault("steps", proof["steps"])
    return proofs


def mistakes(proof):
    """What is wrong with an entry of the list before anything is proven."""
    found = []
    if proof["method"] not in METHODS:
        found.append(f"method is none of {', '.join(METHODS)}")
    found += [f"there is no {checker}" for checker in proof["checkers"] if not (ROOT / checker).exists()]
    for mutant in proof["mutant"]:
        path = ROOT / mutant["file"]
        where = faults.locate(mutant, path.read_text(encoding="utf-8")) if path.exists() else f"there is no {mutant['file']}"
        if isinstance(where, str):
            found.append(where)
    return found


def uncovered(proof, names):
    """What is wrong with these assertions: without a name of their own, or without a mutant."""
    last = {name: name.rpartition(".")[2] for name in names}
    return [f"no mutant is for `{name}`" for name in names if not last[name].startswith(HELPER)
            and not any(name == mutant["assertion"] or name.endswith("." + mutant["assertion"]) for mutant in proof["mutant"])]


def spoiled(mutant):
    """The text of the mutant's file with its fault."""
    text = (ROOT / mutant["file"]).read_text(encoding="utf-8")
    at = faults.locate(mutant, text)
    return text[:at] + mutant["replace"] + text[at + len(mutant["search"]):]


def elaboration(proof, setting, instead):
    """Commands that make the problem: one flat module, memories as registers, nothing in it but what the assertions see."""
    files = [str(instead.get(str(path), path)) for path in
             [*(p.relative_to(ROOT) for p in yosys.sources()), "verif/formal/vireo_formal_reset.sv", *proof["checkers"]]]
    generics = " ".join(f"-G {value}" for value in setting.split())
    top = proof["top"]
    return ["design -reset",
            f"read_slang --threads 1 -Werror=unconnected-input-port --no-implicit-memories --top {top} {generics} {' '.join(files)}",
            f"hierarchy -check -top {top}", "proc -noopt", "flatten -noscopeinfo", "async2sync", "chformal -lower", "delete -output o:*",
            *(line for wire in proof["free"] for line in (f"select -assert-count 1 w:{wire}", f"cutpoint w:{wire}")),
            *([CUT] if proof["method"] == "any state" else []), "opt_expr", "opt_clean -purge"]


def script(proof, stem):
    """All questions of a proof for one run of Yosys, and the files where the answers will be."""
    lines, proven, refuted = [], [], []

    def ask(answer, question):
        lines.append(f"tee -q -o {answer.relative_to(ROOT)} sat -set-assumes -prove-asserts -timeout {SECONDS} "
                     + ("" if proof["method"] == "any state" else question))

    def alone(assertion):
        lines.extend([f"delete t:$assert c:{assertion} c:*.{assertion} %u %d", "select -assert-min 1 t:$assert", "opt_clean -purge"])

    for number, setting in enumerate(proof["sets"]):
        answer = WORK / f"{stem}.proof{number}"
        lines += [*elaboration(proof, setting, {}), f"select -write {answer.relative_to(ROOT)}.assertions t:$assert",
                  "select -assert-min 1 t:$assert", "select -assert-none t:$check"]
        for part in dict.fromkeys(mutant["assertion"] for mutant in proof["mutant"]) if proof["apart"] else [""]:
            if part:
                answer = WORK / f"{stem}.proof{number}.{part}"
                lines.append("design -push-copy")
                alone(part)
            ask(answer, f"-tempinduct -maxsteps {proof['steps']}")
            if part:
                lines.append("design -pop")
            proven.append((setting, answer))
    for number, mutant in enumerate(proof["mutant"]):
        answer, file = WORK / f"{stem}.mutant{number}", WORK / f"{stem}.mutant{number}.sv"
        file.write_text(spoiled(mutant), encoding="utf-8")
        lines += elaboration(proof, proof["sets"][0], {mutant["file"]: file.relative_to(ROOT)})
        alone(mutant["assertion"])
        ask(answer, f"-tempinduct-baseonly -maxsteps {mutant['steps']}")
        refuted.append(answer)
    return lines, proven, refuted


def verdict(text):
    """What Yosys' `sat` says: ("proven", k) by induction over k cycles, 0 without induction; ("refuted", cycles); or
    ("open", why). Only its own words for the end of a proof count."""
    lengths = re.findall(r"^\*\* Trying induction with length (\d+) \*\*", text, re.MULTILINE)
    steps = int(lengths[-1]) if lengths else 0
    if re.search(r"interrupted by timeout", text, re.IGNORECASE):
        return "open", "no answer in time"
    if re.search(r"^Induction step proven: SUCCESS!", text, re.MULTILINE):
        return "proven", steps
    if re.search(r"^SAT proof finished - no model found: SUCCESS!", text, re.MULTILINE):
        return "proven", 0
    if re.search(r"proof finished - model found(?: for base case)?: FAIL!", text):
        return "refuted", steps
    if re.search(r"^Reached maximum number of time steps", text, re.MULTILINE):
        return "open", f"not settled in {steps} cycles"
    return "open", "the log has no verdict"


def prove(proof):
    """Proves it and refutes its mutants. A row for the table, and what is wrong."""
    errors = mistakes(proof)
    row = {"name": proof["name"], "module": proof["module"], "property": proof["property"], "sets": proof["sets"], "how": "",
           "seconds": 0.0, "refuted": 0, "mutants": len(proof["mutant"])}
    if errors:
        return row, [f"{proof['name']}: {error}" for error in errors]
    with open(WORK / f"{proof['name']}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another run may be at the same proof, and writes the same files
        return settle(proof, row)


def settle(proof, row):
    """What prove() does with an entry that has no mistakes."""
    errors = []
    lines, proven, refuted = script(proof, proof["name"])
    for answer in [*(answer for _, answer in proven), *refuted]:
        answer.unlink(missing_ok=True)
    row["seconds"], error = yosys.run(WORK, proof["name"], lines)
    if error:
        return row, [f"{proof['name']}: Yosys stopped:\n{error}"]
    lengths = []
    asserted = (WORK / f"{proof['name']}.proof0.assertions").read_text(encoding="utf-8").split()
    errors += [f"{proof['name']}: {wrong}" for wrong in uncovered(proof, [name.partition("/")[2] for name in asserted])]
    for setting, answer in proven:
        said, detail = verdict(answer.read_text(encoding="utf-8"))
        if said == "proven":
            lengths.append(detail)
        else:
            errors.append(f"{proof['name']} {setting}: {said}: {detail}; see {answer.relative_to(ROOT)}")
    for mutant, answer in zip(proof["mutant"], refuted):
        said, detail = verdict(answer.read_text(encoding="utf-8"))
        if said == "refuted":
            row["refuted"] += 1
        else:
            errors.append(f"{proof['name']}: nothing refutes `{mutant['replace']}` for `{mutant['search']}` against "
                          f"`{mutant['assertion']}`: {detail}; see {answer.relative_to(ROOT)}")
    if lengths:
        row["how"] = "any state" if proof["method"] == "any state" else f"induction, k = {max(lengths)}"
    return row, errors


def page(rows):
    """The table of docs/formal.md."""
    lines = ["| proof | module | sizes | it says | method | mutants refuted | s |", "|---|---|---|---|---|---:|---:|"]
    lines += [f"| `{row['name']}` | `{row['module']}` | {'; '.join(row['sets']) or 'as it is'} | {row['property']} | {row['how']} | "
              f"{row['refuted']} of {row['mutants']} | {row['seconds']:.1f} |" for row in rows]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(prog="./vireo formal", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these proofs; docs/formal.md stays as it is")
    parser.add_argument("--list", action="store_true", help="names and properties, nothing else")
    parser.add_argument("--jobs", type=int, default=2, help="so many at a time (default: %(default)s)")
    parser.add_argument("--proofs", type=pathlib.Path, default=LIST, help=argparse.SUPPRESS)  # another list, for the test
    options = parser.parse_args()
    try:
        proofs = load(options.proofs.resolve())
    except (tomllib.TOMLDecodeError, OSError, KeyError) as error:
        sys.exit(f"vireo formal: {options.proofs}: {error}")
    unknown = set(options.names) - {proof["name"] for proof in proofs}
    if unknown:
        sys.exit(f"vireo formal: there is no proof {', '.join(sorted(unknown))}; there are {', '.join(p['name'] for p in proofs)}")
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
          f"{sum(row['mutants'] for row in rows)} mutants refuted, {sum(row['seconds'] for row in rows):.0f} s of processor time")
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
