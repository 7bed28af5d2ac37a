#!/usr/bin/env -S python3 -IS
# SPDX-License-Identifier: Apache-2.0
"""Stands in for vireo_nic_bench in tests of what a simulator can do wrong. nic.size decides what happens:

  13: illegal        333: one metric is missing      444: uses another size than it is told      555: fails with a message
  666: crashes       777: never ends                 888: writes no result

FAKE_LOG: a file that gets a line per run. FAKE_RTL: figure or cycle, what is different on RTL. FAKE_LOST: in a Slurm task, the caller is killed. FAKE_SLEEP: seconds that a run takes."""

import json
import os
import signal
import sys
import time

SETTINGS = {
    "nic.config": {"type": "word", "words": ["small", "large"], "default": "small", "doc": ""},
    "nic.size": {"type": "integer", "min": 1, "max": 1000, "power_of_two": False, "default": 1, "unit": "bytes", "doc": ""},
    "nic.clock": {"type": "integer", "min": 1, "max": 1000, "power_of_two": False, "default": 10, "unit": "MHz", "doc": ""},
    "nic.core_clock_khz": {"type": "integer", "min": 1, "max": 10**6, "power_of_two": False, "default": 100_000, "unit": "kHz", "doc": ""},
    "pcie.preset": {"type": "word", "words": ["p"], "default": "p", "doc": ""},
    "wire.delay_ns": {"type": "integer", "min": 0, "max": 1000, "power_of_two": False, "default": 500, "unit": "ns", "doc": ""},
    "host.call_ns": {"type": "integer", "min": 0, "max": 1000, "power_of_two": False, "default": 0, "unit": "ns", "doc": ""},
    "wire.faults": {"type": "text", "default": "", "doc": ""},
    "workload.bytes": {"type": "integer", "min": 1, "max": 100, "power_of_two": False, "default": 5, "unit": "bytes", "doc": ""},
}
PRESETS = {"nic.config": {"small": {"nic.size": 1, "nic.clock": 10}, "large": {"nic.size": 100, "nic.clock": 20}},
           "pcie.preset": {"p": {}}}
METRICS = [{"name": "goodput_gbps", "unit": "Gb/s", "is_simulated": True},
           {"name": "latency_ns_p50", "unit": "ns", "is_simulated": True}, {"name": "cpu_s", "unit": "s", "is_simulated": False}]
ILLEGAL = "nic.size: 13 brings bad luck"


def option(name):
    return [value for key, value in zip(sys.argv, sys.argv[1:], strict=False) if key == name]


def main():
    values = {name: setting["default"] for name, setting in SETTINGS.items()}
    for assignment in option("--set"):
        name, _, value = assignment.partition("=")
        values[name] = int(value) if SETTINGS[name]["type"] == "integer" else value
    size = values["nic.size"]
    if "nonsense" in values["wire.faults"]:
        print("vireo bench: --set: wire.faults: line 1: no fault is called 'nonsense'", file=sys.stderr)
        return 2
    if "--list-settings" in sys.argv:
        print(json.dumps({"rtl": ["small"], "settings": SETTINGS, "presets": PRESETS, "workloads": ["other", "breakdown_64b", "custom"], "metrics": METRICS,
                          "values": values, "illegal": ILLEGAL if size == 13 else ""}))
        return 3 if size == 13 else 0
    if log := os.environ.get("FAKE_LOG"):
        with open(log, "a", encoding="utf-8") as file:
            file.write(f"{size}\n")
    if "FAKE_LOST" in os.environ and "SLURM_JOB_ID" in os.environ:
        os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(float(os.environ.get("FAKE_SLEEP", "0")))
    if size == 13:
        print(f"vireo bench: illegal settings: {ILLEGAL}", file=sys.stderr)
        return 3
    if size == 555:
        print("model custom\nvireo bench: model custom: wrong data", file=sys.stderr)
        return 1
    if size == 666:
        os.kill(os.getpid(), signal.SIGSEGV)
    if size == 777:
        time.sleep(600)
    if size == 888:
        return 0
    if size == 444:
        values["nic.size"] = 1
    seed = int(os.environ["VIREO_SEED"])
    metrics = [METRICS[0] | {"value": size * values["nic.clock"] + seed / 10}, METRICS[1] | {"value": 1000 / values["nic.clock"] + size},
               METRICS[2] | {"value": time.time()}]
    if option("--workload") == ["other"]:
        metrics = [{"name": "round_trip_ns", "unit": "ns", "is_simulated": True, "value": size + seed}]
    if option("--workload") == ["breakdown_64b"]:
        metrics = [{"name": name, "unit": "cycles", "is_simulated": True, "value": value}
                   for name, value in (("step_00_doorbell", 7), ("cycles_in_nic", size), ("cycles_in_mac+wire", 20), ("cycles", size + 20))]
    if size == 333:
        del metrics[1]
    if option("--device") == ["lockstep"]:
        fault = os.environ.get("FAKE_RTL")
        metrics[0] = metrics[0] | {"value": metrics[0]["value"] + (fault == "figure")}
        metrics += [{"name": "lockstep_events", "unit": "1", "is_simulated": False, "value": 1000},
                    {"name": "lockstep_different", "unit": "1", "is_simulated": False, "value": 3 if fault == "cycle" else 0}]
    with open(option("--result")[0], "w", encoding="utf-8") as file:
        json.dump({"settings": values, "rows": [{"device": "model", "workload": "custom", "metrics": metrics,
                                                  "bottleneck": f"block {size // 50}, busy: 9 %" if "--bottleneck" in sys.argv else ""}]}, file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
