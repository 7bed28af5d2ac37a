# SPDX-License-Identifier: Apache-2.0
"""Common part of the tests of ./vireo explore."""

import csv
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
EXPLORE = ROOT / "sim/explore"
sys.path.append(str(EXPLORE))
FAKE = pathlib.Path(__file__).with_name("fake_bench.py")

STUDY = """name = "s"
[vary]
nic.size = [1, 2, 3]
[[workload]]
[results]
objectives = { goodput_gbps = "max", latency_ns_p50 = "min" }
"""


def in_fork(command, environment, folder, seconds):
    """Runs the command, which is that of ExploreTest.command, in a copy of this process: what it does, without the second of processor
    time that its packages take to load. Those are loaded once, at the first call."""
    import explore
    import report  # noqa: F401  pylint: disable=unused-import

    with open(folder / "stdout", "w+", encoding="utf-8") as out, open(folder / "stderr", "w+", encoding="utf-8") as errors:
        sys.stdout.flush()
        sys.stderr.flush()
        child = os.fork()
        if child == 0:
            code = 1
            try:
                for target, file in ((1, out), (2, errors)):
                    os.dup2(file.fileno(), target)
                sys.stdout, sys.stderr = (open(target, "w", encoding="utf-8", closefd=False) for target in (1, 2))
                os.environ.clear()
                os.environ.update(environment)
                sys.argv = command[1:]
                code = explore.main(sys.argv[1:])
            except SystemExit as ended:  # of argparse
                code = ended.code if isinstance(ended.code, int) else 1
            except BaseException:  # pylint: disable=broad-exception-caught
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        deadline = time.monotonic() + seconds
        while (ended := os.waitpid(child, os.WNOHANG))[0] == 0:
            if time.monotonic() > deadline:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                raise subprocess.TimeoutExpired(command, seconds)
            time.sleep(0.01)
        out.seek(0)
        errors.seek(0)
        return subprocess.CompletedProcess(command, os.waitstatus_to_exitcode(ended[1]), out.read(), errors.read())


class ExploreTest(unittest.TestCase):
    """Runs the command in a folder of the test."""

    bench = FAKE

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.out = self.folder / "out"
        self.log = self.folder / "log"

    def command(self, study, *arguments, out=None):
        file = study
        if not isinstance(study, pathlib.Path):
            file = self.folder / "study.toml"
            file.write_text(study, encoding="utf-8")
        return [sys.executable, str(EXPLORE / "explore.py"), str(file), "--bench", str(self.bench), "--out", str(out or self.out), "--quiet", *arguments]

    def environment(self, **more):
        return os.environ | {"FAKE_LOG": str(self.log)} | more

    def explore(self, study, *arguments, code=0, out=None, **environment):
        done = in_fork(self.command(study, *arguments, out=out), self.environment(**environment), self.folder, 300)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        return done

    def refused(self, study, *words, arguments=()):
        """Exit code 2, with every word in the message, and nothing simulated."""
        done = self.explore(study, *arguments, code=2)
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertEqual(self.runs(), 0)

    def runs(self):
        """How many simulations there were."""
        return len(self.log.read_text(encoding="utf-8").splitlines()) if self.log.exists() else 0

    def rows(self, out=None):
        with open((out or self.out) / "results.csv", encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))
