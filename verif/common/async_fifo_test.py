# SPDX-License-Identifier: Apache-2.0
"""vireo_async_fifo between unrelated clocks, against a list: what is proven (verif/formal/vireo_async_fifo_proof.sv) at any depth,
and in addition the cycles in which entries and room appear."""

import collections
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge, Timer

# Periods of writer and reader in ps: CMAC to nic100 and back, nearly equal, far apart.
PERIODS = ((3103, 4000), (4000, 3103), (4000, 4001), (8000, 3103), (1000, 9700), (9700, 1000))


class Bench:
    """Drives both sides behind their falling edges, and keeps what must come."""

    def __init__(self, dut, s_period, m_period):
        self.dut, self.random = dut, random.Random(cocotb.RANDOM_SEED + s_period)
        self.depth = (1 << len(dut.s_room_o)) // 2
        self.group, self.expected, self.taken, self.dropped = [], collections.deque(), 0, 0
        self.push_share = self.pop_share = 0.5
        self.drop_share, self.last_share = 0.05, 0.3
        self.within = False
        self.clocks = []
        for name in ("s_rst_ni", "m_rst_ni", "s_valid_i", "s_data_i", "s_last_i", "s_drop_i", "m_ready_i"):
            getattr(dut, name).setimmediatevalue(0)
        self.s_period, self.m_period = s_period, m_period

    async def start(self, reader_first=False):
        dut = self.dut
        self.clocks = [cocotb.start_soon(Clock(dut.s_clk_i, self.s_period // 2 * 2, "ps").start()),
                       cocotb.start_soon(Clock(dut.m_clk_i, self.m_period // 2 * 2, "ps").start())]
        await Timer(50, "ns")
        sides = [(dut.s_clk_i, dut.s_rst_ni), (dut.m_clk_i, dut.m_rst_ni)]
        for clock, reset in reversed(sides) if reader_first else sides:
            await FallingEdge(clock)
            reset.value = 1
            await Timer(self.random.randrange(1, 40), "ns")

    def stop(self, *tasks):
        for task in (*tasks, *self.clocks):
            task.kill()

    async def write(self):
        dut = self.dut
        while True:
            await FallingEdge(dut.s_clk_i)
            offer = self.random.random() < self.push_share
            # A group that fills the memory would wait for ever.
            full = len(self.group) >= self.depth - 1
            drop = self.random.random() < self.drop_share
            last = self.random.random() < self.last_share or full
            data = self.random.randrange(1 << 24)
            dut.s_valid_i.value, dut.s_data_i.value, dut.s_last_i.value, dut.s_drop_i.value = offer, data, last, drop
            await RisingEdge(dut.s_clk_i)
            if drop:
                self.dropped += len(self.group)
                self.group = []
            elif offer and dut.s_ready_o.value:
                self.group.append((data, last))
                if last:
                    self.expected.extend(self.group)
                    self.group = []

    async def read(self):
        dut, held = self.dut, None
        while True:
            await FallingEdge(dut.m_clk_i)
            dut.m_ready_i.value = self.random.random() < self.pop_share
            await RisingEdge(dut.m_clk_i)
            if not dut.m_valid_o.value:
                assert not self.within, "a gap within a group"
                assert held is None, "an entry went away"
                continue
            entry = (int(dut.m_data_o.value), bool(dut.m_last_o.value))
            assert held in (None, entry), "an entry changed"
            assert self.expected, f"nothing was pushed, {entry} is there"
            assert entry == self.expected[0]
            held = entry
            if dut.m_ready_i.value:
                held = None
                self.expected.popleft()
                self.taken += 1
                self.within = not entry[1]


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def entries_cross_between_any_clocks(dut):
    for index, (s_period, m_period) in enumerate(PERIODS):
        bench = Bench(dut, s_period, m_period)
        await bench.start(reader_first=bool(index % 2))
        tasks = [cocotb.start_soon(bench.write()), cocotb.start_soon(bench.read())]
        for push, pop, last in ((0.5, 0.5, 0.3), (1, 1, 1), (1, 0.1, 0.3), (0.1, 1, 0.2), (1, 1, 0.05), (1, 0, 0.3), (0, 1, 1)):
            bench.push_share, bench.pop_share, bench.last_share = push, pop, last
            before = bench.taken
            await Timer(300 * max(s_period, m_period), "ps")
            assert bench.taken > before or pop == 0
        await Timer(2 * bench.depth * max(s_period, m_period), "ps")
        assert not bench.expected, "entries are lost"
        assert bench.dropped and bench.taken > 300
        bench.stop(*tasks)
        await Timer(1, "ns")


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def an_entry_is_visible_after_three_edges_and_its_room_after_four(dut):
    """With edges apart: the reader's third edge behind the push's is not enough in its first half, in its second it is."""
    for s_period, m_period in PERIODS[:2]:
        bench = Bench(dut, s_period, m_period)
        await bench.start()
        await Timer(200, "ns")
        for _ in range(20):
            room = int(dut.s_room_o.value)
            assert room == bench.depth and not dut.m_valid_o.value
            await FallingEdge(dut.s_clk_i)
            dut.s_valid_i.value, dut.s_last_i.value, dut.s_data_i.value = 1, 1, 5
            await RisingEdge(dut.s_clk_i)
            await Timer(1, "ps")
            dut.s_valid_i.value = 0
            for edge in range(1, 4):
                await RisingEdge(dut.m_clk_i)
                await FallingEdge(dut.m_clk_i)
                assert bool(dut.m_valid_o.value) == (edge == 3), f"edge {edge}"
            await RisingEdge(dut.s_clk_i)
            await FallingEdge(dut.s_clk_i)
            dut.m_ready_i.value = 1
            await RisingEdge(dut.m_clk_i)
            await Timer(1, "ps")
            dut.m_ready_i.value = 0
            await Timer(100 + bench.random.randrange(10), "ns")
        # Full: no more than Depth and the one in the output; then the room of one that left. Its edges are counted from the read.
        dut.s_valid_i.value = 1
        await Timer(2 * bench.depth * s_period + 100_000, "ps")
        assert dut.s_room_o.value == 0 and not dut.s_ready_o.value
        dut.s_valid_i.value = 0
        await FallingEdge(dut.m_clk_i)
        dut.m_ready_i.value = 1
        await RisingEdge(dut.m_clk_i)
        await Timer(1, "ps")
        dut.m_ready_i.value = 0
        for edge in range(1, 5):
            await RisingEdge(dut.s_clk_i)
            await FallingEdge(dut.s_clk_i)
            assert int(dut.s_room_o.value) == (edge == 4), f"edge {edge}"
        bench.stop()
        await Timer(1, "ns")


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_reset_empties_it(dut):
    bench = Bench(dut, 3103, 4000)
    await bench.start()
    dut.s_valid_i.value = dut.s_last_i.value = 1
    await Timer(200, "ns")
    assert dut.m_valid_o.value and int(dut.s_room_o.value) < bench.depth
    dut.s_valid_i.value = 0
    dut.s_rst_ni.value = dut.m_rst_ni.value = 0  # between edges, the clocks need not run
    await Timer(1, "ps")
    assert not dut.m_valid_o.value and not dut.s_ready_o.value
    bench.stop()
    bench = Bench(dut, 3103, 4000)
    await bench.start(reader_first=True)
    await Timer(100, "ns")
    assert not dut.m_valid_o.value and int(dut.s_room_o.value) == bench.depth
    tasks = [cocotb.start_soon(bench.write()), cocotb.start_soon(bench.read())]
    await Timer(3, "us")
    assert bench.taken > 50
    bench.stop(*tasks)
