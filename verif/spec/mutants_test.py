#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Mutation testing of the agreement test: it must detect every deliberate error in the generated package or header.

Mutants that break different items share one build; each must be reported under its own name."""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
GEN = ROOT / "spec/gen"


def swap(first, second):
    """Swaps two adjacent members."""
    return (rf"(\n *{first};[^\n]*)(\n *{second};[^\n]*)", r"\2\1")


# (pattern, replacement, name that the agreement test must report). Every pattern must match exactly once.
PACKAGE = [
    (*swap("logic solicited_event", "logic mig_req"), "struct bth"),
    (*swap(r"logic \[31:0\] rkey", r"logic \[31:0\] dma_length"), "struct reth"),
    (r"return aeth_t'\(\{bytes\[0 \+: 8\][^}]*\}\)", "return aeth_t'(bytes)", "struct aeth"),
    (r"(pack_immdt\(input immdt_t fields\);\n    return )\{[^}]*\}", r"\1fields", "struct immdt"),
    (r"UdpPortRocev2 = 16'h12b7", "UdpPortRocev2 = 16'h12b8", "number udp_port_rocev2"),
    (r"BthOpcodeRcAcknowledge = 8'h11", "BthOpcodeRcAcknowledge = 8'h1f", "number bth_opcode.rc_acknowledge"),
    (r"(Ipv4IcrcOnes = .*header_checksum: )16'hffff", r"\g<1>16'h7fff", "struct ipv4"),
    (r"(BthOpcodeRcFlush:\n.*)has_feth: 1'h1, ", r"\1", "column has_feth"),
    (r"(BthOpcodeUcSendMiddle:\n.*)payload: 3'h1", r"\1payload: 3'h2", "column payload"),
    (r"(VireoConstants = '\{[^}]*net_f_roce: )8'h3a", r"\g<1>8'h3b", "number vireo.net_f_roce"),
    (r"32'h9c400,", "32'h9c401,", "number rnr_timer_ns[12]"),
    (r"MgmtControlRegister = 12'h80", "MgmtControlRegister = 12'h84", "number mgmt_control"),
    (r"(Nic1 = '\{[^}]*num_qps: )16", r"\g<1>32", "number nic1.num_qps"),
    (r"VirtqDescFlagsWrite = 16'h2", "VirtqDescFlagsWrite = 16'h1", "number virtq_desc_flags.write"),
    (r"RdmaSqReqBytes = 576", "RdmaSqReqBytes = 578", "number rdma_sq_req.bytes"),
]
HEADER = [
    (r"(struct Bth \{[^#]*?)result\.psn = static_cast<uint32_t>\(detail::GetNetwork<72, 24>", r"\1result.psn = static_cast<uint32_t>(detail::GetNetwork<72, 23>",
     "struct bth"),
    (r"(struct Reth \{[^#]*?)detail::PutNetwork<64, 32>\(bytes, static_cast<uint64_t>\(rkey\)\)",
     r"\1detail::PutNetwork<64, 32>(bytes, static_cast<uint64_t>(dma_length))", "struct reth"),
    (r"(struct Udp \{[^#]*?kIcrcOnes\[kBytes\] = \{0x00, 0x00, 0x00, 0x00, 0x00, 0x00, )0xff", r"\g<1>0xfe", "struct udp"),
    (r"(struct Deth \{[^#]*?)f\(\"source_qp\", self\.source_qp, 24\);", r"\1", "deth: Visit leaves something out"),
    (r"kUdpPortRocev2 = 4791u", "kUdpPortRocev2 = 4790u", "number udp_port_rocev2"),
    (r"(enum class NakCode[^}]*kInvalidRequest = )1u", r"\g<1>7u", "number nak_code.invalid_request"),
    (r"(/\* rc_fetch_add \*/ .*)\.response = BthOperation\{6\}", r"\1.response = BthOperation{5}", "column response"),
    (r"(kRfcV2Constants = \{[^}]*\.net_ctrl_class_roce = )6u", r"\g<1>7u", "number rfc_v2.net_ctrl_class_roce"),
    (r"(kNic100 = \{[^}]*\.datapath_bits = )512u", r"\g<1>256u", "number nic100.datapath_bits"),
    (r"(struct RdmaCqReq \{[^#]*?)kByteLenOffset = 16", r"\1kByteLenOffset = 20", "number rdma_cq_req.byte_len"),
]
# These break every structure at once and need a build each.
HEADER_ALONE = [
    [(r"<< position % 8;\n  for \(size_t i = first; i <= last; \+\+i, value >>= 8\)", "<< 0;\n  for (size_t i = first; i <= last; ++i, value >>= 8)",
      "struct pvirtq_event_suppress")],
]


def mutate(text, mutants):
    for pattern, replacement, name in mutants:
        text, count = re.subn(pattern, replacement, text)
        if count != 1:
            sys.exit(f"mutant of '{name}': its pattern matches {count} times, not once: {pattern}")
    return text


def build_and_run(work, compiler, file, mutants):
    """Agreement test with `mutants` applied to one generated file; returns its output."""
    shutil.rmtree(work, ignore_errors=True)
    gen = work / "spec/gen"
    gen.mkdir(parents=True)
    for path in GEN.iterdir():
        shutil.copy(path, gen)
    (gen / file).write_text(mutate((gen / file).read_text(encoding="utf-8"), mutants), encoding="utf-8")
    command = ["verilator", "--cc", "--exe", "--build", "-j", "2", "-Wno-fatal", "-Wno-lint", "--prefix", "Vspec_codec", "--top-module",
               "vireo_spec_codec", "--Mdir", str(work / "obj"), "-O0", "--output-split", "20000", "-CFLAGS",
               f"-std=c++20 -O0 -w -I{work} -I{ROOT}", "-LDFLAGS", "-lgtest -lgtest_main -lpthread", "-MAKEFLAGS", f"CXX={compiler} LINK={compiler}",
               str(gen / "vireo_spec_pkg.sv"), str(gen / "vireo_spec_codec.sv"),
               str(ROOT / "verif/spec/agreement_test.cc"), str(ROOT / "sim/common/seed.cc"), "-o", "agreement"]
    environment = os.environ | ({"OBJCACHE": "ccache"} if shutil.which("ccache") else {})
    built = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if built.returncode:
        sys.exit(f"{file}: the mutants do not build:\n{built.stdout}{built.stderr}")
    return subprocess.run([str(work / "obj/agreement")], capture_output=True, text=True, check=False)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--compiler", default="c++")
    options = parser.parse_args()
    caught = total = 0
    batches = [("vireo_spec_pkg.sv", PACKAGE), ("vireo_spec.h", HEADER), *(("vireo_spec.h", alone) for alone in HEADER_ALONE)]
    for file, mutants in batches:
        run = build_and_run(options.work, options.compiler, file, mutants)
        for _, _, name in mutants:
            total += 1
            noticed = run.returncode != 0 and name in run.stdout
            caught += noticed
            print(f"{'caught' if noticed else 'MISSED'}  {file}: {name}")
    print(f"{caught} of {total} mutants caught")
    return 0 if caught == total else 1


if __name__ == "__main__":
    sys.exit(main())
