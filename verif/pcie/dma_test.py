# SPDX-License-Identifier: Apache-2.0
"""DMA and MSI-X of the device: what the host sees, in which order, and what fails."""

import cocotb
from cocotb.triggers import FallingEdge, RisingEdge, Timer
from cocotb.utils import get_sim_time
from cocotbext.pcie.core.tlp import Tlp, TlpType
from cocotbext.pcie.core.utils import PcieId

from host import BAR_VIRTIO, MEMORY_BYTES, Host
from nic import Nic

OKAY, SLVERR = 0, 2


async def begin(dut, **options):
    host, nic = Host(dut, **options), Nic(dut)
    await host.start()
    host.memory[:] = host.random.randbytes(MEMORY_BYTES)
    return host, nic


def pieces(random, limit, count, span=MEMORY_BYTES):
    """Bursts as the NIC cuts them: none crosses a multiple of its limit, which is at most 4 KiB."""
    for _ in range(count):
        start = random.randrange(0, span // limit) * limit
        first = random.choice((0, 0, random.randrange(limit), random.randrange(limit)))
        length = random.choice((limit - first, 1, random.randrange(1, limit - first + 1), random.randrange(1, limit - first + 1)))
        yield start + first, min(length, limit - first)


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def writes_of_every_alignment(dut):
    host, nic = await begin(dut)
    expected = []
    for first in range(0, 68):
        for length in (1, 2, 3, 4, 5, 7, 8, 9, 60, 61, 64, 65, 100):
            at = host.memory_at + 256 * len(expected) % 65536 + first
            data = host.random.randbytes(length)
            nic.write(at, data)
            expected.append((at, data))
        await nic.idle()
    await Timer(2, "us")
    assert host.writes == expected
    assert nic.responses == [OKAY] * len(expected)


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def reads_of_every_alignment(dut):
    host, nic = await begin(dut)

    async def one(at, length):
        data, answers = await nic.read(host.memory_at + at, length)
        assert data == bytes(host.memory[at:at + length]), f"{length} bytes at {at:#x}"
        assert set(answers) == {OKAY}

    for first in range(0, 68):
        tasks = [cocotb.start_soon(one(1024 * index + first, length)) for index, length in enumerate((1, 2, 3, 4, 5, 7, 8, 9, 63, 64, 65, 100))]
        for task in tasks:
            await task


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def reads_are_put_together_in_any_order(dut):
    """Completions of a read split at every boundary, those of different reads in any order, with pauses everywhere."""
    host, nic = await begin(dut)
    host.split = True
    nic.stall = lambda: host.random.random() < 0.1
    limit = 128 << int(dut.cfg_max_read_request_size.value)

    async def one(at, length):
        data, answers = await nic.read(host.memory_at + at, length)
        assert data == bytes(host.memory[at:at + length]), f"{length} bytes at {at:#x}"
        assert set(answers) == {OKAY}

    for share, delay in ((0, 0), (0, 2000), (0.4, 500), (0.8, 100)):
        host.pause_randomly(share)
        host.read_delay_ns = delay
        tasks = [cocotb.start_soon(one(at, length)) for at, length in pieces(host.random, limit, 100)]
        for task in tasks:
            await task


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def all_sizes_that_the_host_may_choose(dut):
    """The NIC cuts by what the block says; the host's checks are in Host."""
    host, nic = await begin(dut, max_payload=512)
    for read_size in (0, 1, 5):
        await set_device_control(host, read_size)
        await Timer(300, "ns")
        assert int(dut.cfg_max_read_request_size.value) == read_size and int(dut.cfg_max_payload_size.value) == 2
        host.rc._max_read_request_size = read_size  # pylint: disable=protected-access
        tasks = []
        # AXI's longest burst has 256 beats.
        for at, length in pieces(host.random, min(128 << read_size, 256 * nic.beat), 20):
            tasks.append((at, length, cocotb.start_soon(nic.read(host.memory_at + at, length))))
        for at, length, task in tasks:
            data, _ = await task
            assert data == bytes(host.memory[at:at + length])
    image = bytearray(host.memory)
    for at, length in pieces(host.random, 512, 100):
        data = host.random.randbytes(length)
        image[at:at + length] = data
        nic.write(host.memory_at + at, data)
    await nic.idle()
    while len(host.writes) < 100:  # the model stores what its link, a single lane at 64 bits, has not sent
        await Timer(1, "us")
    assert host.memory == image


async def set_device_control(host, read_size):
    at = host.function.pcie_cap.offset * 4 + 8
    value = await host.rc.config_read_word(host.function.pcie_id, at)
    await host.rc.config_write_word(host.function.pcie_id, at, value & ~(7 << 12) | read_size << 12)


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def failed_reads_have_all_their_beats(dut):
    host, nic = await begin(dut)
    host.split = True
    limit = 128 << int(dut.cfg_max_read_request_size.value)
    faults = {}
    host.read_fault = lambda tlp: faults.get(tlp.address & ~0xfff)

    async def one(page, first, length):
        data, answers = await nic.read(host.memory_at + page + first, length)
        kind, good = faults.get(host.memory_at + page, (None, 0))
        at = page + first
        if kind is None:
            assert set(answers) == {OKAY} and data == bytes(host.memory[at:at + length])
            return
        assert SLVERR in answers, f"{kind} after {good} of {length} is no error"
        # What is before the error is right, and what is behind a poisoned completion as well.
        failed = [i for i in range(length) if answers[(at % nic.beat + i) // nic.beat] != OKAY]
        if kind == "POISONED":
            assert good in failed, f"poisoned at {good}: {failed[0]} to {failed[-1]}"
            assert failed == list(range(failed[0], failed[-1] + 1)) and failed[-1] - failed[0] < limit
        else:
            assert failed[-1] == length - 1 and failed[0] <= good and failed == list(range(failed[0], length))
        assert all(data[i] == host.memory[at + i] for i in set(range(length)) - set(failed))

    for share in (0, 0.4):
        host.pause_randomly(share)
        tasks = []
        for index, (at, length) in enumerate(pieces(host.random, limit, 160, span=4096)):
            page = index % 160 * 4096
            kind = host.random.choice((None, "UR", "CA", "POISONED", "TIMEOUT"))
            faults.pop(host.memory_at + page, None)
            if kind:
                faults[host.memory_at + page] = (kind, host.random.choice((0, host.random.randrange(length))))
            tasks.append(cocotb.start_soon(one(page, at, length)))
        for task in tasks:
            await task
    # Memory that there is not; and everything works afterwards.
    _, answers = await nic.read(0x5000, 64)
    assert set(answers) == {SLVERR}
    faults.clear()
    for index in range(2 * nic.tags):
        await one(4096 * (index % 200), 3, 200)


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def completions_that_belong_to_nothing_are_dropped(dut):
    host, nic = await begin(dut)
    request = Tlp()
    request.fmt_type = TlpType.MEM_READ_64
    request.requester_id = host.function.pcie_id
    host.hold_reads = True
    pending = cocotb.start_soon(nic.read(host.memory_at, 64))
    await Timer(1, "us")
    tag = host.held[0].tag
    for stray, attributes in ((tag ^ 1, 0), (tag, 1)):  # no such tag; other attributes than the request
        request.tag = stray
        cpl = Tlp.create_completion_data_for_tlp(request, PcieId(0, 0, 0))
        cpl.attr = attributes
        cpl.byte_count = 64
        cpl.set_data(bytes([0xee] * 64))
        host.link.put_nowait(cpl)
    await Timer(1, "us")
    assert not pending.done()
    await host.release_reads()
    data, answers = await pending
    assert data == bytes(host.memory[:64]) and set(answers) == {OKAY}


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def order_of_writes_reads_and_messages(dut):
    """[PCIe 5.0, 2.4.1] Writes and messages in their order, a read behind what came before it."""
    host, nic = await begin(dut)
    for share in (0, 0.5):
        host.pause_randomly(share)
        host.writes.clear(), host.messages.clear(), host.read_requests.clear()
        expected, reads, sent = [], [], []
        for index in range(120):
            kind = host.random.choice("wwmr")
            if kind == "w":
                data = index.to_bytes(4, "little") * host.random.randrange(1, 33)
                nic.write(host.memory_at + 256 * index, data)
                expected.append((host.memory_at + 256 * index, data))
                await nic_written(nic)
            elif kind == "m":
                nic.message(0xfee00000 + 16 * (index % 4), index)
                sent.append((0xfee00000 + 16 * (index % 4), index, len(expected)))
            else:
                reads.append((cocotb.start_soon(nic.read(host.memory_at + 0x80000 + 64 * index, 64)), len(expected)))
                while nic.read_queue:
                    await FallingEdge(dut.user_clk)
            if host.random.random() < 0.1:
                await Timer(200, "ns")
        for task, _ in reads:
            await task
        await Timer(10, "us")
        assert host.writes == expected
        assert [message[:2] for message in host.messages] == [message[:2] for message in sent]
        assert all(seen >= written for (_, _, seen), (_, _, written) in zip(host.messages, sent)), "a message passed a write"
        assert len(host.read_requests) == len(reads)
        assert all(seen >= written for (_, seen), (_, written) in zip(host.read_requests, reads)), "a read passed a write"


async def nic_written(nic):
    while nic.write_queue or nic.beats:
        await FallingEdge(nic.dut.user_clk)


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def writes_do_not_wait_for_reads(dut):
    """The other side has no room for reads: writes and messages pass those that wait."""
    host, nic = await begin(dut)
    dut.pcie_tfc_nph_av.value = 0
    await Timer(100, "ns")
    reads = [cocotb.start_soon(nic.read(host.memory_at + 64 * i, 64)) for i in range(nic.tags)]
    await Timer(500, "ns")
    for i in range(40):
        nic.write(host.memory_at + 64 * i, bytes([i] * 64))
        nic.message(0xfee00000, i)
    await nic_written(nic)
    await Timer(2, "us")
    assert not host.read_requests, "a read was sent without a credit"
    assert len(host.writes) == 40 and len(host.messages) == 40
    dut.pcie_tfc_nph_av.value = 3
    await Timer(100, "ns")
    for read in reads:
        await read
    # One credit: one read at a time until the block has counted it.
    dut.pcie_tfc_nph_av.value = 1
    for i in range(8):
        await nic.read(host.memory_at, 8)


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def completions_are_taken_while_nothing_can_be_sent(dut):
    host, nic = await begin(dut)
    host.hold_reads = True
    reads = [cocotb.start_soon(nic.read(host.memory_at + 256 * i, 200)) for i in range(nic.tags)]
    await Timer(2, "us")
    assert len(host.held) == nic.tags
    host.streams["rq"].pause = host.streams["cc"].pause = True
    for i in range(60):
        nic.write(host.memory_at + 0x80000 + 64 * i, bytes(64))
    cocotb.start_soon(host.read_bar(BAR_VIRTIO, 0, 8))
    await Timer(1, "us")
    await host.release_reads()
    await Timer(8, "us")
    assert all(read.done() for read in reads), "a completion waits for what cannot be sent"
    host.streams["rq"].pause = host.streams["cc"].pause = False
    await nic.idle()


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def data_does_not_pass_writes_of_the_host(dut):
    """The host writes a register, then answers a read: the register has been written when the data comes."""
    host, nic = await begin(dut)
    taken = 0
    for round_number in range(1, 40):
        host.hold_reads = True
        read = cocotb.start_soon(nic.read(host.memory_at, 8))
        while not host.held:
            await Timer(100, "ns")
        for i in range(4):  # of many accesses each
            await host.write_bar(BAR_VIRTIO, 0x101 + 64 * i, bytes([round_number] * 60))
        # The block passes a completion on when it has passed on the writes before it; its model does not wait.
        taken = 0
        while taken < 4:
            await FallingEdge(dut.user_clk)
            taken += int(dut.m_axis_cq_tvalid.value and dut.m_axis_cq_tready.value and dut.m_axis_cq_tlast.value)
        tlp = host.held.pop()
        cpl = Tlp.create_completion_data_for_tlp(tlp, PcieId(0, 0, 0))
        cpl.byte_count = 8
        cpl.set_data(bytes(8))
        cpl.release_fc = lambda: None
        await host.block.upstream_recv(cpl)
        await read
        assert nic.bars[BAR_VIRTIO].get(0x101 + 64 * 3 + 59) == round_number, "data passed a write"


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def many_messages_are_kept(dut):
    """As many as there are vectors, while the way to the host is shut; more of them stop the NIC's writes."""
    host, nic = await begin(dut)
    host.streams["rq"].pause = True
    await Timer(100, "ns")
    vectors = 64
    for i in range(vectors - 2):
        nic.message(0xfee00000 + 4 * (i % 1024), i)
    await Timer(2, "us")
    nic.write(host.memory_at, bytes(64))
    await Timer(2, "us")
    stopped = bool(nic.beats)
    assert stopped == (host.config == "nic1")
    host.streams["rq"].pause = False
    await nic.idle()
    await Timer(10, "us")
    assert [message[1] for message in host.messages] == list(range(vectors - 2)) and len(host.writes) == 1


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def without_bus_master_nothing_is_sent(dut):
    host, nic = Host(dut), Nic(dut)
    await host.start(bus_master=False)
    _, answers = await nic.read(host.memory_at + 5, 300)
    assert set(answers) == {SLVERR}
    nic.write(host.memory_at, bytes(64))
    nic.message(0xfee00000, 1)
    for i in range(3 * nic.tags):
        _, answers = await nic.read(host.memory_at + i, 8)
        assert set(answers) == {SLVERR}
    await Timer(2, "us")
    assert nic.responses == [SLVERR] and not host.writes and not host.messages and not host.read_requests
    await host.device.set_master()
    await Timer(200, "ns")
    nic.write(host.memory_at, b"ok")
    await nic_written(nic)
    data, answers = await nic.read(host.memory_at, 2)
    assert (data, answers) == (b"ok", [OKAY])


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def a_function_level_reset_ends_reads(dut):
    """Reads in flight end with it: their completions, which come later, belong to nothing. No packet is left half sent."""
    host, nic = await begin(dut)
    host.split = True
    for share in (0, 0.5):
        host.pause_randomly(share)
        for _ in range(4):
            host.read_delay_ns = 1000
            for i in range(nic.tags):
                cocotb.start_soon(nic.read(host.memory_at + 512 * i, 512))
            for i in range(20):
                nic.write(host.memory_at + 0x40000 + 256 * i, bytes(256))
                nic.message(0xfee00000, i)
            await Timer(host.random.randrange(100, 4000), "ns")
            await host.function_level_reset()
            host.read_delay_ns = 0
            await Timer(10, "us")  # a driver waits for what is on its way [PCIe 5.0, 6.6.2, stale completions]
            for i in range(4):
                data, answers = await nic.read(host.memory_at + 3, 300)
                assert data == bytes(host.memory[3:303]) and set(answers) == {OKAY}


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def throughput(dut):
    """Of the bridge alone: writes, reads and both, in bytes per cycle of the stream's width."""
    host, nic = await begin(dut)
    width, period = nic.beat, 4 if len(dut.wdata) == 512 else 8
    count, size = 100, 256
    start = get_sim_time("ns")
    for i in range(count):
        nic.write(host.memory_at + size * i, bytes(size))
    await nic_written(nic)
    share = count * size / ((get_sim_time("ns") - start) / period) / width
    dut._log.info("writes of %d bytes: %.2f of the width", size, share)  # pylint: disable=protected-access
    # The descriptor has 16 bytes: at 64 bits two beats of 34, at 512 bits one of five.
    assert share > 0.75 * (0.94 if width == 8 else 0.8), share


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def tags_of_5_bits(dut):
    """Without extended tags at most 32 reads are outstanding, with tags below 32."""
    host, nic = await begin(dut)
    dut.extended_tags.value = 0
    host.hold_reads = True
    reads = [cocotb.start_soon(nic.read(host.memory_at + 64 * i, 64)) for i in range(min(nic.tags, 64))]
    await Timer(5, "us")
    assert len(host.held) == min(nic.tags, 32) and all(tlp.tag < 32 for tlp in host.held)
    await host.release_reads()
    for i, read in enumerate(reads):
        data, answers = await read
        assert data == bytes(host.memory[64 * i:64 * i + 64]) and set(answers) == {OKAY}
    await RisingEdge(dut.user_clk)


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def latencies(dut):
    """Cycles from one event to another, if nothing waits: those of docs/blocks/pcie_bridge.md."""
    host, nic = await begin(dut)
    seen = {}

    async def cycles():
        cycle = 0
        while True:
            await RisingEdge(dut.user_clk)  # what the edge is going to take
            cycle += 1
            events = {
                "cq_last": dut.m_axis_cq_tvalid.value and dut.m_axis_cq_tready.value and dut.m_axis_cq_tlast.value,
                "access": dut.bar_valid.value, "answer": dut.bar_read_valid.value, "cc": dut.s_axis_cc_tvalid.value,
                "ar": dut.arvalid.value, "w_last": dut.wvalid.value and dut.wready.value and dut.wlast.value, "rq": dut.s_axis_rq_tvalid.value,
                "rc": dut.m_axis_rc_tvalid.value and dut.m_axis_rc_tready.value, "r": dut.rvalid.value, "b": dut.bvalid.value,
            }
            for name, now in events.items():
                if now and name not in seen:
                    seen[name] = cycle

    watcher = cocotb.start_soon(cycles())
    wide = nic.beat == 64
    await host.write_bar(BAR_VIRTIO, 0, bytes(8))
    await Timer(1, "us")
    assert seen["access"] - seen["cq_last"] == (3 if wide else 2), seen
    seen.clear()
    await host.read_bar(BAR_VIRTIO, 0, 8)
    assert (seen["access"] - seen["cq_last"], seen["answer"] - seen["access"], seen["cc"] - seen["answer"]) == (3, 4, 6), seen
    seen.clear()
    await nic.read(host.memory_at, 8)
    await Timer(100, "ns")
    # From the first beat on RC; at 64 bits the data ends in the third one.
    assert (seen["rq"] - seen["ar"], seen["r"] - seen["rc"]) == (4, 4 if wide else 5), seen
    seen.clear()
    nic.write(host.memory_at, bytes(8))
    await Timer(1, "us")
    assert (seen["b"] - seen["w_last"], seen["rq"] - seen["w_last"]) == (1, 5), seen
    watcher.kill()
