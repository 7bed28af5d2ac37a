# SPDX-License-Identifier: Apache-2.0
"""The outside model: cocotbext-pcie's root complex and UltraScale+ block, connected to the ports of a top.

What that model lacks is driven here: function level resets, the interface for user registers, and reads' credits.
`Host` can answer the device's reads itself, with completions split, delayed, reordered, refused, poisoned or missing."""

import logging
import os
import pathlib
import random
import re
import struct

import cocotb
from cocotb.queue import Queue
from cocotb.triggers import FallingEdge, RisingEdge, Timer
from cocotbext.axi import AxiStreamBus
from cocotbext.pcie.core import RootComplex
from cocotbext.pcie.core.caps import PciCap
from cocotbext.pcie.core.tlp import CplStatus, Tlp, TlpType
from cocotbext.pcie.core.utils import PcieId
from cocotbext.pcie.xilinx.us import UltraScalePlusPcieDevice
from cocotbext.pcie.xilinx.us.tlp import ErrorCode, Tlp_us

# The model reports every packet, and every device that is not there.
for logger in ("cocotb.pcie", f"cocotb.{os.environ['TOPLEVEL']}", "cocotb.regression.timing"):
    logging.getLogger(logger).setLevel(logging.ERROR)

BAR_VIRTIO, BAR_MSIX = 0, 2
BAR_BYTES = {BAR_VIRTIO: 0x2000000, BAR_MSIX: 0x10000}
MSIX_PBA = 0x8000
VECTORS = {"nic1": 64, "nic100": 2048}
MEMORY_BYTES = 1 << 20


class UserRegisters(PciCap):
    """A capability that the block leaves to the user: its registers are read and written by cfg_ext."""

    def __init__(self, dut, register, dwords):
        super().__init__()
        self.dut, self.register, self.length = dut, register, dwords
        self.cap_id = 0x09  # vendor-specific

    async def access(self, reg):
        self.dut.cfg_ext_register_number.value = self.register + reg
        self.dut.cfg_ext_function_number.value = 0
        await RisingEdge(self.dut.user_clk)
        self.dut.cfg_ext_read_received.value = 0
        self.dut.cfg_ext_write_received.value = 0

    async def read_register(self, reg):
        await RisingEdge(self.dut.user_clk)
        self.dut.cfg_ext_read_received.value = 1
        await self.access(reg)
        for _ in range(200):
            await FallingEdge(self.dut.user_clk)
            if self.dut.cfg_ext_read_data_valid.value:
                return int(self.dut.cfg_ext_read_data.value)
        raise AssertionError(f"no answer of register {self.register + reg:#x}")

    async def write_register(self, reg, data, mask):
        await RisingEdge(self.dut.user_clk)
        self.dut.cfg_ext_write_received.value = 1
        self.dut.cfg_ext_write_data.value = data
        self.dut.cfg_ext_write_byte_enable.value = mask
        await self.access(reg)


class Host:
    """Root complex, block and memory. `reads` says how the device's reads are answered: see answer_read."""

    def __init__(self, dut, max_payload=256, cfg_mgmt=False):
        self.dut = dut
        self.config = os.environ["VIREO_CONFIG"]
        self.random = random.Random(cocotb.RANDOM_SEED)
        wide = len(dut.s_axis_rq_tdata) == 512
        # By name, before a bus lists all signals: what a list names in Verilator 5.006 are copies of the inputs.
        source = (pathlib.Path(os.environ["VIREO_TOP_FOLDER"]) / f"{os.environ['TOPLEVEL']}.sv").read_text(encoding="utf-8")
        for name in re.findall(r"^  (?:in|out)put .* (\w+),?$", source, re.MULTILINE):
            getattr(dut, name)
        for name in ("cfg_flr_in_process", "cfg_ext_read_received", "cfg_ext_write_received", "cfg_ext_register_number", "extended_tags",
                     "cfg_ext_function_number", "cfg_ext_write_data", "cfg_ext_write_byte_enable"):
            getattr(dut, name).setimmediatevalue(0)
        dut.pcie_tfc_nph_av.setimmediatevalue(15)
        management = {name: getattr(dut, name) for name in (
            "cfg_mgmt_addr", "cfg_mgmt_function_number", "cfg_mgmt_write", "cfg_mgmt_write_data", "cfg_mgmt_byte_enable",
            "cfg_mgmt_read", "cfg_mgmt_read_data", "cfg_mgmt_read_write_done")} if cfg_mgmt else {}
        self.rc = RootComplex()
        self.rc.max_payload_size = (max_payload // 128).bit_length() - 1
        self.block = UltraScalePlusPcieDevice(
            pcie_generation=3, pcie_link_width=16 if wide else 1, user_clk_frequency=250e6 if wide else 125e6, alignment="dword",
            max_payload_size=1024, enable_client_tag=True, enable_extended_tag=wide,
            pf0_msix_enable=True, pf0_msix_table_size=VECTORS[self.config] - 1, pf0_msix_table_bir=BAR_MSIX, pf0_msix_table_offset=0,
            pf0_msix_pba_bir=BAR_MSIX, pf0_msix_pba_offset=MSIX_PBA,
            user_clk=dut.user_clk, user_reset=dut.user_reset,
            rq_bus=AxiStreamBus.from_prefix(dut, "s_axis_rq"), rc_bus=AxiStreamBus.from_prefix(dut, "m_axis_rc"),
            cq_bus=AxiStreamBus.from_prefix(dut, "m_axis_cq"), cc_bus=AxiStreamBus.from_prefix(dut, "s_axis_cc"),
            pcie_rq_seq_num0=dut.pcie_rq_seq_num0, pcie_rq_seq_num_vld0=dut.pcie_rq_seq_num_vld0,
            pcie_rq_seq_num1=dut.pcie_rq_seq_num1, pcie_rq_seq_num_vld1=dut.pcie_rq_seq_num_vld1,
            pcie_cq_np_req=dut.pcie_cq_np_req,
            cfg_max_payload=dut.cfg_max_payload, cfg_max_read_req=dut.cfg_max_read_req, cfg_function_status=dut.cfg_function_status,
            cfg_interrupt_msix_enable=dut.cfg_interrupt_msix_enable, cfg_interrupt_msix_mask=dut.cfg_interrupt_msix_mask,
            **management)
        dut.user_reset.setimmediatevalue(1)  # the model begins a reset two cycles later: what the last test left must not be seen
        self.streams = {"cq": self.block.cq_source, "rc": self.block.rc_source, "cc": self.block.cc_sink, "rq": self.block.rq_sink}
        self.function = self.block.functions[0]
        for bar, size in BAR_BYTES.items():
            self.function.configure_bar(bar, size, ext=True)
        # virtio's capabilities, and the block's own pointers around them, as the vendor's tool sets them.
        for register, dwords in ((0xb0 // 4, 4), (0x48 // 4, 5), (0xc0 // 4, 4), (0xd0 // 4, 4), (0xe0 // 4, 5)):
            self.function.register_capability(UserRegisters(dut, register, dwords), offset=register)
        self.function.pm_cap.next_cap = self.function.msix_cap.offset * 4
        self.function.msix_cap.next_cap = self.function.pcie_cap.offset * 4
        self.function.pcie_cap.next_cap = 0xb0
        self.rc.make_port().connect(self.block)
        self.memory = bytearray(MEMORY_BYTES)
        self.memory_at = 0x1_2340_0000  # above 4 GiB
        self.messages = []              # (address, data) of every write to the interrupt controller, in order
        self.writes = []                # (address, data) of all others
        self.read_fault = lambda tlp: None
        self.read_delay_ns = 0
        self.split = False
        self.hold_reads = False
        self.held = []
        self.read_requests = []
        for kind in (TlpType.MEM_READ, TlpType.MEM_READ_64):
            self.rc.register_rx_tlp_handler(kind, self.on_read)
        for kind in (TlpType.MEM_WRITE, TlpType.MEM_WRITE_64):
            self.rc.register_rx_tlp_handler(kind, self.on_write)
        self.link = Queue()
        cocotb.start_soon(self.send_completions())
        cocotb.start_soon(self.watch())

    async def start(self, bus_master=True):
        await FallingEdge(self.dut.user_reset)
        await Timer(300, "ns")
        await self.rc.enumerate()
        self.device = self.rc.find_device(self.function.pcie_id)
        await self.device.enable_device()
        if bus_master:
            await self.device.set_master()
        self.bars = self.device.bar_addr
        self.dut.extended_tags.value = int(self.function.pcie_cap.extended_tag_field_enable)
        await Timer(200, "ns")

    # --- The host's accesses

    async def read_bar(self, bar, offset, length):
        """One read request of any alignment: what came back, or the completion's status if it failed."""
        tlp = Tlp()
        tlp.fmt_type = TlpType.MEM_READ_64 if self.bars[bar] >> 32 else TlpType.MEM_READ
        tlp.requester_id = PcieId(0, 0, 0)
        first_pad, _ = tlp.set_addr_be(self.bars[bar] + offset, length)
        completions = await self.request(tlp)
        if completions[0].status != CplStatus.SC:
            assert len(completions) == 1 and not completions[0].data
            return completions[0].status
        assert completions[0].byte_count == max(length, 1) and completions[0].lower_address == (self.bars[bar] + offset) & 0x7f
        data = b"".join(bytes(completion.get_data()) for completion in completions)
        assert len(data) == 4 * tlp.length
        return data[first_pad:first_pad + length]

    async def request(self, tlp):
        completions = await self.rc.perform_nonposted_operation(tlp, timeout=50000, timeout_unit="ns")
        assert completions, f"no completion for {tlp!r}"
        for completion in completions:
            assert completion.requester_id == tlp.requester_id and completion.completer_id == self.function.pcie_id
            assert completion.tc == tlp.tc and completion.attr == tlp.attr
        return completions

    async def write_bar(self, bar, offset, data, first_be=None, last_be=None):
        tlp = Tlp()
        tlp.fmt_type = TlpType.MEM_WRITE_64 if self.bars[bar] >> 32 else TlpType.MEM_WRITE
        tlp.requester_id = PcieId(0, 0, 0)
        tlp.set_addr_be_data(self.bars[bar] + offset, data)
        if first_be is not None:
            tlp.first_be, tlp.last_be = first_be, last_be
        await self.rc.perform_posted_operation(tlp)

    # --- The device's accesses

    async def on_write(self, tlp):
        enables = [tlp.first_be] + [0xf] * (tlp.length - 2) + ([tlp.last_be] if tlp.length > 1 else [])
        data = bytes(tlp.get_data())
        assert len(data) == 4 * tlp.length
        assert tlp.length * 4 <= 128 << self.rc.max_payload_size, "longer than the maximum payload size"
        assert (tlp.address & 0xfff) + 4 * tlp.length <= 0x1000, "crosses 4 KiB"
        kept = [i for i in range(len(data)) if enables[i // 4] >> i % 4 & 1]
        assert kept == list(range(kept[0], kept[0] + len(kept))), "the bytes are not contiguous"
        address, data = tlp.address + kept[0], data[kept[0]:kept[0] + len(kept)]
        assert (tlp.fmt_type == TlpType.MEM_WRITE_64) == (address >> 32 != 0)
        if address >> 20 == 0xfee:
            assert len(data) == 4 and address % 4 == 0
            self.messages.append((address, struct.unpack("<I", data)[0], len(self.writes)))
            return
        self.writes.append((address, data))
        at = address - self.memory_at
        if 0 <= at and at + len(data) <= MEMORY_BYTES:
            self.memory[at:at + len(data)] = data

    async def on_read(self, tlp):
        length = tlp.get_be_byte_count()
        assert length <= 128 << self.rc.max_read_request_size, "longer than the maximum read request size"
        assert (tlp.address & 0xfff) + 4 * tlp.length <= 0x1000, "crosses 4 KiB"
        self.read_requests.append((tlp, len(self.writes)))
        if self.hold_reads:
            self.held.append(tlp)
        else:
            cocotb.start_soon(self.answer_read(tlp))

    async def release_reads(self):
        self.hold_reads = False
        held, self.held = self.held, []
        self.random.shuffle(held)
        for tlp in held:
            cocotb.start_soon(self.answer_read(tlp))

    async def answer_read(self, tlp):
        """In completions as long as possible, or with `split` cut at random read completion boundaries."""
        fault = self.read_fault(tlp)  # None, or (kind, bytes before it)
        address, length = tlp.address + tlp.get_first_be_offset(), tlp.get_be_byte_count()
        data = bytes(self.memory[address - self.memory_at:address - self.memory_at + length])
        if len(data) != length or address < self.memory_at:
            fault = ("UR", 0)
        sent = 0
        while sent < length:
            if self.read_delay_ns:
                await Timer(self.random.randrange(1, self.read_delay_ns), "ns")
            here = address + sent
            most = self.random.choice((64, 128, 128 << self.rc.max_payload_size)) if self.split else 128 << self.rc.max_payload_size
            end = min((here + most) // 64 * 64, address + length)
            if fault and fault[0] in ("UR", "CA", "TIMEOUT") and end - address > fault[1]:
                if fault[0] == "TIMEOUT":
                    self.link.put_nowait(lambda: cocotb.start_soon(self.give_up(tlp)))
                    return
                status = CplStatus.UR if fault[0] == "UR" else CplStatus.CA
                self.link.put_nowait(Tlp.create_completion_for_tlp(tlp, PcieId(0, 0, 0), False, status))
                return
            cpl = Tlp.create_completion_data_for_tlp(tlp, PcieId(0, 0, 0))
            cpl.byte_count, cpl.lower_address = length - sent, here & 0x7f
            pad = here & 3
            part = bytes(pad) + data[sent:end - address]
            cpl.set_data(part + bytes(-len(part) % 4))
            cpl.ep = bool(fault and fault[0] == "POISONED" and sent <= fault[1] < end - address)
            sent = end - address
            self.link.put_nowait(cpl)

    async def give_up(self, tlp):
        """The block does not wait any longer, and says so: after all that came of the read has arrived."""
        await Timer(20, "us")
        lost = Tlp_us(Tlp.create_completion_for_tlp(tlp, PcieId(0, 0, 0)))
        lost.error_code, lost.request_completed = ErrorCode.TIMEOUT, True
        self.block.active_request[tlp.tag] = None
        self.block.rc_queue.put_nowait(lost)

    async def send_completions(self):
        while True:
            completion = await self.link.get()
            if callable(completion):
                completion()
            else:
                await self.rc.send(completion)

    # --- What the block lacks

    async def function_level_reset(self):
        self.dut.cfg_flr_in_process.value = 1
        for _ in range(2000):
            await FallingEdge(self.dut.user_clk)
            if self.dut.cfg_flr_done.value:
                break
        else:
            raise AssertionError("the reset is not done")
        assert not self.dut.s_axis_rq_tvalid.value and not self.dut.s_axis_cc_tvalid.value
        await RisingEdge(self.dut.user_clk)
        self.dut.cfg_flr_in_process.value = 0
        for tag in range(256):
            self.block.active_request[tag] = None

    def pause_randomly(self, share, streams=("cq", "rc", "cc", "rq")):
        """Each stream stands still in this share of the cycles, in runs."""
        def generator(source):
            while True:
                pause = source.random() < share
                for _ in range(source.randrange(1, 9)):
                    yield pause
        for name in streams:
            stream = self.streams[name]
            stream.set_pause_generator(generator(random.Random(self.random.random())) if share else None)
            if not share:
                stream.pause = False

    async def watch(self):
        """A packet that the bridge began has no gap [PG213, 3: the user keeps tvalid asserted during a packet]."""
        inside = {"rq": False, "cc": False}
        while True:
            await FallingEdge(self.dut.user_clk)
            for name in inside:
                valid = int(getattr(self.dut, f"s_axis_{name}_tvalid").value)
                if self.dut.user_reset.value:
                    inside[name] = False
                    continue
                assert valid or not inside[name], f"a gap in a packet on {name}"
                if valid and int(getattr(self.dut, f"s_axis_{name}_tready").value):
                    inside[name] = not int(getattr(self.dut, f"s_axis_{name}_tlast").value)
                elif valid:
                    inside[name] = True
