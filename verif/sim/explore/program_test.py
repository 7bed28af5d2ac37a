#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A study with unmodified programs: what is refused, what they are run with, what is read of their output, and how they can fail. By a
stand-in for the simulator; model_test.py has the real one."""

import ast
import pathlib
import shutil
import sys
import tomllib
import unittest

from common import ExploreTest

import program

FAKE_RUN = pathlib.Path(__file__).with_name("fake_run.py")
PROGRAM = """name = "p"
[base]
pcie.preset = "p"
[vary]
workload.bytes = [10, 20]
[[workload]]
program = "ib_write_bw -F -s {bytes} -n 100"
[results]
objectives = { goodput_gbps = "max" }
"""


class Parts(unittest.TestCase):
    def test_topology_is_that_of_the_settings(self):
        self.assertEqual(tomllib.loads(program.topology({}))["link"], [{"ends": ["client", "server"]}])
        settings = {"wire.rate_mbps": 0, "wire.delay_ns": 7, "wire.lost_per_million": 2500, "wire.faults": 'delay 5 nth=3; # "x"\\',
                    "wire.faults_back": "drop\nghost"}
        self.assertEqual(tomllib.loads(program.topology(settings))["link"],
                         [{"ends": ["client", "server"], "delay_ns": 7, "faults": 'delay 5 nth=3; # "x"\\\ndrop rate=0.002500',
                           "faults_back": "drop\nghost"}])

    def test_only_one_row_of_the_expected_form_is_read(self):
        head = "client |  #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
        row = "client |  64       100              9.00            8.00		   1.500000\n"
        self.assertEqual(program.parse(head + row, "ib_read_bw"), {"peak_gbps": 9, "goodput_gbps": 8, "msgs_per_s": 1.5e6})
        self.assertIn("2 rows", program.parse(head + row + row, "ib_read_bw"))
        self.assertIn("0 rows", program.parse(head, "ib_read_bw"))
        self.assertIn("another form", program.parse(head + row, "ib_read_lat"))
        self.assertIn("another form", program.parse((head + row).replace("Gb/", "parsec/"), "ib_read_bw"))

    def test_names_of_figures(self):
        self.assertIn("latency_ns_p99", program.metrics("ib_send_lat -F"))
        self.assertEqual(program.metrics("ib_send_latency"), {})


@unittest.skipUnless(shutil.which("ib_write_bw"), "perftest is not installed")
class Programs(ExploreTest):
    def explore(self, study, *arguments, **more):
        return super().explore(study, "--simulator", str(FAKE_RUN), *arguments, **more)

    def calls(self):
        return [ast.literal_eval(line) for line in self.log.read_text(encoding="utf-8").splitlines()]

    def test_figures_and_arguments(self):
        self.explore(PROGRAM.replace("[vary]", "host.call_ns = 30\nwire.faults = \"drop nth=9\"\n[vary]"), "--jobs", "1")
        rows = self.rows()
        self.assertEqual([row["status"] for row in rows], ["ok", "ok"])
        self.assertEqual([float(row["goodput_gbps"]) for row in rows], [10 * 8 * 2**20 / 1e9, 20 * 8 * 2**20 / 1e9])
        self.assertEqual(float(rows[0]["msgs_per_s"]), 1.5e6)
        call = self.calls()[1]
        self.assertRegex(call[-2], r"^ib_write_bw -F -s 20 -n 100 -p \d+$")
        self.assertEqual(call[-1], f"{call[-2]} localhost")
        for word in ("--virtual-time=30", "--preset", "p", "--seed", "1"):
            self.assertIn(word, call)
        self.assertEqual(tomllib.loads(call[call.index("--topology") + 1])["link"][0]["faults"], "drop nth=9")
        self.explore(PROGRAM.replace("[vary]", "host.call_ns = 30\nwire.faults = \"drop nth=9\"\n[vary]"))
        self.assertEqual(len(self.calls()), 2)  # finished ones are not run again

    def test_latency_beside_a_workload_of_the_benchmark(self):
        study = PROGRAM.replace("[[workload]]\nprogram", '[[workload]]\nname = "model"\n[[workload]]\nname = "lat"\nprogram').replace("write_bw", "read_lat")
        self.explore(study.replace("goodput_gbps", "lat.latency_ns_p99").replace('"max"', '"min"'))
        self.assertEqual([float(row["lat.latency_ns_typical"]) for row in self.rows()], [2250, 2250])
        self.assertIn("model.goodput_gbps", self.rows()[0])

    def test_refusals(self):
        def refused(study, *words):
            self.refused(study, *words, arguments=("--simulator", str(FAKE_RUN)))
        refused(PROGRAM.replace("ib_write_bw", "ping"), "study.toml:7:", "one of perftest's")
        refused(PROGRAM.replace("-n 100", "-a"), "study.toml:7:", "one size a run")
        refused(PROGRAM.replace("-n 100", "-p 7"), "study.toml:7:", "a port of its own")
        refused(PROGRAM.replace("{bytes}", "{bites}"), "study.toml:7:", "{bites} is no setting", "'bytes'")
        refused(PROGRAM.replace("workload.bytes", "nic.size"), "study.toml:7:", "{bytes} has no value")
        refused(PROGRAM.replace("[vary]", "[vary]\nnic.size = [1, 2]"), "study.toml:5:", "a program cannot have nic.size")
        refused(PROGRAM.replace("[vary]", "nic.size = 2\n[vary]"), "study.toml:4:", "a program cannot have nic.size")
        refused(PROGRAM.replace("{bytes}", "5").replace("workload.bytes = [10, 20]", "wire.delay_ns = [1, 2]").replace("[results]", "bytes = 3\n[results]"),
                "study.toml:8:", "does not use bytes")
        refused(PROGRAM.replace("[results]", 'bench = "other"\n[results]'), "study.toml:8:", "not both")
        refused(PROGRAM.replace("goodput_gbps", "latency_ns_p50"), "study.toml:9:", "no metric 'latency_ns_p50'")
        self.refused(PROGRAM, "/no/such: is not built", arguments=("--simulator", "/no/such"))

    def test_failures_are_rows(self):
        for fault, status, reason in (("fails", "failed", "exit code 1: client | Couldn't connect to localhost"),
                                      ("hangs", "timeout", "not done after 3 s"), ("prints_nothing", "failed", "0 rows of figures")):
            with self.subTest(fault=fault):
                out = self.folder / fault
                self.explore("timeout_s = 3\n" + PROGRAM, code=1, out=out, FAKE_PAIR=fault)
                self.assertEqual({row["status"] for row in self.rows(out)}, {status})
                self.assertIn(reason, self.rows(out)[0]["reason"])
        self.explore(PROGRAM.replace("[vary]", "host.call_ns = 0\n[vary]"), code=1, out=self.folder / "no_time")
        self.assertEqual({row["status"] for row in self.rows(self.folder / "no_time")}, {"illegal"})

    def test_a_missing_program_is_skipped_and_tried_again(self):
        (self.folder / "python3").symlink_to(sys.executable)
        done = self.explore(PROGRAM, code=1, PATH=str(self.folder))
        self.assertEqual({(row["status"], row["reason"]) for row in self.rows()},
                         {("skipped", "ib_write_bw is not installed; it is in the Debian package perftest")})
        self.assertIn("2 skipped", done.stdout)
        self.explore(PROGRAM)
        self.assertEqual({row["status"] for row in self.rows()}, {"ok"})

    def test_rtl_cannot_confirm_them(self):
        done = self.explore(PROGRAM, "--confirm", "rtl", code=2)
        self.assertIn("unmodified programs run on the model only", done.stderr)


if __name__ == "__main__":
    sys.exit(unittest.main())
