# SPDX-License-Identifier: Apache-2.0
"""Requests of the host: enumeration, capabilities, BAR accesses."""

import struct

import cocotb
from cocotb.triggers import FallingEdge, Timer
from cocotbext.pcie.core.tlp import CplStatus, Tlp, TlpTc, TlpType
from cocotbext.pcie.core.utils import PcieId

from host import BAR_BYTES, BAR_MSIX, BAR_VIRTIO, Host
from nic import Nic


async def begin(dut, **options):
    host, nic = Host(dut, **options), Nic(dut)
    await host.start()
    return host, nic


def sizes_of(first, enables):
    """What the bridge makes of byte enables from an address on: the largest aligned accesses."""
    accesses, at = [], 0
    while at < len(enables):
        if not enables[at]:
            at += 1
            continue
        for size in (8, 4, 2, 1):
            if (first + at) % size == 0 and all(enables[at:at + size]) and at + size <= len(enables):
                accesses.append((first + at, size))
                at += size
                break
    return accesses


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def enumeration_sizes_the_bars(dut):
    host, _ = await begin(dut)
    for bar, size in BAR_BYTES.items():
        assert host.device.bar_size[bar] == size and host.bars[bar] % size == 0
    assert not any(host.device.bar_size[bar] for bar in (1, 3, 4, 5))
    assert dut.cfg_bus_master.value == 1
    assert int(dut.cfg_max_payload_size.value) == 1 and int(dut.cfg_max_read_request_size.value) == 2


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def capabilities_are_found(dut):
    """As Linux looks for them: along the list, by kind. [virtio 1.3, 4.1.4]"""
    host, nic = await begin(dut)
    at, found, others = await host.rc.config_read_byte(host.function.pcie_id, 0x34), {}, []
    for _ in range(16):
        if at == 0:
            break
        word = await host.rc.config_read_dword(host.function.pcie_id, at)
        if word & 0xff == 0x09:
            bar, offset, length = [await host.rc.config_read_dword(host.function.pcie_id, at + i) for i in (4, 8, 12)]
            found[word >> 24] = (at, word >> 16 & 0xff, bar, offset, length)
        else:
            others.append(word & 0xff)
        at = word >> 8 & 0xff
    else:
        raise AssertionError("the list has no end")
    assert {1, 0x10, 0x11} <= set(others)  # power management, PCI Express, MSI-X
    assert found[1][1:] == (16, 0, 0x0000, 0x1000)
    assert found[2][1:] == (20, 0, 0x1000000, 0x1000000)
    assert await host.rc.config_read_dword(host.function.pcie_id, found[2][0] + 16) == 4096
    assert found[3][1:] == (16, 0, 0x1000, 0x1000)
    assert found[4][1:] == (16, 0, 0x2000, 0x1000)
    assert found[5][1:] == (20, 0, 0, 0) and len(found) == 5
    # They cannot be written, except for the window.
    for at in (found[1][0], found[1][0] + 8, found[2][0] + 12):
        before = await host.rc.config_read_dword(host.function.pcie_id, at)
        await host.rc.config_write_dword(host.function.pcie_id, at, 0xffffffff)
        assert await host.rc.config_read_dword(host.function.pcie_id, at) == before
    assert not nic.accesses


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def the_window_accesses_bars(dut):
    """[virtio 1.3, 4.1.4.9]"""
    host, nic = await begin(dut)
    function, at, rc = host.function.pcie_id, 0xe0, host.rc
    nic.bars[BAR_VIRTIO].update({0x1008 + i: 0x50 + i for i in range(8)})

    async def place(bar, offset, length):
        await rc.config_write_byte(function, at + 4, bar)
        await rc.config_write_dword(function, at + 8, offset)
        await rc.config_write_dword(function, at + 12, length)

    for length, expected in ((1, 0x50), (2, 0x5150), (4, 0x53525150)):
        await place(BAR_VIRTIO, 0x1008, length)
        assert await rc.config_read_dword(function, at + 16) == expected
        assert nic.accesses[-1][:4] == (0, BAR_VIRTIO, 0x1008, length)
    await place(BAR_MSIX, 0x22, 2)
    await rc.config_write_word(function, at + 16, 0xabcd)
    await Timer(500, "ns")
    assert nic.accesses[-1] == (1, BAR_MSIX, 0x22, 2, 0xabcd)
    made = len(nic.accesses)
    for bad in ((1, 0, 4), (BAR_VIRTIO, 0x2000000, 4), (BAR_VIRTIO, 2, 4), (BAR_VIRTIO, 1, 2), (BAR_VIRTIO, 0, 3), (BAR_VIRTIO, 0, 0),
                (BAR_MSIX, 0x10000, 1), (0x82, 0, 4)):
        await place(*bad)
        assert await rc.config_read_dword(function, at + 16) == 0
        await rc.config_write_dword(function, at + 16, 1)
    await Timer(500, "ns")
    assert len(nic.accesses) == made
    # Beside accesses of the BARs.
    await place(BAR_VIRTIO, 0x1008, 4)
    reads = [cocotb.start_soon(host.read_bar(BAR_VIRTIO, 8 * i, 8)) for i in range(20)]
    for _ in range(5):
        assert await rc.config_read_dword(function, at + 16) == 0x53525150
    for read in reads:
        await read


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def every_size_and_alignment(dut):
    host, nic = await begin(dut)
    for bar, base, step in ((BAR_VIRTIO, 0x1ffff00, 1), (BAR_MSIX, 0x7f00, 9)):
        for lane in range(0, 72, step):
            for length in [*range(1, 10), host.random.randrange(10, 57)]:
                data = host.random.randbytes(length)
                at = base + lane
                nic.accesses.clear()
                await host.write_bar(bar, at, data)
                back = await host.read_bar(bar, at, length)
                assert back == data, f"{length} bytes at {at:#x}: {back!r}, not {data!r}"
                first = at & ~7
                enables = [first + i >= at and first + i < at + length for i in range((at + length - first + 7) // 8 * 8)]
                wanted = sizes_of(first, enables)
                assert [access[2:4] for access in nic.accesses] == wanted * 2, f"{length} bytes at {at:#x}"
                assert [access[0] for access in nic.accesses] == [1] * len(wanted) + [0] * len(wanted)


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def every_pattern_of_byte_enables(dut):
    """Of one double word, and of the first and the last of two. [PCIe 5.0, 2.2.5]"""
    host, nic = await begin(dut)
    for offset in (0x100, 0x104):
        for enables in range(1, 256):
            first, last = enables & 15, enables >> 4
            if last and (first == 0 or (offset == 0x104 and not first & 8)):
                continue
            data = host.random.randbytes(8 if last else 4)
            nic.bars[BAR_VIRTIO].clear()
            nic.accesses.clear()
            await host.write_bar(BAR_VIRTIO, offset, data, first, last)
            await host.read_bar(BAR_VIRTIO, 0, 0)  # a flush: all writes are done
            bits = [enables >> i & 1 for i in range(len(data))]
            assert nic.bars[BAR_VIRTIO] == {offset + i: data[i] for i in range(len(data)) if bits[i]}, f"{first:#x} {last:#x}"
            aligned = [0] * (offset % 8) + bits
            assert [access[2:4] for access in nic.accesses if access[0]] == sizes_of(offset & ~7, aligned + [0] * (-len(aligned) % 8))


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def what_is_not_supported_is_refused(dut):
    host, nic = await begin(dut)
    at = host.bars[BAR_VIRTIO]

    async def refused(kind, status, length=1, data=b"", **fields):
        tlp = Tlp()
        tlp.fmt_type = kind
        tlp.requester_id = PcieId(0, 0, 0)
        tlp.address = at
        tlp.length, tlp.first_be, tlp.last_be = length, 0xf, 0xf if length > 1 else 0
        tlp.data = bytearray(data)
        for name, value in fields.items():
            setattr(tlp, name, value)
        tagged = await host.rc.alloc_tag()
        tlp.tag = tagged
        packed = tlp_to_cq(host, tlp)
        await host.block.cq_source.send(packed)
        cpl = await host.rc.recv_cpl(tagged, 20000)
        host.rc.release_tag(tagged)
        assert cpl and cpl.status == status and not cpl.data, f"{kind} {cpl!r}"
        assert cpl.tc == tlp.tc

    # The block passes on what does not come through the model of the root complex.
    host.block.cq_np_req_count = 8
    for kind, data in ((TlpType.FETCH_ADD_64, 4), (TlpType.SWAP_64, 4), (TlpType.CAS_64, 8), (TlpType.IO_READ, 0), (TlpType.IO_WRITE, 4)):
        await refused(kind, CplStatus.UR, data=bytes(data), tc=TlpTc.TC0)
        assert await host.read_bar(BAR_VIRTIO, 0, 4) == bytes(4)
    await refused(TlpType.MEM_READ_LOCKED_64, CplStatus.UR)
    # A read longer than 64 bytes; and one of a BAR that there is not, a message.
    await refused(TlpType.MEM_READ_64, CplStatus.CA, length=17)
    await refused(TlpType.MEM_READ_64, CplStatus.CA, length=1024)
    await refused(TlpType.MEM_READ_64, CplStatus.UR, bar_id=6)
    assert not [access for access in nic.accesses if access[0]]
    # Writes of such a BAR are dropped, and those behind them done.
    tlp = Tlp()
    tlp.fmt_type = TlpType.MEM_WRITE_64
    tlp.set_addr_be_data(at, bytes(range(48)))
    tlp.bar_id = 6
    await host.block.cq_source.send(tlp_to_cq(host, tlp))
    await host.write_bar(BAR_VIRTIO, 0x40, b"next")
    assert await host.read_bar(BAR_VIRTIO, 0x40, 4) == b"next"
    assert [access for access in nic.accesses if access[0]] == [(1, 0, 0x40, 4, struct.unpack("<I", b"next")[0])]
    # A write that the block could not read from its memory (discontinue).
    damaged = Tlp()
    damaged.fmt_type = TlpType.MEM_WRITE_64
    damaged.set_addr_be_data(at + 0x40, b"evil")
    packet = tlp_to_cq(host, damaged)
    packet.discontinue = True
    await host.block.cq_source.send(packet)
    assert await host.read_bar(BAR_VIRTIO, 0x40, 4) == b"next"


def tlp_to_cq(host, tlp):
    from cocotbext.pcie.xilinx.us.tlp import Tlp_us
    packed = Tlp_us(tlp)
    packed.bar_id = getattr(tlp, "bar_id", 0)
    packed.bar_aperture = 25
    packed.completer_id = host.function.pcie_id
    return packed.pack_us_cq()


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def reads_are_bounded_and_in_order(dut):
    """Many reads at once, with pauses on every stream: each gets its own data, and writes between them are seen in order."""
    host, nic = await begin(dut)
    nic.bars[BAR_VIRTIO].update({i: host.random.randrange(256) for i in range(4096)})
    image = dict(nic.bars[BAR_VIRTIO])
    for share in (0, 0.3, 0.8):
        host.pause_randomly(share)

        async def one(at, length):
            assert await host.read_bar(BAR_VIRTIO, at, length) == bytes(image[at + i] for i in range(length))

        waiting = []
        for _ in range(100):
            length = host.random.choice((1, 2, 4, 8, 8, 64, host.random.randrange(1, 62)))
            waiting.append(cocotb.start_soon(one(4 * host.random.randrange(0, 1000) + (length < 61) * host.random.randrange(4), length)))
        for task in waiting:
            await task


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def writes_do_not_wait_for_completions(dut):
    """The way to the host is shut: reads wait, writes behind them are done nevertheless. [PCIe 5.0, 2.4.1]"""
    host, nic = await begin(dut)
    host.streams["cc"].pause = True
    host.streams["rq"].pause = True
    reads = [cocotb.start_soon(host.read_bar(BAR_VIRTIO, 8 * i, 64)) for i in range(30)]
    await Timer(3, "us")
    # Of 8 there is everything kept here; at 512 bits one or two more are in the output.
    reads_made = sum(1 for access in nic.accesses if not access[0])
    assert reads_made <= 8 * 10, "more reads were taken than there is room for"
    for i in range(64):
        await host.write_bar(BAR_VIRTIO, 0x1000 + 4 * i, struct.pack("<I", i))
    await Timer(5, "us")
    assert all(nic.bars[BAR_VIRTIO].get(0x1000 + 4 * i) == i for i in range(64)), "a write waits"
    host.streams["cc"].pause = False
    host.streams["rq"].pause = False
    for read in reads:
        await read


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def a_completion_does_not_pass_writes(dut):
    """What the NIC wrote before it answered a read is in memory when the answer comes. [PCIe 5.0, 2.4.1]"""
    host, nic = await begin(dut)
    nic.bars[BAR_VIRTIO].update({i: 0 for i in range(8)})
    host.streams["rq"].pause = True
    for i in range(12):
        nic.write(host.memory_at + 64 * i, bytes([i + 1] * 64))
    await Timer(1, "us")
    read = cocotb.start_soon(host.read_bar(BAR_VIRTIO, 0, 8))
    await Timer(3, "us")
    assert not read.done(), "the completion passed the writes"
    host.streams["rq"].pause = False
    await read
    assert len(host.writes) == 12
    # Without the right to write nothing is in the way.
    await host.device.clear_master()
    nic.write(host.memory_at, b"never")
    await Timer(1, "us")
    await host.read_bar(BAR_VIRTIO, 0, 8)
    assert len(host.writes) == 12 and nic.responses[-1] == 2
    await host.device.set_master()
    nic.write(host.memory_at, b"again")
    await Timer(1, "us")
    await host.read_bar(BAR_VIRTIO, 0, 8)
    assert host.writes[-1] == (host.memory_at, b"again") and nic.responses[-1] == 0


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def a_function_level_reset_forgets_requests(dut):
    host, nic = await begin(dut)
    for share in (0, 0.5):
        host.pause_randomly(share)
        for round_number in range(5):
            await host.write_bar(BAR_VIRTIO, 0x80, b"before")
            reads = [cocotb.start_soon(host.rc.mem_read(host.bars[BAR_VIRTIO] + 8 * i, 8, timeout=3000)) for i in range(12)]
            await Timer(host.random.randrange(50, 900), "ns")
            nic_was_reset = cocotb.start_soon(falls(dut))
            await host.function_level_reset()
            assert nic_was_reset.done()
            for read in reads:
                try:
                    await read
                except Exception:  # pylint: disable=broad-except
                    pass  # the model's timeout
            # The reads that the block may pass on are as many as before.
            waiting = [cocotb.start_soon(host.read_bar(BAR_VIRTIO, 0x80, 6)) for _ in range(20)]
            for read in waiting:
                assert await read == b"before", f"round {round_number}"


async def falls(dut):
    await FallingEdge(dut.nic_rst_n)
