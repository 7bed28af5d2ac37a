# SPDX-License-Identifier: Apache-2.0
"""A study: what varies, what runs, what counts. Read from a TOML file; docs/explore.md defines the format.

Every key is checked: nothing is ignored. Legality of a configuration is not: the contract decides it for each point."""

import dataclasses
import operator
import pathlib
import re
from typing import Any

from bench import CUSTOM, CUSTOM_ONLY, Bench, Run, Settings, Value
from errors import StudyError, suggest
import program
import space
from space import SAMPLES, SEARCHES, Dimension, Sample, Search
from toml_source import Path, TomlSource

COMPARE = {"<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt}
TOP = ("name", "title", "seeds", "timeout_s", "most_points", "base", "vary", "together", "sample", "search", "workload", "results")
RESULTS = ("metrics", "objectives", "constraints", "curves", "surfaces", "stages", "area", "area_blocks", "bottleneck")
AREA = {"area_lut": "LUT", "area_ff": "FF", "area_lutram": "LUTRAM", "area_bram": "BRAM", "area_dsp": "DSP"}  # columns, cells
CONSTRAINT = re.compile(r"\s*(?P<name>[\w.]+)\s*(?P<relation><=|>=|<|>)\s*(?P<limit>[-+]?(?:\d{1,3}(?:[,_]\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?)"
                        r"\s*(?P<unit>[A-Za-zµ/%]*)\s*")
TIME_UNITS = {"ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9}
TIMING = ("timing_mhz", "timing_levels", "timing_blocks")  # of the blocks that ./vireo timing has analyzed
FAMILIES = ("ecp5", "xcup")
BREAKDOWN = "breakdown_64b"  # the benchmark's workload that `stages` adds


@dataclasses.dataclass(frozen=True)
class Workload:
    name: str
    bench: str  # its name in the benchmark
    settings: Settings
    is_added: bool = False  # by `stages`, beside those of the study
    program: str = ""  # instead: a command of perftest (program.py)
    key: str = ""  # hash of what runs it


@dataclasses.dataclass(frozen=True)
class Constraint:
    name: str
    relation: str
    limit: float

    def holds(self, value: float) -> bool:
        return COMPARE[self.relation](value, self.limit)

    def __str__(self) -> str:
        return f"{self.name} {self.relation} {self.limit:g}"


@dataclasses.dataclass(frozen=True)
class Curve:
    x: str
    y: str
    by: str  # empty: one curve


@dataclasses.dataclass(frozen=True)
class Surface:
    x: str
    y: str
    z: str
    by: tuple[str, ...]  # at most two settings: one surface for each of their values


@dataclasses.dataclass
class Point:
    number: int  # from 0, in the order of the study
    varied: Settings
    runs: dict[int, list[Run]]  # seed -> one run per workload


@dataclasses.dataclass
class Study:
    file: pathlib.Path
    name: str
    title: str
    seeds: list[int]
    timeout_s: float
    most_points: int
    base: Settings
    dimensions: list[Dimension]
    sample: Sample | None
    search: Search | None
    workloads: list[Workload]
    metrics: list[str]  # empty: all
    objectives: dict[str, str]  # column -> max or min
    constraints: list[Constraint]
    curves: list[Curve]
    source: TomlSource
    surfaces: list[Surface] = dataclasses.field(default_factory=list)
    area: str = ""  # family of FPGAs; empty: without
    area_blocks: list[str] = dataclasses.field(default_factory=list)  # that count; empty: all
    bottleneck: bool = False  # ask every run what limits it

    @property
    def varied(self) -> list[str]:
        return [name for dimension in self.dimensions for name in dimension.names]

    def column(self, workload: Workload, metric: str) -> str:
        """Of the results: the metric's name, behind the workload's if there are several."""
        is_only = not workload.is_added and sum(not other.is_added for other in self.workloads) == 1
        return metric if is_only else f"{workload.name}.{metric}"

    def points(self, bench: Bench) -> list[Point]:
        """All points. Fails if there are too many, or if a product varies something that makes no difference."""
        self.check_number()
        result: list[Point] = []
        seen: dict[tuple[str, ...], int] = {}
        for varied in space.points(self.dimensions, self.sample):
            point = self.point(bench, len(result), varied)
            runs = tuple(run.id() for run in point.runs[self.seeds[0]])
            if (first := seen.get(runs)) is not None:
                names = [name for name in varied if varied[name] != result[first].varied[name]]
                raise StudyError(f"points {first} and {point.number} are the same, although {' and '.join(names)} differ: "
                                 f"no workload uses {'it' if len(names) == 1 else 'them'}", self.file)
            seen[runs] = point.number
            result.append(point)
        return result

    def check_number(self) -> None:
        many = space.count(self.dimensions, self.sample or self.search)
        if many > self.most_points:
            raise self.source.error(("most_points",), f"the study has {many} points, but most_points is {self.most_points}")

    def point(self, bench: Bench, number: int, varied: Settings) -> Point:
        return Point(number, varied, {seed: [self._run(bench, varied, workload, seed) for workload in self.workloads]
                                      for seed in self.seeds})

    def _run(self, bench: Bench, varied: Settings, workload: Workload, seed: int) -> Run:
        if workload.program:
            chosen = self.base | varied | workload.settings
            settings = {name: value for name, value in chosen.items() if name in program.USABLE}
            return Run("program", tuple(settings.items()), seed, workload.key, program=program.filled(workload.program, chosen))
        settings = bench.resolve(self.base | varied | workload.settings)
        if workload.bench != CUSTOM:
            settings = {name: value for name, value in settings.items() if not name.startswith(CUSTOM_ONLY)}
        return Run(workload.bench, tuple(settings.items()), seed, bench.model, self.bottleneck and not workload.is_added)


class _Reader:
    """Reads a study, or raises StudyError with file and line."""

    def __init__(self, source: TomlSource, bench: Bench, area: str, bottleneck: bool) -> None:
        self.source = source
        self.bench = bench
        self.area, self.bottleneck = area, bottleneck  # instead of the study's

    def known(self, table: dict[str, Any], keys: tuple[str, ...], at: Path, what: str) -> None:
        for key in table:
            if key not in keys:
                raise self.source.error((*at, key), f"{what} has no '{key}'{suggest(key, keys)}")

    def get(self, table: dict[str, Any], at: Path, key: str, kind: type | tuple[type, ...], default: Any, text: str) -> Any:
        value = table.get(key, default)
        if not isinstance(value, kind) or isinstance(value, bool):
            raise self.source.error((*at, key), f"{key} must be {text}, not {value!r}")
        return value

    def integer(self, table: dict[str, Any], at: Path, key: str, default: int | None, least: int) -> int:
        value = table.get(key, default)
        if type(value) is not int or value < least:
            raise self.source.error((*at, key), f"{key} must be an integer of at least {least}, not {value!r}")
        return value

    def setting(self, name: str, at: Path) -> dict[str, Any]:
        if name not in self.bench.settings:
            raise self.source.error(at, f"there is no setting '{name}'{suggest(name, self.bench.settings)}")
        return self.bench.settings[name]

    def value(self, name: str, value: Any, at: Path) -> Value:
        setting = self.setting(name, at)
        if setting["type"] == "word":
            if value not in setting["words"]:
                raise self.source.error(at, f"{name} is one of {', '.join(setting['words'])}, not {value!r}")
        elif setting["type"] == "text":
            if not isinstance(value, str):
                raise self.source.error(at, f"{name} is a text, not {value!r}")
            if reason := self.bench.wrong(name, value):
                raise self.source.error(at, reason)
        elif type(value) is not int or value < 0:
            raise self.source.error(at, f"{name} is an integer from {setting['min']} to {setting['max']}, not {value!r}")
        return value

    def flat(self, table: Any, at: Path) -> dict[str, tuple[Any, Path]]:
        """`nic.dma_tags = …`, `[vary.nic]` and `"nic.dma_tags" = …` alike: name -> value, place."""
        if not isinstance(table, dict):
            raise self.source.error(at, f"{at[-1]} must be a table")
        found: dict[str, tuple[Any, Path]] = {}
        for key, value in table.items():
            if "." in key or not isinstance(value, dict):
                found[key] = (value, (*at, key))
            else:
                for inner, inner_value in value.items():
                    found[f"{key}.{inner}"] = (inner_value, (*at, key, inner))
        return found

    def dimension(self, name: str, spec: Any, at: Path, sampled: bool) -> Dimension:
        self.setting(name, at)
        if isinstance(spec, dict):
            return self.range(name, spec, at, sampled)
        if not isinstance(spec, list) or not spec:
            raise self.source.error(at, f"{name} must be a list of values, or a range {{ from = …, to = …, step = … }}")
        return _listed(name, [self.value(name, value, at) for value in self.different(name, spec, at)])

    def different(self, name: str, values: list[Any], at: Path) -> list[Any]:
        for i, value in enumerate(values):
            if value in values[:i]:
                raise self.source.error(at, f"{name} has the value {value!r} twice")
        return values

    def range(self, name: str, spec: dict[str, Any], at: Path, sampled: bool) -> Dimension:
        self.known(spec, ("from", "to", "step", "factor"), at, f"a range of {name}")
        if self.bench.settings[name]["type"] != "integer":
            raise self.source.error(at, f"{name} is no number: give a list")
        low, high = self.integer(spec, at, "from", None, 0), self.integer(spec, at, "to", None, 0)
        if high < low:
            raise self.source.error(at, f"{name}: `to` is below `from`")
        if ("step" in spec) + ("factor" in spec) != 1:
            if sampled and "step" not in spec and "factor" not in spec:
                return Dimension((name,), (), low, high)
            raise self.source.error(at, f"{name}: a range needs `step` or `factor`" +
                                    ("" if sampled else "; without either it needs [sample] or [search]"))
        if "factor" in spec and low == 0:
            raise self.source.error(at, f"{name}: a range with `factor` cannot start from 0")
        step = self.integer(spec, at, "step", 0, 1) if "step" in spec else 0
        factor = self.integer(spec, at, "factor", 0, 2) if "factor" in spec else 0
        return _listed(name, list(space.steps(low, high, step, factor)))

    def together(self, table: Any, at: Path) -> Dimension:
        lists = self.flat(table, at)
        for name, (values, place) in lists.items():
            if not isinstance(values, list) or not values:
                raise self.source.error(place, f"{name} must be a list")
            for value in values:
                self.value(name, value, place)
        lengths = {len(values) for values, _ in lists.values()}
        if len(lists) < 2 or len(lengths) != 1:
            raise self.source.error(at, "[[together]] needs two or more lists of equal length, not " +
                                    (", ".join(f"{name} with {len(values)}" for name, (values, _) in lists.items()) or "none"))
        return Dimension(tuple(lists), tuple(zip(*(values for values, _ in lists.values()), strict=True)))

    def workload(self, table: Any, number: int, count: int) -> Workload:
        at: Path = ("workload", number)
        own = tuple(name.removeprefix("workload.") for name in self.bench.settings if name.startswith("workload."))
        self.known(table, ("name", "bench", "program", *own), at, "[[workload]]")
        name = self.get(table, at, "name", str, "workload" if count == 1 else None, "a name: there are several workloads")
        if not re.fullmatch(r"[A-Za-z]\w*", name):
            raise self.source.error((*at, "name"), f"name must be a letter, then letters, digits and _, not {name!r}")
        settings = {f"workload.{key}": self.value(f"workload.{key}", table[key], (*at, key)) for key in own if key in table}
        if "program" in table:
            return self.program(table, name, settings, at)
        bench = table.get("bench", CUSTOM)
        if bench not in self.bench.workloads:
            raise self.source.error((*at, "bench"), f"there is no workload {bench!r}{suggest(str(bench), self.bench.workloads)}")
        if bench != CUSTOM and settings:
            raise self.source.error(at, f"the workload {bench} has parameters of its own; only {CUSTOM} takes others")
        return Workload(name, bench, settings)

    def program(self, table: dict[str, Any], name: str, settings: Settings, at: Path) -> Workload:
        """A pair of programs. What it does not use is refused: settings() checks the rest."""
        command = self.get(table, at, "program", str, "", "a command")
        if "bench" in table:
            raise self.source.error((*at, "bench"), "a workload has a program or a workload of the benchmark, not both")
        if reason := program.check(command):
            raise self.source.error((*at, "program"), reason)
        for setting in program.places(command):
            if setting not in self.bench.settings:
                known = [key.removeprefix("workload.") for key in self.bench.settings if key.startswith("workload.")]
                wrong = setting.removeprefix("workload.")
                raise self.source.error((*at, "program"), f"{{{wrong}}} is no setting of a workload{suggest(wrong, known)}")
        if unused := [setting for setting in settings if setting not in program.places(command)]:
            key = unused[0].removeprefix("workload.")
            raise self.source.error((*at, key), f"the program does not use {key}: its command has no {{{key}}}")
        assert self.bench.simulator is not None
        return Workload(name, "program", settings, program=command, key=self.bench.simulator.key(command))

    def check_programs(self, workloads: list[Workload], base: Settings, dimensions: list[Dimension]) -> None:
        """A setting that a program would ignore makes every conclusion wrong."""
        varied = {name for dimension in dimensions for name in dimension.names}
        for number, workload in enumerate(workloads):
            if not workload.program:
                continue
            places = program.places(workload.program)
            for name in places:
                if name not in workload.settings and name not in base and name not in varied:
                    key = name.removeprefix("workload.")
                    raise self.source.error(("workload", number, "program"), f"{{{key}}} has no value: give {key} here, or {name} in [vary]")
            for name in (*base, *varied):
                is_own = name.startswith("workload.") and len(workloads) > 1  # of another workload
                if name not in program.USABLE and name not in places and not is_own:
                    raise self.source.error(self.place(name), f"a program cannot have {name}: ./vireo pair takes {', '.join(program.USABLE)}")

    def place(self, name: str) -> Path:
        """Where the study chooses a setting; the whole file if the command line does."""
        for section in ("base", "vary", *(("together", i) for i in range(len(self.source.data.get("together", []))))):
            table: Path = section if isinstance(section, tuple) else (section,)
            for path in ((*table, name), (*table, *name.split("."))):
                if self.source.has(path):
                    return path
        return ()

    def seeds(self, data: dict[str, Any]) -> list[int]:
        seeds = data.get("seeds", 1)
        if type(seeds) is int and seeds >= 1:
            return list(range(1, seeds + 1))
        if isinstance(seeds, list) and seeds and all(type(seed) is int and seed >= 0 for seed in seeds):
            return self.different("seeds", seeds, ("seeds",))
        raise self.source.error(("seeds",), f"seeds must be a number of seeds or a list of them, not {seeds!r}")

    def study(self, overrides: Settings, sweeps: dict[str, list[Value]]) -> Study:
        data = self.source.data
        self.known(data, TOP, (), "a study")
        name = self.get(data, (), "name", str, self.source.file.stem, "a word")
        if not re.fullmatch(r"[\w.-]+", name) or name.startswith("."):
            raise self.source.error(("name",), f"name must be letters, digits, _ . and -, not {name!r}")
        sample = Sample(*chosen) if (chosen := self.some_points(data, "sample", SAMPLES)) else None
        search = Search(*chosen) if (chosen := self.some_points(data, "search", SEARCHES)) else None
        if sample and search:
            raise self.source.error(("search",), "a study has [sample] or [search], not both")
        base = {key: self.value(key, value, at) for key, (value, at) in self.flat(data.get("base", {}), ("base",)).items()}
        dimensions = self.dimensions(data, bool(sample or search), base, overrides, sweeps)
        tables = data.get("workload", [])
        if not isinstance(tables, list) or not tables:
            raise self.source.error(("workload",), "a study needs a [[workload]]")
        workloads = [self.workload(table, number, len(tables)) for number, table in enumerate(tables)]
        for number, workload in enumerate(workloads):
            if workload.name in [other.name for other in workloads[:number]]:
                raise self.source.error(("workload", number), f"two workloads have the name '{workload.name}'")
            for key in workload.settings:
                if key in base or key in sweeps or key in overrides or any(key in dimension.names for dimension in dimensions):
                    raise self.source.error(("workload", number, key.removeprefix("workload.")),
                                            f"{key} is fixed here and chosen elsewhere; remove one of the two")
        self.check_programs(workloads, base | overrides, dimensions)
        workloads += self.stages(data, workloads)
        timeout = self.get(data, (), "timeout_s", (int, float), 600, "a number of seconds")
        if timeout <= 0:
            raise self.source.error(("timeout_s",), "timeout_s must be above 0")
        study = Study(self.source.file, name, self.get(data, (), "title", str, name, "a text"), self.seeds(data), timeout,
                      self.integer(data, (), "most_points", 10_000, 1), base | overrides, dimensions, sample, search, workloads,
                      [], {}, [], [], self.source)
        self.results(data, study)
        if search and not study.objectives:
            raise self.source.error(("search",), "[search] needs [results] objectives: what is it to look for?")
        return study

    def some_points(self, data: dict[str, Any], key: str, methods: tuple[str, ...]) -> tuple[int, int, str] | None:
        """[sample] or [search]: number of points, seed and method."""
        if key not in data:
            return None
        table = self.get(data, (), key, dict, {}, "a table")
        self.known(table, ("points", "seed", "method"), (key,), f"[{key}]")
        method = table.get("method", methods[0])
        if method not in methods:
            raise self.source.error((key, "method"), f"method is one of {', '.join(methods)}, not {method!r}")
        return self.integer(table, (key,), "points", None, 1), self.integer(table, (key,), "seed", 1, 0), method

    def stages(self, data: dict[str, Any], workloads: list[Workload]) -> list[Workload]:
        """The workload that `stages = true` adds."""
        at = ("results", "stages")
        is_wanted = self.get(data, (), "results", dict, {}, "a table").get("stages", False)
        if not isinstance(is_wanted, bool):
            raise self.source.error(at, f"stages must be true or false, not {is_wanted!r}")
        if not is_wanted:
            return []
        if BREAKDOWN not in self.bench.workloads:
            raise self.source.error(at, f"stages needs the workload {BREAKDOWN}, which {self.bench.program} does not have")
        if any(workload.name == "stages" for workload in workloads):
            raise self.source.error(at, "stages adds a workload of this name; rename the other one")
        return [Workload("stages", BREAKDOWN, {}, is_added=True)]

    def dimensions(self, data: dict[str, Any], sampled: bool, base: Settings, overrides: Settings,
                   sweeps: dict[str, list[Value]]) -> list[Dimension]:
        result: list[Dimension] = []
        for key, (values, at) in self.flat(data.get("vary", {}), ("vary",)).items():
            if key in base:
                raise self.source.error(at, f"{key} is in [base] and in [vary]; remove one of the two")
            result.append(self.dimension(key, values, at, sampled))
        tables = data.get("together", [])
        if not isinstance(tables, list):
            raise self.source.error(("together",), "together must be [[together]]")
        for number, table in enumerate(tables):
            dimension = self.together(table, ("together", number))
            for key in dimension.names:
                if key in base or any(key in other.names for other in result):
                    raise self.source.error(("together", number), f"{key} is chosen twice")
            result.append(dimension)
        for key in (*overrides, *sweeps):  # the command line replaces a single setting, not a part of several
            if any(key in dimension.names and len(dimension.names) > 1 for dimension in result):
                raise StudyError(f"{key} is in a [[together]] of {self.source.file}: --set and --sweep cannot replace it")
        # In the place that it has in the study. A fixed one stays a column, because [results] may name it.
        chosen = {key: [value] for key, value in overrides.items() if any(key in d.names for d in result)} | sweeps
        result = [_listed(d.names[0], chosen.pop(d.names[0])) if d.names[0] in chosen else d for d in result]
        result += [_listed(key, values) for key, values in chosen.items()]
        if not result:
            raise self.source.error(("vary",), "nothing varies: a study needs [vary], [[together]] or --sweep")
        return result

    def results(self, data: dict[str, Any], study: Study) -> None:
        table = self.get(data, (), "results", dict, {}, "a table")
        self.known(table, RESULTS, ("results",), "[results]")
        study.area = self.area or self.get(table, ("results",), "area", str, "", f"one of {', '.join(FAMILIES)}")
        study.bottleneck = self.bottleneck or table.get("bottleneck", False)
        if not isinstance(study.bottleneck, bool):
            raise self.source.error(("results", "bottleneck"), f"bottleneck must be true or false, not {study.bottleneck!r}")
        if study.area and study.area not in FAMILIES:
            raise self.source.error(("results", "area"), f"area is one of {', '.join(FAMILIES)}, not {study.area!r}")
        study.area_blocks = self.get(table, ("results",), "area_blocks", list, [], "a list of blocks")
        if study.area_blocks and not study.area:
            raise self.source.error(("results", "area_blocks"), f"area_blocks needs area = \"{FAMILIES[0]}\" in [results], or --area")
        for block in study.area_blocks:
            if not isinstance(block, str):
                raise self.source.error(("results", "area_blocks"), f"area_blocks must be a list of blocks, not {block!r}")
        study.metrics = self.get(table, ("results",), "metrics", list, [], "a list of metrics")
        for metric in study.metrics:
            self.metric(study, metric, ("results", "metrics"))
        for name, (goal, at) in self.objectives(table).items():
            if goal not in ("max", "min"):
                raise self.source.error(at, f"an objective is \"max\" or \"min\", not {goal!r}")
            self.metric(study, name, at, is_setting_good=True)
            study.objectives[name] = goal
        for text in self.get(table, ("results",), "constraints", list, [], "a list of texts"):
            at = ("results", "constraints")
            study.constraints.append(self.constraint(study, text, at))
        for upper in study.constraints:
            for lower in study.constraints:
                if upper.name == lower.name and upper.relation[0] == "<" and lower.relation[0] == ">" and not (
                        upper.holds(lower.limit) and lower.holds(upper.limit)):
                    raise self.source.error(("results", "constraints"), f"no value keeps both '{lower}' and '{upper}'")
        for number, curve in enumerate(self.get(table, ("results",), "curves", list, [], "a list of tables")):
            at = ("results", "curves", number)
            if not isinstance(curve, dict) or not {"x", "y"} <= set(curve):
                raise self.source.error(at, "a curve needs x and y, and may have by")
            self.known(curve, ("x", "y", "by"), at, "a curve")
            for key, name in curve.items():
                self.metric(study, name, at, is_setting_good=True)
                if key != "y" and name not in study.varied:
                    raise self.source.error(at, f"{key} = \"{name}\" does not vary in this study{suggest(name, study.varied)}")
            study.curves.append(Curve(curve["x"], curve["y"], curve.get("by", "")))

        for number, surface in enumerate(self.get(table, ("results",), "surfaces", list, [], "a list of tables")):
            at = ("results", "surfaces", number)
            if not isinstance(surface, dict) or not {"x", "y", "z"} <= set(surface):
                raise self.source.error(at, "a surface needs x, y and z, and may have by")
            self.known(surface, ("x", "y", "z", "by"), at, "a surface")
            by = surface.get("by", [])
            by = [by] if isinstance(by, str) else by
            if not isinstance(by, list) or len(by) > 2:
                raise self.source.error(at, f"by is one setting or a list of two, not {by!r}")
            self.metric(study, surface["z"], at, is_setting_good=True)
            for name in (surface["x"], surface["y"], *by):
                if name not in study.varied:
                    raise self.source.error(at, f"{name!r} does not vary in this study{suggest(str(name), study.varied)}")
            study.surfaces.append(Surface(surface["x"], surface["y"], surface["z"], tuple(by)))

    def objectives(self, table: dict[str, Any]) -> dict[str, tuple[Any, Path]]:
        if "objectives" not in table:
            return {}
        return self.flat(table["objectives"], ("results", "objectives"))

    def constraint(self, study: Study, text: Any, at: Path) -> Constraint:
        """`NAME RELATION NUMBER`; in the number, commas or underscores between groups of three digits; for a time, a unit."""
        match = CONSTRAINT.fullmatch(text) if isinstance(text, str) else None
        if match is None:
            raise self.source.error(at, f"a constraint is like \"goodput_gbps >= 95\" or \"latency_ns_p99 <= 10 us\", not {text!r}")
        self.metric(study, match["name"], at, is_setting_good=True)
        limit = float(re.sub("[,_]", "", match["limit"]))
        if unit := match["unit"]:
            if re.search(r"_ns(_|$)", match["name"]) is None or unit not in TIME_UNITS:
                raise self.source.error(at, f"'{match['name']}' is not in {unit}; the unit of a metric is in its name")
            limit *= TIME_UNITS[unit]
        return Constraint(match["name"], match["relation"], limit)

    def metric(self, study: Study, name: Any, at: Path, is_setting_good: bool = False) -> None:
        """Fails if no point can have a column of this name."""
        if not isinstance(name, str):
            raise self.source.error(at, f"a metric is a name, not {name!r}")
        columns = [study.column(workload, metric) for workload in study.workloads if workload.bench == CUSTOM
                   for metric in self.bench.metrics]
        columns += [study.column(workload, metric) for workload in study.workloads for metric in program.metrics(workload.program)]
        if name in columns:
            return
        if name in (*AREA, *TIMING):
            if not study.area:
                raise self.source.error(at, f"'{name}' needs area = \"{FAMILIES[0]}\" in [results], or --area")
            return
        if name in self.bench.settings:
            if not is_setting_good:
                raise self.source.error(at, f"'{name}' is a setting, no metric")
            if name not in study.varied:
                raise self.source.error(at, f"'{name}' does not vary: it is the same in every point")
            return
        # What the benchmark's own workloads measure is known after they have run: results.check().
        for workload in study.workloads:
            prefix = study.column(workload, "")
            if workload.bench != CUSTOM and not workload.program and name.startswith(prefix):
                return
        raise self.source.error(at, f"there is no metric '{name}'{suggest(name, [*columns, *study.varied, *((*AREA, *TIMING) if study.area else ())])}")


def _listed(name: str, values: list[Value]) -> Dimension:
    return Dimension((name,), tuple((value,) for value in values))


def read(file: pathlib.Path, bench: Bench, overrides: list[str], sweeps: list[str], area: str = "", bottleneck: bool = False) -> Study:
    """The study in a file, with --set and --sweep. Raises StudyError."""
    reader = _Reader(TomlSource(file), bench, area, bottleneck)
    return reader.study({name: values[0] for name, values in _command_line("--set", overrides, bench).items()},
                        _command_line("--sweep", sweeps, bench))


def _command_line(option: str, texts: list[str], bench: Bench) -> dict[str, list[Value]]:
    """NAME=VALUE or NAME=VALUE,VALUE…"""
    result: dict[str, list[Value]] = {}
    for text in texts:
        name, equals, values = text.partition("=")
        is_text = bench.settings.get(name, {}).get("type") == "text"
        if not equals or (not values and not is_text):
            raise StudyError(f"{option} {text}: is not NAME=VALUE")
        if name not in bench.settings:
            raise StudyError(f"{option} {text}: there is no setting '{name}'{suggest(name, bench.settings)}")
        setting = bench.settings[name]
        words = values.split(",") if option == "--sweep" else [values]
        if setting["type"] == "word":
            if wrong := [word for word in words if word not in setting["words"]]:
                raise StudyError(f"{option} {text}: {name} is one of {', '.join(setting['words'])}, not {wrong[0]!r}")
            result[name] = list(words)
        elif setting["type"] == "text":
            if wrong := [reason for word in words if (reason := bench.wrong(name, word))]:
                raise StudyError(f"{option} {text}: {wrong[0]}")
            result[name] = list(words)
        else:
            if wrong := [word for word in words if not re.fullmatch(r"\d+", word)]:
                raise StudyError(f"{option} {text}: {name} is an integer from {setting['min']} to {setting['max']}, not {wrong[0]!r}")
            result[name] = [int(word) for word in words]
        if len(set(words)) != len(words):
            raise StudyError(f"{option} {text}: a value is there twice")
    return result
