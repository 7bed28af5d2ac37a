#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Synthesizes the RTL with Yosys (slang front end) for the FPGAs of the named configurations, from source to mapped
netlist. Prints cells per block. Fails on a latch, a net with several drivers, a memory that was not mapped or became
flip-flops, per-queue state in flip-flops, and a module that does not elaborate.

Without arguments: the whole device for every configuration. Writes docs/area.md. With --switches: what each feature
takes. With module names: each module on its own. Unchanged blocks are taken from the cache. Run by `./vireo synth`, and by the test suite with module names."""

import argparse
import concurrent.futures
import hashlib
import json
import pathlib
import re
import sys

import yosys
from yosys import ROOT, VERSION

sys.path.append(str(ROOT / "rtl"))
import parameters  # noqa: E402  pylint: disable=wrong-import-position

WORK = ROOT / "build/synth"  # Yosys sees nothing outside of the repository
AREA = ROOT / "docs/area.md"

# Named configuration -> FPGA family, mapping command, cell libraries. No pads or clock buffers, since these are blocks.
# Without wide multiplexers: for them ABC takes LUTs of 5 to 7 inputs, which are 2 to 8 LUT4s, wherever that saves a level.
ECP5 = ("ECP5", "synth_ecp5 -nowidelut -top {top}", "+/ecp5/cells_sim.v +/ecp5/cells_bb.v")
TARGETS = {
    "nic1": ECP5,
    "nic1_rc": ECP5,
    "nic100": ("UltraScale+", "synth_xilinx -family xcup -flatten -noiopad -noclkbuf -top {top}",
               "+/xilinx/cells_sim.v +/xilinx/cells_xtra.v"),
}
# Before mapping: registers and bits of memories that are always the same, which is known of a memory only if it is known
# of the registers that it is written from, and of the registers behind it only then. Without this a token's fields that a
# block ties to 0 keep their places in memory. `-mux_undef`: a register that is never loaded has any contents.
TRIM = [*["opt -fine -mux_undef", "opt_mem"] * 3, "opt_clean"]
# Memories that are in block RAM although Yosys would put them in LUTs. Queues of a few wide entries: of a configuration that has
# block RAM to spare on its device, where 36 bits take one DP16KD instead of 54 LUTs and the 36 registers at their output.
QUEUES_IN_BLOCK_RAM = {
    "nic1_rc": {"requester": ("u_entries.gen_register.u_ram.memory", "u_fetched.gen_register.u_ram.memory")},
}
# And tables of 17 to 32 wide entries (`gen_blocks` of vireo_table), with twice as many LUTs.
TABLE_IN_BLOCK_RAM_BITS = 24
# ABC's mapping of a family, if not its default: this one tries three structures of the logic and takes the best of each part.
MAPPERS = {"ECP5": ["scratchpad -copy abc9.script.flow3 abc9.script"]}
# Of the whole device, before its blocks are mapped: constants, and bits that nobody uses, pass the boundaries of blocks, once
# per round. No logic is moved and no port changes.
ACROSS = [*["opt -fine -mux_undef", "opt_mem", "opt_hier", "opt_clean"] * 4]
# Column of the table -> cell types and their weights. BRAM is in units of 18 Kbit.
COLUMNS = {
    "LUT": {r"LUT[1-6]$": 1, r"CCU2C$": 2},
    "FF": {r"TRELLIS_FF$|FD[CPRS]E(_1)?$": 1},
    "LUTRAM": {r"TRELLIS_DPR16X4$|RAM\d+X\d+\w*$|RAM(32|64)\w+$": 1},
    "BRAM": {r"DP16KD$|PDPW16KD$|RAMB18E\d$": 1, r"RAMB36E\d$": 2, r"URAM288\w*$": 16},
    "DSP": {r"MULT18X18D$|DSP48E\d$": 1},
}
WHOLE = "vireo_nic"
# A small and a large device of the same features: state that grows from one to the other, and what the test suite maps.
COMPARED = ("nic1", "nic100")
# A memory with more entries than this must not become flip-flops.
FF_MEMORY_ENTRIES = 16
LATCH = r"\$_DLATCH|^LD[CP]E$|\$a?dlatch"
SEVERAL_DRIVERS = r"multiple conflicting drivers for (.*?):?$"
UNMAPPED = r"^\$mem|\$__"
# A register of at least this many bits that grows faster from nic1 to nic100 than the data path holds per-queue or per-QP
# state, which must be in RAM.
PER_QUEUE_BITS = 256
# Exceptions: registers that grow with something else than queues.
NOT_PER_QUEUE = {
    "dma_read_port.u_reader.started_q": "DMA tags",
    "dma_read_port.u_reader.done_q": "DMA tags",
    "net_checksum.left_data_q": "the data path, less virtio_net_hdr",
    "net_filter.u_high.read_data_q": "the data path, less virtio_net_hdr",
}


def modules(sources):
    return [path.stem for path in sources if not path.stem.endswith("_pkg")]


def counts(cells):
    return {column: sum(n * weight for pattern, weight in patterns.items() for cell, n in cells.items() if re.search(pattern, cell))
            for column, patterns in COLUMNS.items()}


def file_for(text):
    """Cache file name for this text."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def run_yosys(name, lines):
    return yosys.run(WORK, name, lines)


def split(text):
    """Modules of an RTLIL file: name -> text, attributes included."""
    found, begin = {}, 0
    for match in re.finditer(r"^module \\(\S+)\n|^end\n", text, re.MULTILINE):
        if match[1]:
            name = match[1]
        else:
            found[name] = text[begin:match.end()]
            begin = match.end()
    return found


def canonical(text):
    """RTLIL in canonical form: without source locations, and with Yosys' generated names renumbered."""
    numbers = {}

    def renamed(match):
        return match[1] + numbers.setdefault(match[2], f"${len(numbers)}")

    lines = (line for line in text.splitlines() if not re.match(r" *attribute \\(src|hdlname) |autoidx |#", line))
    return "\n".join(re.sub(r"(^ *cell \S+ |)(\$\S+)", renamed, line) if "$" in line else line for line in lines)


def shell(text):
    """A block as a black box: its name and its ports."""
    lines = text.splitlines()
    kept = [line for line in lines if re.match(r"module |end$|  wire .*\b(input|output|inout) \d", line)]
    return "\n".join(["attribute \\blackbox 1", *kept]) + "\n"


def registers(text):
    """Registers of a module: name -> bits."""
    found = {}
    for cell in re.finditer(r"^  cell \$(?:a|s|al)?dff\w* .*\n((?:    .*\n)*)", text, re.MULTILINE):
        q = re.search(r"^    connect \\Q \\?(\S+)", cell[1], re.MULTILINE)[1]
        found[q] = found.get(q, 0) + int(re.search(r"\\WIDTH (\d+)", cell[1])[1])
    return found


def elaborate(sources, top, values, whole):
    """RTLIL of the blocks of the whole device, or of one module; CPU time; and the error, if any."""
    hierarchy = "--keep-hierarchy" if whole else ""
    script = [f"read_slang --threads 1 --top {top} {hierarchy} "
              + " ".join(f"-G {name}={value}" for name, value in values.items()) + " "
              + " ".join(str(p.relative_to(ROOT)) for p in sources)]
    if whole:  # keep the hierarchy of blocks, flatten each block
        script += [f"setattr -mod -set keep_hierarchy 1 *${WHOLE}.*", f"setattr -mod -unset keep_hierarchy *${WHOLE}.*.*"]
    script += [f"hierarchy -check -top {top}", "flatten -noscopeinfo"]
    key = file_for("\n".join([VERSION, *script, *(p.read_text(encoding="utf-8") for p in sources)]))
    result = WORK / f"cache/{key}.elaborated"
    seconds = 0
    if not result.exists():
        partial = WORK / f"{key}.il"
        seconds, error = run_yosys(f"{top}.{key[:8]}.elaborate", script + [f"write_rtlil {partial.relative_to(ROOT)}"])
        if error:
            return None, seconds, f"{top} does not elaborate:\n{error}"
        partial.replace(result)
    return split(result.read_text(encoding="utf-8")), seconds, None


def across(config_name, design):
    """The elaborated device with what blocks know of each other, CPU time, and the error, if any."""
    key = file_for("\n".join([VERSION, *ACROSS, *(canonical(design[name]) for name in sorted(design))]))
    result = WORK / f"cache/{key}.across"
    seconds = 0
    if not result.exists():
        source, partial, drivers = (WORK / f"{key}.{suffix}" for suffix in ("source", "il", "drivers"))
        source.write_text("".join(design.values()), encoding="utf-8")
        seconds, error = run_yosys(f"{WHOLE}.{config_name}.across", [
            f"read_rtlil {source.relative_to(ROOT)}", f"hierarchy -check -top {WHOLE}", "setattr -mod -unset keep_hierarchy *", "proc",
            f"tee -q -o {drivers.relative_to(ROOT)} check", *ACROSS, f"write_rtlil {partial.relative_to(ROOT)}"])
        source.unlink()
        if error:
            return None, seconds, f"{WHOLE} for {config_name} does not synthesize:\n{error}"
        conflicts = re.findall(SEVERAL_DRIVERS, drivers.read_text(encoding="utf-8"), re.MULTILINE)
        if conflicts:  # they may be gone when the blocks are mapped
            return None, seconds, f"{WHOLE} for {config_name} has a net with several drivers: {', '.join(conflicts)}"
        partial.replace(result)
    return split(result.read_text(encoding="utf-8")), seconds, None


def in_block_ram(config_name, name, text):
    """Names of the memories of a module that are to be in block RAM."""
    queues = QUEUES_IN_BLOCK_RAM.get(config_name, {}).get(name.rpartition(".u_")[2], ())
    tables = re.findall(r"^  memory width (\d+) size (\d+) \\(\S+gen_blocks\.memory)$", text, re.MULTILINE)
    return [*queues, *(memory for width, size, memory in tables
                       if TARGETS[config_name] == ECP5 and int(width) >= TABLE_IN_BLOCK_RAM_BITS and int(size) <= 32)]


def map_module(config_name, name, text):
    """Maps a module for a configuration's FPGA. Returns cells by type; the netlist's file; CPU time, 0 if cached; and the
    error, if any. `text` is its RTLIL, with black boxes of the blocks that it instantiates."""
    command = TARGETS[config_name][1].format(top=name)
    checks = {"drivers": "tee -q -o {} check", "latches": "select -write {} t:$dlatch t:$adlatch t:$dlatchsr",
              "memories": f"select -write {{}} t:$mem_v2 r:WR_PORTS>0 %i r:SIZE>{FF_MEMORY_ENTRIES} %i"}
    moved = [f'setattr -set ram_style "block" {name}/m:{memory}' for memory in in_block_ram(config_name, name, text)]
    first = [*moved, "proc", checks["drivers"], *TRIM, f"{command} -run begin:map_ffram", checks["latches"], checks["memories"],
             "select -assert-none t:$dlatch t:$adlatch t:$dlatchsr",
             f"select -assert-none t:$mem_v2 r:WR_PORTS>0 %i r:SIZE>{FF_MEMORY_ENTRIES} %i"]
    second = [*MAPPERS.get(TARGETS[config_name][0], []), f"{command} -run map_ffram:", "check -assert"]
    key = file_for("\n".join([VERSION, *first, *second, canonical(text)]))
    stat, netlist, source = (WORK / f"cache/{key}.{suffix}" for suffix in ("json", "il", "source"))
    run = f"{re.sub(r'[^A-Za-z0-9_.]', '-', name)}.{config_name}"
    if stat.exists() and netlist.exists():
        return json.loads(stat.read_text(encoding="utf-8")), netlist, 0, None
    source.write_text(text, encoding="utf-8")
    files = {check: WORK / f"{run}.{check}" for check in checks}
    for file in files.values():
        file.unlink(missing_ok=True)
    partial, mapped = WORK / f"{run}.json", WORK / f"{run}.il"
    script = [f"read_rtlil {source.relative_to(ROOT)}", *first, *second,
              f"tee -q -o {partial.relative_to(ROOT)} stat -json {name}",
              f"select {name}", f"write_rtlil -selected {mapped.relative_to(ROOT)}", "select -clear"]
    for check, command in checks.items():
        script = [command.format(files[check].relative_to(ROOT)) if line == command else line for line in script]
    seconds, error = run_yosys(run, script)
    source.unlink()

    def found(check, pattern):
        text = files[check].read_text(encoding="utf-8") if files[check].exists() else ""
        return re.findall(pattern, text, re.MULTILINE)

    why = {
        "a net with several drivers": found("drivers", SEVERAL_DRIVERS),
        "a latch": found("latches", r"^[^/]*/(.+)$"),
        "a memory that cannot be mapped to RAM, or that would become flip-flops": found("memories", r"^[^/]*/(.+)$")
            + re.findall(r"no valid mapping found for memory (\S+)", error or ""),
    }
    cells = {}
    if not error:
        cells = json.loads(partial.read_text(encoding="utf-8"))["modules"][f"\\{name}"].get("num_cells_by_type", {})
        why["a latch"] += [cell for cell in cells if re.search(LATCH, cell)]
        why["an unmapped cell"] = [cell for cell in cells if re.search(UNMAPPED, cell) or (cell[0] == "$" and WHOLE not in cell)]
    for what, names in why.items():
        if names:
            return None, None, seconds, f"{name} for {config_name} has {what}: {', '.join(names)}"
    if error:
        return None, None, seconds, f"{name} for {config_name} does not synthesize:\n{error}"
    stat.write_text(json.dumps(cells), encoding="utf-8")
    mapped.replace(netlist)
    return cells, netlist, seconds, None


def show(*columns):
    name, module, config, *figures = columns
    print(f"{name:<22} {module:<24} {config:<8}" + "".join(f"{figure:>9}" for figure in figures), flush=True)


def show_row(row, seconds):
    show(row["block"], row["module"], row["config"], *(row[name] for name in COLUMNS), f"{seconds:.0f}" if seconds else "cached")


def per_queue(designs):
    """Registers that hold per-queue or per-QP state, as BLOCK.REGISTER -> bits, from the elaborated designs of both
    configurations."""
    small, large = ({f"{name.partition('.u_')[2]}.{q}": bits for name, text in designs[config].items()
                     for q, bits in registers(text).items()} for config in COMPARED)
    growth = parameters.CONFIGS["nic100"]["datapath_bits"] // parameters.CONFIGS["nic1"]["datapath_bits"]
    return {q: bits for q, bits in sorted(large.items())
            if bits >= PER_QUEUE_BITS and bits > growth * small.get(q, bits) and q not in NOT_PER_QUEUE}


def map_device(config_name, design, jobs, on_row):
    """Maps every block of an elaborated device for the FPGA of a named configuration, and calls on_row(row, seconds) for each.
    Of some blocks without the rest each is mapped for itself: nothing is known of what it is connected to.
    Returns rows, netlists, errors and CPU time."""
    rows, netlists, errors, spent = [], [], [], 0
    if WHOLE in design:
        design, spent, error = across(config_name, design)
        if error:
            return [], [], [error], spent
    shells = "".join(shell(text) for name, text in design.items() if name != WHOLE)
    # Largest first, so that the longest run does not start last.
    order = sorted(design, key=lambda name: -len(design[name]))
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        runs = {pool.submit(map_module, config_name, name, design[name] + (shells if name == WHOLE else "")): name for name in order}
        for run in concurrent.futures.as_completed(runs):
            module, _, instance = runs[run].partition(f"${WHOLE}.u_")
            cells, netlist, seconds, error = run.result()
            spent += seconds
            if error:
                errors.append(error)
                continue
            netlists.append(netlist)
            row = {"config": config_name, "block": instance or "wiring", "module": module, **counts(cells)}
            rows.append(row)
            on_row(row, seconds)
    return rows, netlists, errors, spent


def synthesize_whole(sources, config_names, jobs):
    """Maps and links the whole device. Returns rows of the table, registers with per-queue state, and errors."""
    rows, errors, designs = [], [], {}
    for config_name in config_names:
        print(f"{config_name}: elaborating {WHOLE} ...", flush=True)
        design, seconds, error = elaborate(sources, WHOLE, parameters.alone(WHOLE, config_name), True)
        print(f"{config_name}: {f'elaborated, {seconds:.0f} s' if seconds else 'kept'}", flush=True)
        spent = seconds
        if error:
            errors.append(error)
            continue
        designs[config_name] = design
        own, netlists, failed, seconds = map_device(config_name, design, jobs, show_row)
        for error in failed:
            print(f"FAILED: {error.splitlines()[0]}", flush=True)
        rows += own
        errors += failed
        spent += seconds
        if len(netlists) == len(design):
            error = link(config_name, netlists)
            if error:
                errors.append(error)
            total = {name: sum(row[name] for row in rows if row["config"] == config_name) for name in COLUMNS}
            row = {"config": config_name, "block": WHOLE, "module": f"{len(design)} netlists", **total}
            show_row(row, spent)
            rows.append(row)
    found = per_queue(designs) if set(COMPARED) <= set(designs) else {}
    errors += [f"{q} has {bits} flip-flops for nic100: per-queue or per-QP state must be in RAM" for q, bits in found.items()]
    return rows, found, errors


def link(config_name, netlists):
    """Links the block netlists to the whole device's: build/synth/vireo_nic.CONFIG.v. Fails on a net with several drivers or
    an unmapped cell."""
    result = (WORK / f"{WHOLE}.{config_name}.v").relative_to(ROOT)
    _, error = run_yosys(f"{WHOLE}.{config_name}.link", [
        f"read_verilog -lib {TARGETS[config_name][2]}", *(f"read_rtlil {p.relative_to(ROOT)}" for p in netlists),
        f"hierarchy -check -top {WHOLE}", "check -mapped -assert", f"write_verilog -noattr {result}"])
    return f"the netlists of {config_name} do not link:\n{error}" if error else None


def synthesize_module(sources, name, config_name):
    """Row of the table, and why it failed if it did."""
    design, first, error = elaborate(sources, name, parameters.alone(name, config_name), False)
    if error:
        return None, first, error
    cells, _, second, error = map_module(config_name, name, design[name])
    return {"config": config_name, "block": name.removeprefix("vireo_"), "module": name, **counts(cells or {})}, first + second, error


def write_netlist(sources, name, values, output):
    """The netlist of a module with these parameters as Verilog that needs no library, for simulation: mapped to ECP5, and
    every cell replaced by Yosys' simulation model of it. Memories are in LUTRAM, because there is no model of the block RAM."""
    design, _, error = elaborate(sources, name, values, False)
    if error:
        return error
    run = output.stem
    source, mapped, result = (WORK / f"{run}.{suffix}" for suffix in ("source", "mapped", "v"))
    source.write_text(design[name], encoding="utf-8")
    _, error = run_yosys(f"{run}.map", [
        f"read_rtlil {source.relative_to(ROOT)}", f"synth_ecp5 -nobram -nodsp -top {name}", "check -mapped -assert",
        f"select {name}", f"write_rtlil -selected {mapped.relative_to(ROOT)}", "select -clear"])
    if not error:
        _, error = run_yosys(run, [
            f"read_rtlil {mapped.relative_to(ROOT)}", "read_verilog -nooverwrite +/ecp5/cells_sim.v", f"hierarchy -check -top {name}", "proc",
            "flatten", "opt_expr", "opt_clean", "check -assert", f"rename {name} {name}_netlist",
            f"write_verilog -noattr {result.relative_to(ROOT)}"])
    if not error:
        result.replace(output)
    return error and f"no netlist for {name}:\n{error}"


def area_page(rows, found):
    """Writes the tables of these rows between the markers of docs/area.md; those of a configuration without rows stay."""
    text = AREA.read_text(encoding="utf-8")
    before, begin, rest = text.partition("<!-- BEGIN GENERATED: ./vireo synth -->\n")
    old, end, after = rest.partition("<!-- END GENERATED -->\n")
    if not begin or not end:
        sys.exit(f"{AREA.relative_to(ROOT)} has no block <!-- BEGIN GENERATED: ./vireo synth --> to write to")
    sections = {section.partition("\n")[0]: section for section in re.split(r"^(?=## )", old, flags=re.MULTILINE) if section}

    def write(title, lines):
        sections[title] = "\n".join([title, "", *lines]) + "\n\n"

    for config_name, (family, *_) in TARGETS.items():
        own = [row for row in rows if row["config"] == config_name]
        if not own:
            continue
        lines = [f"| block | {' | '.join(COLUMNS)} |", "|---|" + "---:|" * len(COLUMNS)]
        for row in sorted(own, key=lambda row: (row["block"] == WHOLE, -row["LUT"], row["block"])):
            name = f"**{WHOLE}**" if row["block"] == WHOLE else row["block"]
            lines.append(f"| {name} | " + " | ".join(f"{row[column]:,}" for column in COLUMNS) + " |")
        write(f"## {config_name} ({family})", lines)
    if set(COMPARED) <= {row["config"] for row in rows}:  # it takes both to tell which state is per queue
        write("## Per-queue or per-QP state in flip-flops",
              ["| register of nic100 | bits |", "|---|---:|", *([f"| `{q}` | {bits:,} |" for q, bits in found.items()] or ["| none | |"])])
    AREA.write_text(before + begin + "".join(sections.values()).rstrip("\n") + "\n" + end + after, encoding="utf-8")


def refusals():
    """Synthesizes the modules in fpga/bad, each of which must fail as its first comment states. Returns those that did not."""
    errors = []
    for path in sorted((ROOT / "fpga/bad").glob("*.sv")):
        expected = re.search(r"^// Refused: (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)[1]
        design, _, error = elaborate([path], path.stem, {}, False)
        for config_name in COMPARED:
            reason = error or map_module(config_name, path.stem, design[path.stem])[3] or "no error"
            print(f"{path.stem:<16} {config_name:<8} {reason.splitlines()[0]}", flush=True)
            if expected not in reason:
                errors.append(f"fpga/bad/{path.name} for {config_name}: expected '{expected}', got: {reason}")
    return errors


def report(verb, errors):
    """Prints the errors of a verb of the launcher. Returns its exit code."""
    for error in errors:
        print(f"vireo {verb}: {error}", file=sys.stderr)
    if errors:
        print(f"vireo {verb}: logs are in {WORK.relative_to(ROOT)}/", file=sys.stderr)
    return 1 if errors else 0


def main():
    parser = argparse.ArgumentParser(prog="./vireo synth", description=__doc__)
    parser.add_argument("modules", nargs="*", help="only these modules, each on its own")
    parser.add_argument("--config", choices=TARGETS, help="only this configuration; the tables of the others stay")
    parser.add_argument("--jobs", type=int, default=2, help="Yosys runs in parallel (default: %(default)s; each needs up to 4 GB)")
    parser.add_argument("--json", type=pathlib.Path, help="also write the results to this file")
    parser.add_argument("--switches", action="store_true",
                        help="only measure nic1 without each feature that a configuration can be without: fpga/switches.py")
    parser.add_argument("--refusals", action="store_true", help="only check that the modules in fpga/bad are rejected")
    parser.add_argument("--netlist", type=pathlib.Path, metavar="FILE",
                        help="only write the ECP5 netlist of one module, as module MODULE_netlist that any simulator takes")
    parser.add_argument("--sizes", nargs="+", default=[], metavar="SIZE", help="of the module of --netlist: see rtl/parameters.py")
    options = parser.parse_args()
    if not yosys.PROGRAM.exists():
        sys.exit("Yosys is not installed; run ./vireo setup")
    (WORK / "cache").mkdir(parents=True, exist_ok=True)
    sources = yosys.sources(*(["pcie.f", "mac.f"] if options.modules else []))  # what is around the device
    unknown = set(options.modules) - set(modules(sources))
    if unknown:
        sys.exit(f"no such module in rtl/sources.f, rtl/pcie.f or rtl/mac.f: {', '.join(sorted(unknown))}; known: {', '.join(modules(sources))}")
    config_names = [options.config] if options.config else COMPARED if options.modules else list(TARGETS)
    rows, errors, found = [], [], {}
    if options.refusals:
        errors = refusals()
    elif options.netlist:
        error = write_netlist(sources, options.modules[0], parameters.parameters(options.sizes), options.netlist)
        errors = [error] if error else []
    elif options.modules:
        show("block", "module", "config", *COLUMNS, "s")
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            runs = [pool.submit(synthesize_module, sources, name, config) for config in config_names for name in options.modules]
            for run in concurrent.futures.as_completed(runs):
                row, seconds, error = run.result()
                if error:
                    errors.append(error)
                    print(f"FAILED: {error.splitlines()[0]}", flush=True)
                else:
                    rows.append(row)
                    show_row(row, seconds)
    else:
        show("block", "module", "config", *COLUMNS, "s")
        rows, found, errors = synthesize_whole(sources, config_names, options.jobs)
        for q, bits in found.items():
            print(f"per-queue or per-QP state in flip-flops: {q}, {bits} bits")
        if not errors:
            area_page(rows, found)
            print(f"wrote {AREA.relative_to(ROOT)}")
    if options.json:
        rows.sort(key=lambda row: (row["config"], row["block"]))
        options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return report("synth", errors)


if __name__ == "__main__":
    sys.exit(main())
