#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures how fast unmodified programs run on simulated NICs: round trips and bytes per second of wall time and per second
of the simulator's CPU time, compared with the same traffic within one process (`./vireo bench`), without service, sockets
and access to other processes' memory. Command: `./vireo bench programs`; documentation: docs/bench.md.

Each program runs twice, with few and with many messages; the difference excludes start-up."""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "verif/repo"))
import generated  # noqa: E402  pylint: disable=wrong-import-position

SPEED_PAGE, SPEED_COMMAND = ROOT / "docs/bench.md", "./vireo bench programs --update"
SIMULATED_PAGE, SIMULATED_COMMAND = ROOT / "docs/programs.md", "./vireo bench programs --simulated --update"
SIMULATED = ("ib_write_bw -F -s 65536 -n 200", "ib_read_bw -F -s 65536 -n 100", "ib_send_bw -F -s 65536 -n 100",
             "ib_write_lat -F -n 100", "ib_send_lat -F -n 100", "ib_send_lat -F -n 100 -s 64 -I 64", "ib_read_lat -F -n 100")
BUILD = ROOT / "build/bench"
DEVICES = ("model", "rtl", "lockstep")
WORKLOADS = {
    # name: (program, messages on the model, messages on RTL, equivalent workload of ./vireo bench, bytes per message)
    "pingpong_64b": ("ibv_rc_pingpong -g 1 -s 64 -n {n}", 20000, 200, "roundtrip_64b", 0),
    "pingpong_64b_events": ("ibv_rc_pingpong -g 1 -s 64 -e -n {n}", 10000, 200, "roundtrip_64b", 0),
    "write_64k": ("ib_write_bw -F -s 65536 -n {n}", 2000, 100, "write_64k_1qp", 65536),
}


def run(command):
    """Output of a command; exits with a message if it fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\nfailed with status {done.returncode}:\n{done.stdout}")
    return done.stdout


def number(pattern, text):
    found = re.search(pattern, text, re.M)
    if found is None:
        sys.exit(f"no match for '{pattern}' in\n{text}")
    return float(found.group(1))


def pair(build, device, profile, program, n):
    """Wall time that the client measured for n messages, and CPU time of the simulator, in seconds."""
    command = program.format(n=n)
    text = run([str(build / "sim/simulator/vireo_run"), "pair", "--no-monitor", "--device", device, "--profile", profile, command, command + " localhost"])
    cpu = number(r"CPU time +([0-9.]+) s", text)
    if command.startswith("ib_"):  # its average is in MiB/s
        wall = n * 65536 / (number(r"^client \| +65536 +\d+ +[0-9.]+ +([0-9.]+)", text) * 2**20)
    else:
        wall = number(r"^client \| .* iters in ([0-9.]+) seconds", text)
    return wall, cpu


def in_process(build, device, profile, workload):
    """Messages, or round trips, per second of CPU time."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "figures.json"
        run([str(build / "sim/bench/vireo_nic_bench"), "--quick", "--device", device, "--profile", profile, "--workload", workload, "--json", str(file)])
        figures = {row["metric"]: row["value"] for row in json.loads(file.read_text(encoding="utf-8"))}
    return figures.get("messages", figures.get("rounds")) / figures["cpu_s"]


def simulated(build):
    """The table of what perftest prints of the simulated NIC with --virtual-time; on an idle machine the same in every run."""
    lines = ["| program, on `nic100` and `gen3x16` | prints |", "|---|---|"]
    for program in SIMULATED:
        text = run([str(build / "sim/simulator/vireo_run"), "pair", "--device", "model", "--virtual-time", "--seed", "7",
                    program, program + " localhost"])
        found = re.search(r"^client \|[ \t]+(\d+[ \t]+\d+(?:[ \t]+[0-9.]+)+)[ \t]*$", text, re.M)
        if found is None:
            sys.exit(f"no figures of '{program}' in\n{text}")
        figures = [float(figure) for figure in found.group(1).split()]
        if "_bw " in program:  # bytes, iterations, peak and average MiB/s, million messages/s
            lines.append(f"| `{program}` | {figures[3]:.0f} MiB/s: {figures[3] * 8 * 2**20 / 1e9:.1f} Gb/s |")
        else:  # bytes, iterations, minimum, maximum and typical microseconds, …
            lines.append(f"| `{program}` | {figures[4]:.2f} µs{'' if 'read' in program else ' (half a round trip)'} |")
        print(lines[-1], flush=True)
    return "\n".join(lines)


def speed_table(rows):
    """The rows of a run as Markdown."""
    lines = ["| device | workload | per second | per CPU second of the simulator | in one process | ratio |",
             "|---|---|---:|---:|---:|---:|"]
    for row in rows:
        size = row["message_bytes"]
        cells = [f"{value * size / 1e6:.1f} MB" if size else f"{value:,.0f} round trips" for value in (
            row["per_second"], row["per_processor_second"], row["in_process_per_processor_second"])]
        lines.append(f"| {row['device']} | `{row['workload']}` | {' | '.join(cells)} | {row['ratio']:.2f} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(prog="./vireo bench programs", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="model,rtl", help="model, rtl, lockstep, comma-separated (default: %(default)s)")
    parser.add_argument("--profile", default="vireo", choices=("rfc-v2", "vireo"), help="ABI profile (default: %(default)s)")
    parser.add_argument("--workload", default=",".join(WORKLOADS), help="comma-separated (default: %(default)s)")
    parser.add_argument("--quick", action="store_true", help="a tenth of the messages")
    parser.add_argument("--json", type=pathlib.Path, help="write the results to this file")
    parser.add_argument("--build", type=pathlib.Path, default=BUILD, help=argparse.SUPPRESS)
    parser.add_argument("--simulated", action="store_true", help="what perftest prints with --virtual-time, on the model")
    parser.add_argument("--update", action="store_true", help="write the table into docs/bench.md (--simulated: docs/programs.md)")
    args = parser.parse_args()
    if args.update and (args.quick or args.workload != ",".join(WORKLOADS) or args.device != "model,rtl" or args.profile != "vireo"):
        parser.error("--update writes a whole run; leave out --quick, --workload, --profile and --device")
    if args.simulated:
        table = simulated(args.build)
        if args.update:
            generated.replace(SIMULATED_PAGE, SIMULATED_COMMAND, table)
            print(f"wrote {SIMULATED_PAGE.relative_to(ROOT)}")
        return
    devices, workloads = args.device.split(","), args.workload.split(",")
    for name, known in [(d, DEVICES) for d in devices] + [(w, WORKLOADS) for w in workloads]:
        if name not in known:
            parser.error(f"unknown '{name}'; known: {', '.join(known)}")

    rows = []
    print(f"{'device':<9} {'workload':<20} {'per second':>12} {'per CPU second':>16} {'one process':>15} {'ratio':>6}")
    for device in devices:
        for name in workloads:
            program, on_model, on_rtl, workload, size = WORKLOADS[name]
            many = (on_model if device == "model" else on_rtl) // (10 if args.quick else 1)
            few = max(many // 10, 2)
            few_wall, few_cpu = pair(args.build, device, args.profile, program, few)
            wall, cpu = pair(args.build, device, args.profile, program, many)
            # On a loaded machine the short run may take longer than the long one: then use the long run as a whole.
            per_second = (many - few) / (wall - few_wall) if wall > few_wall else many / wall
            per_cpu = (many - few) / (cpu - few_cpu) if cpu > few_cpu else many / cpu
            alone = in_process(args.build, device, args.profile, workload)
            rows.append({"device": device, "workload": name, "per_second": per_second, "per_processor_second": per_cpu,
                         "in_process_per_processor_second": alone, "ratio": per_cpu / alone, "message_bytes": size})

            def text(value, size=size):
                return f"{value * size / 1e6:.1f} MB" if size else f"{value:.0f} rt"

            print(f"{device:<9} {name:<20} {text(per_second):>12} {text(per_cpu):>16} {text(alone):>15} {per_cpu / alone:>6.2f}",
                  flush=True)
    print("\nrt: round trips. ratio: per CPU second / one process.")
    if args.json is not None:
        args.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    if args.update:
        generated.replace(SPEED_PAGE, SPEED_COMMAND, speed_table(rows))
        print(f"wrote {SPEED_PAGE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
