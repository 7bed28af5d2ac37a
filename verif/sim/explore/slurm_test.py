#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--slurm of ./vireo explore, test, faults, fuzz and mutants with a real Slurm on this machine: slurmctld, slurmd and munged on loopback, started and
stopped here. Skipped where they are not installed, and for users other than root, as whom the daemons run. Argument: vireo_faults."""

import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

from common import ROOT, STUDY, ExploreTest

sys.path.append(str(ROOT / "verif/mutants"))
import mutants_test  # noqa: E402  pylint: disable=wrong-import-position

FAULTS = sys.argv.pop(1) if sys.argv[1:] and not sys.argv[1].startswith("-") else ""
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue")
PATH = os.environ["PATH"] + ":/usr/sbin"
MISSING = [program for program in PROGRAMS if shutil.which(program, path=PATH) is None]
CONFIG = """ClusterName=vireo
AuthType=auth/munge
AuthInfo=socket={dir}/munge.socket
CredType=cred/munge
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
StateSaveLocation={dir}/state
SlurmdSpoolDir={dir}/spool
SlurmctldPidFile={dir}/slurmctld.pid
SlurmdPidFile={dir}/slurmd.pid
SlurmctldPort={ctld}
SlurmdPort={slurmd}
SlurmctldLogFile={dir}/slurmctld.log
SlurmdLogFile={dir}/slurmd.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SchedulerType=sched/builtin
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,sched_interval=1
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
KillWait=1
MinJobAge=2
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} State=UNKNOWN
PartitionName=p Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


# Of a fuzzing target: `mad` fails.
FUZZER = """#!/bin/sh
[ "$1" = --write-seeds ] && exit 0
echo "stat::number_of_executed_units: 7"
case $0 in *_mad) exit 1 ;; esac
"""


def free_port():
    with socket.socket() as some:
        some.bind(("127.0.0.1", 0))
        return some.getsockname()[1]


@unittest.skipIf(MISSING, f"no Slurm: not installed: {' '.join(MISSING)}")
@unittest.skipIf(os.geteuid() != 0, "no Slurm: its daemons need root here")
class Slurm(ExploreTest):
    daemons: list[subprocess.Popen]

    @classmethod
    def setUpClass(cls):
        cls.slurm = pathlib.Path(tempfile.mkdtemp(prefix="vireo-slurm-"))
        cls.addClassCleanup(shutil.rmtree, cls.slurm, ignore_errors=True)
        for name in ("state", "spool"):
            (cls.slurm / name).mkdir()
        (cls.slurm / "munge.key").write_bytes(os.urandom(128))
        (cls.slurm / "munge.key").chmod(0o400)
        config = cls.slurm / "slurm.conf"
        config.write_text(CONFIG.format(dir=cls.slurm, host=socket.gethostname().partition(".")[0], ctld=free_port(), slurmd=free_port(),
                                        cpus=os.cpu_count()), encoding="utf-8")
        cls.world = {"SLURM_CONF": str(config), "PATH": PATH}
        cls.daemons = []
        cls.addClassCleanup(cls.stop)
        # All files of munged are in a folder of root, which it accepts by --force.
        cls.start("munged", "--foreground", "--force", f"--key-file={cls.slurm}/munge.key", f"--socket={cls.slurm}/munge.socket",
                  f"--pid-file={cls.slurm}/munged.pid", f"--log-file={cls.slurm}/munged.log", f"--seed-file={cls.slurm}/munged.seed")
        cls.wait_for(lambda: (cls.slurm / "munge.socket").exists(), "munged")
        cls.start("slurmctld", "-D")
        cls.start("slurmd", "-D")
        cls.wait_for(lambda: "idle" in cls.ask("sinfo", "--noheader"), "slurmctld and slurmd")

    @classmethod
    def start(cls, *command):
        log = open(cls.slurm / f"{command[0]}.out", "w", encoding="utf-8")
        cls.addClassCleanup(log.close)
        cls.daemons.append(subprocess.Popen([shutil.which(command[0], path=PATH), *command[1:]], stdout=log, stderr=log, env=os.environ | cls.world))

    @classmethod
    def stop(cls):
        for daemon in reversed(cls.daemons):
            daemon.terminate()
            try:
                daemon.wait(timeout=10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()

    @classmethod
    def ask(cls, *command):
        return subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | cls.world).stdout

    @classmethod
    def wait_for(cls, condition, what, seconds=60):
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                logs = "".join(f"\n{path.name}: {path.read_text(errors='replace')[-600:]}" for path in cls.slurm.glob("*.[lo][ou][gt]"))
                raise AssertionError(f"{what}: not after {seconds} s{logs}")
            time.sleep(0.1)

    def environment(self, **more):
        return super().environment(**self.world, **more)

    def test_a_study_by_an_array(self):
        study = STUDY.replace("[1, 2, 3]", "[1, 2, 3, 13, 5]")
        done = self.explore(study, "--slurm", "2", code=1)
        self.assertEqual([row["status"] for row in self.rows()], ["ok", "ok", "ok", "illegal", "ok"])
        self.assertEqual(sorted(self.log.read_text(encoding="utf-8").split()), ["1", "13", "2", "3", "5"])
        self.assertIn("4 ok", done.stdout)
        self.assertEqual(len(list((self.out / "slurm").glob("*_[01].log"))), 2)
        self.explore(study, "--slurm", "2", code=1)  # nothing to submit
        self.assertEqual(self.runs(), 5)
        here = self.folder / "here"
        self.explore(study, out=here, code=1)
        keys = ("point", "status", "reason", "goodput_gbps", "pareto")
        self.assertEqual([[row[key] for key in keys] for row in self.rows()], [[row[key] for key in keys] for row in self.rows(here)])

    def test_a_task_that_dies_is_submitted_again(self):
        study = STUDY.replace("[1, 2, 3]", "[1, 2, 3, 4, 5, 6]")
        with subprocess.Popen(self.command(study, "--slurm", "2"), env=self.environment(FAKE_SLEEP="1.5"), stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as process:
            self.wait_for(lambda: len(list((self.out / "runs").glob("[0-9a-f]*.json"))) >= 1, "a first run")
            job = json.loads((self.out / "slurm/job.json").read_text(encoding="utf-8"))["job"]
            self.ask("scancel", f"{job}_0")
            # The command that waits is stopped too; the same one continues.
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 130, errors)
        done = self.explore(study, "--slurm", "2")
        self.assertIn("6 ok", done.stdout)
        self.assertGreater(len(list((self.out / "slurm").glob("*_0.log"))), 1)
        simulated = self.log.read_text(encoding="utf-8").split()
        self.assertEqual(sorted(set(simulated)), ["1", "2", "3", "4", "5", "6"])
        self.assertLessEqual(len(simulated), 7)  # of the task that was cancelled, at most the one under way

    def test_a_share_that_never_ends_well(self):
        done = self.explore(STUDY, "--slurm", "1", "--slurm-options=--begin=now", code=2, FAKE_LOST="1")
        self.assertIn("3 runs of the shares 0 are not finished after 3 submissions", done.stderr)

    def tool(self, *command, code=0):
        done = subprocess.run([sys.executable, *map(str, command)], capture_output=True, text=True, check=False, env=os.environ | self.world, timeout=300)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        return done

    def program(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)
        return path

    def test_the_test_suite_by_an_array(self):
        build = self.folder / "build"
        build.mkdir()
        tests = "".join(f'add_test(test{i} "sh" "-c" "sleep 0.1; exit {int(i == 3)}")\n' for i in range(6))
        # The first task that comes here dies, as if preempted: its share has no result.
        tests += f'add_test(last "sh" "-c" "mkdir {build}/once 2>/dev/null && kill -9 $(ps -o ppid= -p $$) || true")\n'
        (build / "CTestTestfile.cmake").write_text(tests, encoding="utf-8")
        done = self.tool(ROOT / "verif/repo/shards.py", "--slurm", 2, "--output", build / "Testing/junit.xml", "--ctest", "--test-dir", build, code=1)
        self.assertIn("7 tests of 2 shares, 1 failed, 0 skipped\n  failed: test3\n", done.stdout)
        self.assertEqual(re.findall(r"slurm: job \d+: (\d) tasks", done.stdout), ["2", "1"])

    @unittest.skipIf(not FAULTS, "needs vireo_faults")
    def test_the_fault_campaign_by_an_array(self):
        script, place = ROOT / "sim/faults/by_slurm.py", ("--slurm", 3, "--slurm-folder", self.folder / "slurm")
        choice = ("drop", "psn_gap", "--device", "model")
        alone = subprocess.run([FAULTS, *choice], capture_output=True, text=True, check=True).stdout
        done = self.tool(script, FAULTS, *choice, *place)
        self.assertEqual(done.stdout, alone)
        self.assertIn("slurm: 3 of 3 shares", done.stderr)
        self.assertIn("share 0: vireo faults: none of these faults", self.tool(script, FAULTS, "psn_gap", "--transport", "net", *place, code=2).stderr)
        self.assertIn("nonsense", self.tool(script, FAULTS, "nonsense", *place, code=2).stderr)
        self.assertIn("leave out --shard=0/2", self.tool(script, FAULTS, "--shard=0/2", *place, code=2).stderr)

    def test_the_mutants_by_an_array(self):
        script = ROOT / "verif/mutants/mutants.py"
        # The first mutant that comes here takes its task with it.
        once = f'[ "$VIREO_MUTANT" = 0 ] || ! mkdir {self.folder}/once 2>/dev/null || kill -9 $PPID\n'
        program = self.program("program", mutants_test.PROGRAM.replace("#!/bin/sh\n", "#!/bin/sh\n" + once))
        place = ("--program", program, "--slurm-folder", self.folder / "slurm")
        done = self.tool(script, "--slurm", 2, *place, code=1)
        self.assertEqual(re.findall(r"slurm: job \d+: (\d) tasks", done.stderr), ["2", "1"])
        alone = self.tool(script, "--program", program, code=1)
        self.assertEqual(re.sub(r"[\d.]+ s ", "", done.stdout), re.sub(r"[\d.]+ s ", "", alone.stdout))
        self.assertIn("SURVIVED", done.stdout)
        # Not even the RTL without a fault: no share has a result.
        program.write_text("#!/bin/sh\necho '[  FAILED  ]'; exit 1\n", encoding="utf-8")
        self.assertIn("share 0: the unmutated RTL fails", self.tool(script, "--slurm", 2, *place, code=2).stderr)
        self.assertIn("leave out --shard", self.tool(script, "--slurm", 2, "--shard", "0/2", *place, code=2).stderr)

    def test_a_campaign_that_is_stopped_continues(self):
        program = self.program("program", mutants_test.PROGRAM.replace("#!/bin/sh\n", f"#!/bin/sh\necho >>{self.log}\nsleep 0.05\n"))
        place = ("--slurm", "1", "--program", str(program), "--slurm-folder", str(self.folder / "slurm"))
        command = [sys.executable, str(ROOT / "verif/mutants/mutants.py"), *place]
        with subprocess.Popen(command, env=os.environ | self.world, stderr=subprocess.PIPE, text=True) as process:
            self.wait_for(lambda: self.runs() > 0, "a first run")
            with self.subTest("another command in this folder"):
                self.assertIn("another command waits", self.tool(*command[1:], code=2).stderr)
            process.send_signal(signal.SIGINT)
            self.assertIn("the same command waits for it", process.communicate(timeout=60)[1])
            self.assertEqual(process.returncode, 130)
        self.assertIn("is under way; wait until it has ended", self.tool(*command[1:], "--both", "--model-only", code=2).stderr)
        self.assertIn("continues with job", self.tool(*command[1:], code=1).stderr)
        number = self.runs()
        self.tool(*command[1:], code=1)  # all anew
        self.assertEqual(self.runs(), 2 * number)

    def test_the_fuzzing_targets_by_an_array(self):
        script, names = ROOT / "verif/fuzz/fuzz.py", ("packet", "mad", "ucma", "topology")
        place = ("--no-build", "--build-folder", self.folder / "build", "--slurm-folder", self.folder / "slurm")
        for name in names:
            self.program(f"build/verif/fuzz/vireo_fuzz_{name}", FUZZER)
        done = self.tool(script, *names, "--runs", 1, "--slurm", 3, *place, code=1)
        self.assertEqual(done.stdout, "".join(f"fuzz: {name}: 7 inputs{', FAILED' if name == 'mad' else ''}\n" for name in names))
        self.assertTrue(all((self.folder / "build/corpus" / name).is_dir() for name in names))
        self.program("build/verif/fuzz/vireo_fuzz_ucma", "#!/bin/sh\nkill -9 $PPID\n")
        done = self.tool(script, *names, "--runs", 1, "--slurm", 3, *place, code=2)
        self.assertIn("the shares 2 are not finished after 3 submissions", done.stderr)
        self.assertEqual(re.findall(r"slurm: job \d+: (\d) tasks", done.stderr), ["3", "1", "1"])
        self.assertIn("--slurm needs targets", self.tool(script, "--slurm", 3, *place, code=2).stderr)
        self.assertIn("leave out --shard, --update", self.tool(script, "all", "--slurm", 3, "--update", *place, code=2).stderr)

    def test_refusals(self):
        self.assertIn("sbatch refuses", self.explore(STUDY, "--slurm", "1", "--slurm-options=--partition=none", code=2).stderr)
        self.refused(STUDY, "leave out --index", arguments=("--slurm", "1", "--index", "0/2"))
        self.refused(STUDY, "'0' is not 1 to 10000", arguments=("--slurm", "0"))


class WithoutSlurm(ExploreTest):
    def test_it_is_named(self):
        (self.folder / "python3").symlink_to(sys.executable)
        done = self.explore(STUDY, "--slurm", "2", code=2, PATH=str(self.folder))
        self.assertIn("there is no sbatch here", done.stderr)


if __name__ == "__main__":
    sys.exit(unittest.main())
