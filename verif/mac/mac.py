# SPDX-License-Identifier: Apache-2.0
"""What is on both sides of vireo_mac: of the MAC cocotbext-axi's source and sink, of the NIC its rules on frames."""

import collections
import logging
import pathlib
import os
import random
import re

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge, Timer
from cocotbext.axi import AxiStreamBus, AxiStreamFrame, AxiStreamSink, AxiStreamSource

# The model reports every frame.
logging.getLogger(f"cocotb.{os.environ['TOPLEVEL']}").setLevel(logging.ERROR)

MIN, MAX = 60, 9728
FRAMER_CYCLES = 10  # from a frame's acceptance to its first beat: docs/blocks/tx_framer.md


def touch(dut):
    """By name, before a bus lists all signals: what a list names in Verilator 5.006 are copies of the inputs."""
    source = (pathlib.Path(os.environ["VIREO_TOP_FOLDER"]) / f"{os.environ['TOPLEVEL']}.sv").read_text(encoding="utf-8")
    for name in re.findall(r"^  (?:in|out)put .* (\w+),?$", source, re.MULTILINE):
        getattr(dut, name)


class MacSide:
    """CMAC or xxv_ethernet. `sent` frames are bytes; `send` puts one on the wire, good or not."""

    def __init__(self, dut):
        self.dut = dut
        touch(dut)
        dut.tx_reset.setimmediatevalue(0)
        dut.rx_reset.setimmediatevalue(0)
        dut.link.setimmediatevalue(1)
        self.sink = AxiStreamSink(AxiStreamBus.from_prefix(dut, "tx_axis"), dut.tx_clk, dut.tx_reset)
        self.source = AxiStreamSource(AxiStreamBus.from_prefix(dut, "rx_axis"), dut.rx_clk, dut.rx_reset)
        cocotb.start_soon(self.watch())

    def send(self, data, bad=False):
        self.source.send_nowait(AxiStreamFrame(data, tuser=[0] * (len(data) - 1) + [int(bad)]))

    def taken(self):
        frames = []
        while not self.sink.empty():
            frame = self.sink.recv_nowait()
            assert not any([frame.tuser] if isinstance(frame.tuser, int) else frame.tuser or []), "a bad frame is sent"
            frames.append(bytes(frame.tdata))
        return frames

    async def watch(self):
        """No gap in a frame: the MAC ends it there. [PG203, transmit AXI4-Stream: tvalid stays until tlast]"""
        within = False
        while True:
            await RisingEdge(self.dut.tx_clk)
            if self.dut.tx_reset.value:
                within = False
                continue
            valid = bool(self.dut.tx_axis_tvalid.value)
            assert valid or not within, "a gap in a frame"
            if valid and self.dut.tx_axis_tready.value:
                within = not self.dut.tx_axis_tlast.value


class NicSide:
    """Sends as tx_builder does, and takes as rx_buffer does."""

    def __init__(self, dut, seed):
        self.dut, self.random = dut, random.Random(seed)
        self.bytes = len(dut.s_axis_tkeep)
        self.queue, self.received = collections.deque(), []
        self.idle_share, self.not_ready = 0.0, 0
        for name in ("s_axis_tvalid", "s_axis_tdata", "s_axis_tkeep", "s_axis_tlast"):
            getattr(dut, name).setimmediatevalue(0)
        dut.nic_rst_n.setimmediatevalue(1)
        cocotb.start_soon(self.send())
        cocotb.start_soon(self.take())

    async def send(self):
        """ready in one cycle lets a frame begin in the next; then it takes a beat per cycle and never waits."""
        dut, line, cycle, free_at, ready = self.dut, collections.deque(), 0, 0, False
        while True:
            await FallingEdge(dut.clk)
            cycle += 1
            if not dut.nic_rst_n.value:
                line.clear()
                self.queue.clear()
                ready, free_at = False, 0
            if self.queue and cycle >= free_at:
                self.not_ready += not ready
                if ready and self.random.random() >= self.idle_share:
                    frame = self.queue.popleft()
                    for at in range(0, len(frame), self.bytes):
                        line.append((cycle + FRAMER_CYCLES + at // self.bytes, frame[at:at + self.bytes], at + self.bytes >= len(frame)))
                    free_at = cycle + -(-len(frame) // self.bytes)
            beat = line.popleft() if line and line[0][0] <= cycle else None
            dut.s_axis_tvalid.value = beat is not None
            if beat:
                dut.s_axis_tdata.value = int.from_bytes(beat[1], "little")
                dut.s_axis_tkeep.value = (1 << len(beat[1])) - 1
                dut.s_axis_tlast.value = beat[2]
            ready = bool(dut.s_axis_tready.value)

    async def take(self):
        dut, frame = self.dut, bytearray()
        while True:
            await FallingEdge(dut.clk)
            if not dut.nic_rst_n.value:
                frame = bytearray()
                continue
            if not dut.m_axis_tvalid.value:
                assert not frame, "a gap in a frame"
                continue
            keep, last = int(dut.m_axis_tkeep.value), bool(dut.m_axis_tlast.value)
            count = keep.bit_length()
            assert keep == (1 << count) - 1 and count and (last or count == self.bytes)
            data = int(dut.m_axis_tdata.value)
            assert data >> 8 * count == 0, "bytes behind the last one"
            assert not dut.m_axis_tuser.value
            frame += data.to_bytes(self.bytes, "little")[:count]
            if last:
                self.received.append(bytes(frame))
                frame = bytearray()


def share(seed, part):
    """A pause generator: still in this part of the cycles, in runs."""
    source = random.Random(seed)
    while True:
        pause = source.random() < part
        for _ in range(source.randrange(1, 9)):
            yield pause


class Bench:
    def __init__(self, dut, core_ps=4000, tx_ps=3102, rx_ps=3104):
        self.dut, self.random = dut, random.Random(cocotb.RANDOM_SEED)
        self.mac, self.nic = MacSide(dut), NicSide(dut, self.random.random())
        dut.power_rst_n.setimmediatevalue(0)
        self.periods = (core_ps, tx_ps, rx_ps)
        self.clocks = [cocotb.start_soon(Clock(clock, period, "ps").start())
                       for clock, period in zip((dut.clk, dut.tx_clk, dut.rx_clk), self.periods)]

    async def start(self):
        await Timer(50, "ns")
        self.dut.power_rst_n.value = 1
        await Timer(100, "ns")
        return self

    def counts(self):
        return {name: int(getattr(self.dut, name).value)
                for name in ("rx_good", "rx_error", "rx_runt", "rx_oversize", "rx_overrun", "tx_discarded")}

    async def until(self, condition, what, limit_us=400):
        for _ in range(limit_us * 2):
            if condition():
                return
            await Timer(500, "ns")
        raise AssertionError(what)


def different(random_source, length):
    return random_source.randbytes(length)
