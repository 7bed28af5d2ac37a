#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What ./vireo explore does with runs that end in any way, and with its folder; by a benchmark that misbehaves on demand."""

import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
import unittest

from common import STUDY, ExploreTest

ONE = STUDY.split("[results]", maxsplit=1)[0]


def with_sizes(*sizes):
    return STUDY.replace("[1, 2, 3]", str(list(sizes)))


class Outcomes(ExploreTest):
    def test_good_points(self):
        done = self.explore(STUDY)
        rows = self.rows()
        self.assertEqual([row["status"] for row in rows], ["ok"] * 3)
        self.assertEqual([row["nic.size"] for row in rows], ["1", "2", "3"])
        self.assertEqual([float(row["goodput_gbps"]) for row in rows], [10.1, 20.1, 30.1])
        self.assertEqual([row["pareto"] for row in rows], ["True"] * 3)  # more of both: neither dominates
        self.assertNotIn("cpu_s", rows[0])  # depends on the machine
        self.assertIn("3 ok", done.stdout)

    def test_bad_points_are_rows_with_their_reason(self):
        study = "timeout_s = 6\n" + with_sizes(13, 1, 555, 666, 777, 888, 444)
        done = self.explore(study, code=1)
        rows = {row["nic.size"]: (row["status"], row["reason"]) for row in self.rows()}
        self.assertEqual(rows["1"], ("ok", ""))
        self.assertEqual(rows["13"], ("illegal", "nic.size: 13 brings bad luck"))
        self.assertEqual(rows["555"], ("failed", "exit code 1: vireo bench: model custom: wrong data"))
        self.assertEqual(rows["666"][0], "crash")
        self.assertIn("SIGSEGV", rows["666"][1])
        self.assertEqual(rows["777"], ("timeout", "not done after 6 s"))
        self.assertIn("wrote no result", rows["888"][1])
        self.assertEqual(rows["444"], ("failed", "nic.size is 444 in the study, but the model used 1"))
        self.assertIn("illegal: nic.size: 13 brings bad luck (first: point 0)", done.stdout)
        report = (self.out / "report.html").read_text(encoding="utf-8")
        self.assertTrue('"illegal","nic.size: 13 brings bad luck"' in report)

    def test_no_good_point(self):
        self.explore(with_sizes(13, 666), code=1)
        self.assertEqual([row["status"] for row in self.rows()], ["illegal", "crash"])

    def test_constraints_and_dominated_points(self):
        study = STUDY.replace("[1, 2, 3]", "[5, 1]\nnic.clock = [10, 20]") + 'constraints = ["goodput_gbps >= 15"]\n'
        self.explore(study)
        rows = [(row["nic.size"], row["nic.clock"], row["feasible"], row["pareto"]) for row in self.rows()]
        # goodput = size x clock + 0.1, latency = 1000 / clock + size
        self.assertEqual(rows, [("5", "10", "True", "False"), ("5", "20", "True", "True"), ("1", "10", "False", "False"),
                                ("1", "20", "True", "True")])

    def test_constraints_that_no_point_keeps(self):
        study = STUDY + 'constraints = ["latency_ns_p50 <= 10.2 us", "goodput_gbps >= 1,000"]\n'
        done = self.explore(study, code=1)
        self.assertRegex(done.stderr, r"study.toml:7: no point keeps 'goodput_gbps >= 1000'; the nearest has 30\.1")
        self.assertEqual([row["feasible"] for row in self.rows()], ["False"] * 3)  # nothing is lost
        done = self.explore(study.replace("1,000", "30").replace("10.2 us", "0.1015 us"), code=1)  # 101 to 103 ns with 10.1 to 30.1 Gb/s
        self.assertIn("no point keeps all constraints", done.stderr)
        self.explore(study.replace("1,000", "30"))
        self.assertEqual(self.runs(), 3)

    def test_presets_and_pairs_and_command_line(self):
        study = STUDY.replace("[vary]\nnic.size = [1, 2, 3]", '[vary]\nnic.config = ["small", "large"]')
        self.explore(study)
        self.assertEqual([float(row["goodput_gbps"]) for row in self.rows()], [10.1, 2000.1])
        self.explore(study, "--set", "nic.size=3", "--sweep", "nic.clock=2,4", out=self.folder / "two")
        self.assertEqual([(row["nic.config"], row["nic.clock"], float(row["goodput_gbps"])) for row in self.rows(self.folder / "two")],
                         [("small", "2", 6.1), ("small", "4", 12.1), ("large", "2", 6.1), ("large", "4", 12.1)])
        pairs = STUDY.replace("[vary]\nnic.size = [1, 2, 3]", "[[together]]\nnic.size = [1, 2]\nnic.clock = [7, 3]")
        self.explore(pairs, out=self.folder / "three")
        self.assertEqual([float(row["goodput_gbps"]) for row in self.rows(self.folder / "three")], [7.1, 6.1])

    def test_two_workloads_and_seeds(self):
        study = ("seeds = [4, 5]\n" + STUDY.replace("[[workload]]", '[[workload]]\nname = "a"\nbytes = 7\n[[workload]]\nname = "b"\nbench = "other"')
                 .replace("goodput_gbps", "a.goodput_gbps").replace("latency_ns_p50", "b.round_trip_ns"))
        self.explore(study)
        self.assertEqual([(row["point"], row["seed"], float(row["a.goodput_gbps"]), float(row["b.round_trip_ns"])) for row in self.rows()][:3],
                         [("0", "4", 10.4, 5.0), ("0", "5", 10.5, 6.0), ("1", "4", 20.4, 6.0)])
        self.assertEqual(self.runs(), 12)

    def test_objective_that_no_point_has(self):
        done = self.explore(with_sizes(333), code=2)
        self.assertIn("study.toml:6: objective 'latency_ns_p50': no point has it", done.stderr)
        # Of a benchmark's own workload it is known only now.
        study = ONE.replace("[[workload]]", '[[workload]]\nbench = "other"') + '[results]\nobjectives = { round_trip = "min" }\n'
        done = self.explore(study, code=2, out=self.folder / "two")
        self.assertIn("objective 'round_trip': no point has it; did you mean 'round_trip_ns'?", done.stderr)


class Folder(ExploreTest):
    def records(self):
        return list((self.out / "runs").glob("[0-9a-f]*.json"))

    def wait_for(self, condition):
        deadline = time.monotonic() + 60
        while not condition() and time.monotonic() < deadline:
            time.sleep(0.02)
        self.assertTrue(condition())

    def test_finished_points_are_not_simulated_again(self):
        self.explore(with_sizes(1, 13, 666), code=1)
        before = self.rows()
        self.assertEqual(self.runs(), 3)
        self.explore(with_sizes(1, 13, 666), code=1)
        self.assertEqual(self.runs(), 3)
        self.assertEqual(self.rows(), before)
        self.explore(with_sizes(1, 13, 666, 5), code=1)  # one more
        self.assertEqual(self.runs(), 4)
        self.explore(with_sizes(1, 13, 666, 5), "--retry", code=1)
        self.assertEqual(self.runs(), 6)

    def test_more_time_runs_a_slow_point_again(self):
        self.explore("timeout_s = 5\n" + with_sizes(777), code=1)
        self.explore("timeout_s = 4\n" + with_sizes(777), code=1)
        self.assertEqual(self.runs(), 1)
        self.explore("timeout_s = 6\n" + with_sizes(777), code=1)
        self.assertEqual(self.runs(), 2)

    def test_killed_study_continues(self):
        study = STUDY.replace("[1, 2, 3]", "{ from = 20, to = 29, step = 1 }")
        with subprocess.Popen(self.command(study, "--jobs", "2"), env=self.environment(FAKE_SLEEP="0.4"), stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as process:
            self.wait_for(lambda: len(self.records()) >= 4)
            process.kill()
        finished = [json.loads(path.read_text(encoding="utf-8"))["settings"]["nic.size"] for path in self.records()]
        self.assertGreaterEqual(len(finished), 4)
        self.assertLess(len(finished), 10)
        self.explore(study)
        self.assertEqual([row["status"] for row in self.rows()], ["ok"] * 10)
        simulated = self.log.read_text(encoding="utf-8").split()
        self.assertEqual([simulated.count(str(size)) for size in finished], [1] * len(finished))
        self.assertLessEqual(len(simulated), 12)  # lost: at most the two under way

    def test_interrupt_stops_the_simulators(self):
        study = STUDY.replace("[1, 2, 3]", "[1, 777]")
        with subprocess.Popen(self.command(study, "--jobs", "2"), env=self.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as process:
            self.wait_for(lambda: self.runs() == 2 and len(self.records()) == 1)
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 130, errors)
        self.assertIn("interrupted; the same command continues", errors)
        self.assertEqual(len(self.records()), 1)
        self.assertEqual(list((self.out / "runs").glob(".run-*")), [])

    def test_shares_cover_every_point_once(self):
        study = with_sizes(1, 2, 3, 4, 5)
        for index, wanted in enumerate((["1", "4"], ["2", "5"], ["3"])):
            self.log.unlink(missing_ok=True)
            done = self.explore(study, "--index", f"{index}/3")
            self.assertEqual(sorted(self.log.read_text(encoding="utf-8").split()), wanted)
            self.assertIn("the command without --index writes the results", done.stdout)
        self.assertFalse((self.out / "results.csv").exists())
        self.log.unlink()
        self.explore(study)
        self.assertEqual(self.runs(), 0)
        self.assertEqual(len(self.rows()), 5)

    def test_shares_of_other_machines_are_merged(self):
        study = with_sizes(1, 2, 3, 4)
        shares = [self.folder / "zero", self.folder / "one"]
        for index, share in enumerate(shares):
            self.explore(study, "--index", f"{index}/2", out=share)
        self.assertEqual(self.runs(), 4)
        both = ("--merge", str(shares[0]), "--merge", str(shares[1]))
        self.explore(study, *both)
        self.assertEqual(self.runs(), 4)
        self.assertEqual([row["nic.size"] for row in self.rows()], ["1", "2", "3", "4"])
        self.explore(study, "--no-resume")
        self.assertEqual(self.runs(), 8)
        # Nothing is taken from a folder with something wrong.
        record = max((shares[1] / "runs").glob("*.json"))
        good = record.read_text(encoding="utf-8")
        for text, word in ((good[:100], "not JSON"), (re.sub(r'"goodput_gbps": [\d.]+', '"goodput_gbps": 7', good), "has other figures than")):
            record.write_text(text, encoding="utf-8")
            done = self.explore(study, *both, code=2)
            self.assertRegex(done.stderr, rf"{record.name}.*{word}")
        self.assertIn("is no folder of results", self.explore(study, "--merge", str(self.folder), code=2).stderr)
        self.explore(study.replace('"s"', '"t"'), out=self.folder / "t")
        self.assertIn("has the results of the study 't'", self.explore(study, "--merge", str(self.folder / "t"), code=2).stderr)

    def test_two_at_once_are_refused(self):
        for first, second, is_refused in (((), (), True), ((), ("--index", "0/2"), True), (("--index", "0/2"), ("--index", "0/2"), True),
                                          (("--index", "0/2"), ("--index", "1/2"), False)):
            out = self.folder / "".join(("x", *first, "y", *second)).replace("/", "_")
            before = self.runs()
            with subprocess.Popen(self.command(STUDY, *first, "--jobs", "1", out=out), env=self.environment(FAKE_SLEEP="2"), stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL) as process:
                self.wait_for(lambda: self.runs() > before)
                done = self.explore(STUDY, *second, out=out, code=2 if is_refused else 0)
                self.assertEqual("another ./vireo explore is running in this folder" in done.stderr, is_refused, done.stderr)
                process.wait(timeout=60)

    def test_folder_of_another_study(self):
        self.explore(STUDY)
        done = self.explore(STUDY.replace('"s"', '"t"'), code=2)
        self.assertRegex(done.stderr, r"out: has the results of the study 's', not of 't'; choose another --out")

    def test_folder_of_something_else(self):
        self.out.mkdir()
        (self.out / "letter.txt").write_text("dear", encoding="utf-8")
        self.refused(STUDY, "out: is no folder of results, and not empty")

    def test_damaged_record(self):
        self.explore(STUDY)
        record = min((self.out / "runs").glob("*.json"))
        good = record.read_text(encoding="utf-8")
        for text, line, word in ((good[:100], 5, "not JSON"), (good.replace('"outcome"', '"autcome"'), 1, "not the record of a run"),
                                 (re.sub(r'"goodput_gbps": [\d.]+', '"goodput_gbps": "fast"', good), 1, "not the record of a run"),
                                 ("[]", 1, "not a JSON object")):
            record.write_text(text, encoding="utf-8")
            done = self.explore(STUDY, code=2)
            self.assertRegex(done.stderr, rf"{record.name}:\d+: .*{word}.*delete it")
        record.unlink()
        self.explore(STUDY)
        self.assertEqual(self.runs(), 4)

    def test_disk_full(self):
        def limit(size):
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))  # of a file

        for size, file in ((300, r"runs/[0-9a-f]+\.json"), (100_000, r"report\.html")):  # the record of a run has more; the report has more
            done = subprocess.run(self.command(STUDY), capture_output=True, text=True, check=False, env=self.environment(),
                                  preexec_fn=lambda size=size: limit(size))
            self.assertEqual(done.returncode, 2)
            self.assertRegex(done.stderr, rf"{file}: File too large; what is finished is kept, the same command continues")
            self.assertEqual([path for path in self.out.rglob(".*") if not path.name.startswith(".lock")], [])
        self.assertEqual(len(self.records()), 3)
        runs = self.runs()
        self.explore(STUDY)
        self.assertEqual(self.runs(), runs)

    def test_dry_run_writes_nothing(self):
        done = self.explore(with_sizes(1, 2, 13), "--dry-run")
        self.assertFalse(self.out.exists())
        self.assertIn("3 points, 3 runs", done.stdout)
        self.assertIn("1: nic.size: 13 brings bad luck", done.stdout)
        self.assertRegex(done.stdout, r"estimated time: \d+ s")

    def test_manifest_tells_how_to_repeat(self):
        self.explore(STUDY, "--set", "nic.clock=30")
        manifest = json.loads((self.out / "manifest.json").read_text(encoding="utf-8"))
        self.assertEqual(manifest["text"], STUDY)
        self.assertEqual(manifest["set"], ["nic.clock=30"])
        self.assertEqual(manifest["status"], {"ok": 3})
        for key in ("model", "version", "host", "written", "command", "seeds"):
            self.assertTrue(manifest[key], key)

    def test_program_that_cannot_run(self):
        type(self).bench = self.folder / "nothing"
        self.addCleanup(setattr, type(self), "bench", ExploreTest.bench)
        self.refused(STUDY, "nothing: --list-settings does not work")


if __name__ == "__main__":
    os.umask(0o022)
    sys.exit(unittest.main())
