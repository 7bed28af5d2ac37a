#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""./vireo bench --bottleneck: for every workload, more speed for what is named brings more throughput, and more speed for
something else does not. Arguments: the program, then options of it (--config …)."""

import collections
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM, *OPTIONS = sys.argv[1:]
MORE = 0.02  # throughput
# In this order, the first that is not named.
OTHERS = ("sender.completer", "peer.cq_writer", "sender.cq_writer", "pcie")
# Their blocks take a second step in every N-th cycle only. send_64b_16qp: with a completer of twice the speed the sender sends more
# than the peer takes, so that its receive buffer overflows and half of all frames are sent twice.
EVERY = {"send_64b_16qp": 16}
# Without --quick, which measures too few messages of these: of the first one 2,000, and 1,024 are outstanding, so that its beginning counts
# for more than the rest; of the last one 40, so that a single loss is worth 3 %.
LONG = ("write_64b_16qp", "atomic_write_8b_16qp", "loss_64k_write_1pct", "write_64k_16qp")
# Their peer loses frames, of the first one because 16 queue pairs wait for receives of one queue, and more of them if it or the sender is
# faster: what that is worth tells nothing of the limit.
LOSSY = ("srq_send_4k_16qp", "flush_64b_16qp")
# Whatever is faster, other frames are lost, and each timeout more or less, of a NAK or of a frame that was sent again, is 1 % of the time.
CHANCE = {"loss_64k_write_1pct": 0.05}
# Not the data path: twice its width also shortens the way of each message.
RESOURCES = ("pcie", "host_memory", "outstanding")


def bench(workloads, *faster, settings=()):
    """Workload -> (throughput, names of the limits, in words)."""
    with tempfile.TemporaryDirectory() as folder:
        result = pathlib.Path(folder) / "result.json"
        command = [PROGRAM, "--device", "model", "--bottleneck", "--result", result, *OPTIONS]
        if not set(workloads) or not set(workloads) <= set(LONG):
            command += ["--quick"]
        if workloads:
            command += ["--workload", ",".join(workloads)]
        for setting in settings:
            command += ["--set", setting]
        if faster:
            command += ["--speed-up", ",".join(faster)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise AssertionError(f"{command}: {done.stdout}{done.stderr}")
        rows = json.loads(result.read_text(encoding="utf-8"))["rows"]
    found = {}
    for row in rows:
        metrics = {metric["name"]: metric["value"] for metric in row["metrics"]}
        if row["bottleneck"]:
            # Of 16 messages of 1 MiB that are under way, those that have ended are a coarse measure: the bytes on the wire count.
            is_long = "_1m_" in row["workload"]
            rate = metrics["wire_gbps"] + metrics["wire_back_gbps"] if is_long else metrics["msgs_per_s"]
            found[row["workload"]] = (rate, tuple(row["limits"]), row["bottleneck"])
    return found


def gains(base, choice, settings=()):
    """Workload -> (what is faster, gain), with `choice` of each."""
    groups = collections.defaultdict(list)
    for workload in base:
        faster = tuple(f"{name}/{EVERY[workload]}" if "." in name and workload in EVERY else name for name in choice(workload))
        groups[faster, workload in LONG].append(workload)
    result = {}
    for (faster, _), workloads in groups.items():
        for workload, (rate, _, _) in bench(workloads, *faster, settings=settings).items():
            result[workload] = (faster, rate / base[workload][0] - 1)
    return result


class Bottleneck(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.base = {workload: row for workload, row in (bench([]) | bench(LONG)).items() if workload not in LOSSY}
        cls.named = gains(cls.base, lambda workload: cls.base[workload][1])
        cls.other = gains(cls.base, lambda workload: (next(name for name in OTHERS if not cls.is_named(workload, name)),))
        cls.resources = {name: gains(cls.base, lambda _, name=name: (name,)) for name in RESOURCES}
        for workload, (_, _, words) in cls.base.items():
            print(f"{workload:24}", *(f"{','.join(faster)} {100 * gain:+.1f} %" for faster, gain in (cls.named[workload], cls.other[workload])),
                  f" {words}", sep="  ", flush=True)

    @classmethod
    def is_named(cls, workload, name):
        """Also in the words: of a block that waits for host memory, and of those that it blocks."""
        _, limits, words = cls.base[workload]
        return name in limits or name.split(".")[-1] in words

    def test_speed_of_the_bottleneck_is_worth_it(self):
        for workload, (faster, gain) in self.named.items():
            with self.subTest(workload, faster=faster, bottleneck=self.base[workload][2]):
                self.assertGreater(gain, MORE)

    def test_speed_of_another_is_not(self):
        for workload, (faster, gain) in self.other.items():
            with self.subTest(workload, faster=faster, bottleneck=self.base[workload][2]):
                # Beside a limit that is worth much, what makes it wait less is worth a little.
                self.assertLess(gain, max(MORE, self.named[workload][1] / 10, CHANCE.get(workload, 0)))

    def test_no_resource_is_worth_more(self):
        for workload, (named, gain) in self.named.items():
            for name, found in self.resources.items():
                with self.subTest(workload, faster=name, named=named, bottleneck=self.base[workload][2]):
                    self.assertLessEqual(found[workload][1], gain)

    def test_block_that_waits_for_host_memory(self):
        """The send queue has room for so many work requests: with more under way, the same latency costs less."""
        settings = ("nic.send_requests_kept=16",)  # so that READs that were put off are read again
        waiting = bench(["read_64b_16qp"], settings=settings)
        for workload, (_, gain) in gains(waiting, lambda _: ("sender.send_queue",), settings).items():
            _, limits, words = waiting[workload]
            with self.subTest(workload, bottleneck=words):
                self.assertEqual(limits, ("host_memory",))
                self.assertTrue(words.startswith("send_queue of the sender"))
                self.assertGreater(gain, MORE)

    def test_room_for_what_waits_for_host_memory(self):
        """The send queue asks for 32 descriptors at a time and no more. Blocks that have as much to do do not help, nor room elsewhere."""
        settings = ("nic.send_queue_buffers=32",)
        one = bench(["write_64b_16qp"], settings=settings)
        _, limits, words = one["write_64b_16qp"]
        self.assertEqual(limits, ("host_memory",))
        self.assertRegex(words, r"send_queue of the sender has no room for another request in [4-9]\d % of cycles")
        for block, helps in (("sender.send_queue", True), ("sender.desc_fetch", False), ("sender.dma_read_port", False),
                             ("sender.completer", False), ("peer.responder", False)):
            with self.subTest(block, bottleneck=words):
                ((_, gain),) = gains(one, lambda _, block=block: (block,), settings).values()
                self.assertEqual(gain > MORE, helps, gain)

    def test_words(self):
        """Of limits that are neither a full stream nor a resource that is used up."""
        self.assertRegex(self.base["atomic_8b_16qp"][2], r"^read_responder of the peer: its machine is busy in (9[5-9]|100) % of cycles, and waits in [1-9]\d % for")
        self.assertEqual(self.base["write_4k_1qp"][1], ("pcie", "host_memory"))
        self.assertRegex(self.base["write_4k_1qp"][2], r"of which [1-9]\d\d+ ns are queueing for PCIe to the sender, used for [89]\d %")

    def test_every_workload_is_judged(self):
        self.assertEqual(len(self.base) + len(LOSSY), 46)
        self.assertEqual(set(self.named), set(self.base))

    def test_kinds_of_bottleneck(self):
        """The workloads show each of them."""
        kinds = {name.split(".")[-1] for _, limits, _ in self.base.values() for name in limits}
        self.assertTrue({"wire", "data_path", "host_memory", "outstanding", "cq_writer"} <= kinds, kinds)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
