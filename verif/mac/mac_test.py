# SPDX-License-Identifier: Apache-2.0
"""Frames both ways between the NIC's clock and two of a MAC."""

import cocotb
from cocotb.triggers import FallingEdge, RisingEdge, Timer

from mac import MAX, MIN, Bench, share


def sizes(beat):
    """Every size up to four beats, then some, of different residues, and the longest ones."""
    return [*range(MIN, MIN + 4 * beat + 2), *range(MIN + 4 * beat, MAX, 64 * 13 + 1), 1514, 4206, *range(9600 - 2, 9600 + 3), MAX - 1, MAX]


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def frames_leave_whole(dut):
    bench = await Bench(dut).start()
    wide = max(len(dut.tx_axis_tkeep), bench.nic.bytes)
    for stall, idle in ((0, 0), (0.4, 0), (0, 0.9)):
        sent = [bench.random.randbytes(size) for size in sizes(wide)[:: 1 if not stall and not idle else 5]]
        bench.mac.sink.set_pause_generator(share(bench.random.random(), stall))
        bench.nic.idle_share = idle
        bench.nic.queue.extend(sent)
        got = []
        while len(got) < len(sent):
            before = len(got)
            await Timer(30, "us")
            got += bench.mac.taken()
            assert len(got) > before, f"nothing leaves after {before} of {len(sent)}"
        assert got == sent
    assert bench.counts()["tx_discarded"] == 0


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def frames_arrive_whole(dut):
    bench = await Bench(dut, rx_ps=3104 if len(dut.s_axis_tkeep) >= len(dut.rx_axis_tkeep) else 40000).start()
    wide = max(len(dut.tx_axis_tkeep), bench.nic.bytes)
    for stall in (0.3, 0.7):
        sent = [bench.random.randbytes(size) for size in sizes(wide)[:: 1 if stall < 0.5 else 5]]
        before = len(bench.nic.received)
        bench.mac.source.set_pause_generator(share(bench.random.random(), stall))
        for frame in sent:
            bench.mac.send(frame)
        done = -1
        while len(bench.nic.received) < before + len(sent):
            assert done != len(bench.nic.received), f"nothing arrives after {done - before} of {len(sent)}: {bench.counts()}"
            done = len(bench.nic.received)
            await Timer(100, "us")
        assert bench.nic.received[before:] == sent
    assert bench.counts() == {"rx_good": len(bench.nic.received), "rx_error": 0, "rx_runt": 0, "rx_oversize": 0, "rx_overrun": 0,
                              "tx_discarded": 0}


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def bad_frames_are_dropped_and_counted(dut):
    """Each kind among good ones. A frame that is bad for several reasons counts once."""
    bench = await Bench(dut, rx_ps=3104 if len(dut.s_axis_tkeep) >= len(dut.rx_axis_tkeep) else 40000).start()
    bench.mac.source.set_pause_generator(share(bench.random.random(), 0.2))
    good, count = [], {"rx_error": 0, "rx_runt": 0, "rx_oversize": 0}
    kinds = {"good": 0, "rx_error": 1, "rx_runt": 1, "rx_oversize": 1, "runt_and_error": 1, "oversize_and_error": 1}
    edges = [MIN - 1, 1, 8, 9, *range(2, MIN, 7)]
    for index in range(120 if len(dut.rx_axis_tkeep) > 8 else 50):
        kind = bench.random.choice(list(kinds))
        size = bench.random.choice((MIN, bench.random.randrange(MIN, 200), bench.random.randrange(MIN, 600)))
        if "runt" in kind:
            size = edges[index % len(edges)]
        if "oversize" in kind:
            size = bench.random.choice((MAX + 1, MAX + 1, MAX + 2, MAX + 63, MAX + 64, MAX + 65, 2 * MAX))
        frame = bench.random.randbytes(size)
        bench.mac.send(frame, bad=kind not in ("good", "rx_runt", "rx_oversize"))
        if kind == "good":
            good.append(frame)
        else:
            count["rx_oversize" if "oversize" in kind else "rx_error" if "error" in kind else "rx_runt"] += 1
    good.append(bytes(range(MIN)))
    bench.mac.send(good[-1])
    await bench.until(lambda: bench.nic.received and bench.nic.received[-1] == good[-1], "the last frame does not arrive", 4000)
    await Timer(1, "us")
    assert bench.nic.received == good
    assert bench.counts() == count | {"rx_good": len(good), "rx_overrun": 0, "tx_discarded": 0}


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def overrun_frames_are_dropped_whole(dut):
    """A NIC that is too slow for the wire gets what fits, each frame whole and in order; the others are counted."""
    bench = await Bench(dut, core_ps=16000 if len(dut.s_axis_tkeep) <= len(dut.rx_axis_tkeep) else 60000, tx_ps=3102, rx_ps=3104).start()
    for size_range in ((MIN, 130), (MIN, MAX), (MAX - 3, MAX)):
        start, before = len(bench.nic.received), bench.counts()
        sent = []
        while sum(map(len, sent)) < (150_000 if len(dut.rx_axis_tkeep) > 8 else 60_000):
            sent.append(len(sent).to_bytes(4, "big") + bench.random.randbytes(bench.random.randint(*size_range) - 4))
            bench.mac.send(sent[-1])
        await bench.mac.source.wait()
        await bench.until(lambda: sum(bench.counts().values()) - sum(before.values()) == len(sent), "frames are not counted")
        lost = bench.counts()["rx_overrun"] - before["rx_overrun"]
        await bench.until(lambda: len(bench.nic.received) - start + lost == len(sent), "frames are missing", 2000)
        assert 0 < lost < len(sent), f"{lost} of {len(sent)} lost: the test shows nothing"
        left = iter(sent)
        assert all(frame in left for frame in bench.nic.received[start:]), "a frame changed its place or its contents"
    last = bytes(MIN)
    bench.mac.send(last)
    await bench.until(lambda: bench.nic.received[-1] == last, "nothing arrives afterwards")


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def without_a_link_frames_are_discarded(dut):
    bench = await Bench(dut).start()
    frames = [bench.random.randbytes(bench.random.randrange(MIN, 2000)) for _ in range(60)]
    assert dut.mac_link.value
    # The frame that leaves meanwhile leaves whole.
    bench.nic.queue.extend(frames[:1])
    while not dut.tx_axis_tvalid.value:
        await FallingEdge(dut.tx_clk)
    bench.mac.sink.pause = True
    dut.link.value = 0
    await Timer(100, "ns")
    bench.mac.sink.pause = False
    bench.nic.queue.extend(frames[1:40])
    await bench.until(lambda: bench.counts()["tx_discarded"] == 39, "frames are kept")
    assert not dut.mac_link.value and bench.mac.taken() == frames[:1]
    dut.link.value = 1
    await Timer(100, "ns")
    bench.nic.queue.extend(frames[40:])
    await Timer(40, "us")
    assert dut.mac_link.value and bench.mac.taken() == frames[40:]
    assert bench.counts()["tx_discarded"] == 39


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def a_reset_of_the_nic_cuts_no_frame_of_the_mac(dut):
    """At any time: what is sent are whole frames, and what the NIC gets afterwards begins with a frame's first byte."""
    bench = await Bench(dut, rx_ps=3104 if len(dut.s_axis_tkeep) >= len(dut.rx_axis_tkeep) else 40000).start()
    # A counter in each frame tells which it is.
    frames = {}
    for round_number in range(12):
        for index in range(20):
            number = (20 * round_number + index).to_bytes(4, "big")
            frame = number + bench.random.randbytes(bench.random.randrange(MIN, 1500))
            frames[number] = frame
            bench.nic.queue.append(frame)
            bench.mac.send(frame)
        await Timer(bench.random.randrange(100, 9000), "ns")
        await RisingEdge(dut.clk)
        dut.nic_rst_n.value = 0
        await Timer(64, "ns")
        await RisingEdge(dut.clk)
        dut.nic_rst_n.value = 1
        bench.mac.source.clear()
    await Timer(60, "us")
    sent = bench.mac.taken()
    assert sent and all(frames[frame[:4]] == frame for frame in sent)
    assert bench.nic.received and all(frames[frame[:4]] == frame for frame in bench.nic.received)
    for way in (sent, bench.nic.received):
        assert way == sorted(way, key=lambda frame: frame[:4])


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def a_reset_of_the_mac_ends_its_frame(dut):
    """The rest of what it was sending is discarded, a frame that it did not end is dropped; the next ones are whole."""
    bench = await Bench(dut, rx_ps=3104 if len(dut.s_axis_tkeep) >= len(dut.rx_axis_tkeep) else 40000).start()
    for _ in range(6):
        discarded, received = bench.counts()["tx_discarded"], len(bench.nic.received)
        bench.nic.queue.append(bench.random.randbytes(4000))
        bench.mac.send(bench.random.randbytes(4000))
        while not (dut.tx_axis_tvalid.value and dut.tx_axis_tready.value):
            await FallingEdge(dut.tx_clk)
        bench.mac.sink.pause = True
        await Timer(bench.random.randrange(5, 30), "ns")
        for clock, reset in ((dut.tx_clk, dut.tx_reset), (dut.rx_clk, dut.rx_reset)):
            await FallingEdge(clock)
            reset.value = 1
        await Timer(200, "ns")
        bench.mac.source.clear()
        for clock, reset in ((dut.tx_clk, dut.tx_reset), (dut.rx_clk, dut.rx_reset)):
            await FallingEdge(clock)
            reset.value = 0
        bench.mac.sink.pause = False
        bench.mac.taken()
        await bench.until(lambda: bench.counts()["tx_discarded"] == discarded + 1, "the rest is not discarded")
        next_frames = [bench.random.randbytes(200), bench.random.randbytes(61)]
        bench.nic.queue.extend(next_frames)
        for frame in next_frames:
            bench.mac.send(frame)
        await Timer(10, "us")
        assert bench.mac.taken() == next_frames and bench.nic.received[-2:] == next_frames
        assert len(bench.nic.received) - received in (2, 3)


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def long_frames_go_at_the_rate_of_the_slower_side(dut):
    """No cycle is lost between frames of 4,154 bytes, the longest of a path MTU of 4,096: the NIC is always ready."""
    if len(dut.s_axis_tkeep) > len(dut.tx_axis_tkeep):
        return  # the MAC is the slower side
    bench = await Bench(dut).start()
    count = 40
    bench.nic.queue.extend(bench.random.randbytes(4154) for _ in range(count))
    await bench.until(lambda: bench.mac.sink.count() == count, "frames are missing", 600)
    assert bench.nic.not_ready == 0
    # Latency of a shortest frame: behind the edge that takes its last beat, 1 cycle of the NIC and 4 or 5 of the MAC.
    bench.mac.taken()
    bench.nic.queue.append(bytes(range(60)))
    while not (dut.s_axis_tvalid.value and dut.s_axis_tlast.value):
        await RisingEdge(dut.clk)
    await RisingEdge(dut.clk)  # stored with this one
    edges = 0
    while not dut.tx_axis_tvalid.value:
        await RisingEdge(dut.tx_clk)
        await FallingEdge(dut.tx_clk)
        edges += 1
    assert edges in (4, 5), edges
    # The other way: 2 cycles of the MAC, and 4 or 5 of the NIC.
    bench.mac.send(bytes(range(60)))
    while not (dut.rx_axis_tvalid.value and dut.rx_axis_tlast.value):
        await RisingEdge(dut.rx_clk)
    for _ in range(2):
        await RisingEdge(dut.rx_clk)
    edges = 0
    while not dut.m_axis_tvalid.value:
        await RisingEdge(dut.clk)
        await FallingEdge(dut.clk)
        edges += 1
    assert edges in (4, 5), edges
