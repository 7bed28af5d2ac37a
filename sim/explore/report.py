# SPDX-License-Identifier: Apache-2.0
"""report.html: one file with everything in it, for a browser without a network. Pareto front, curves, latency by stage, main
effects, parallel coordinates, and all rows with the reason of those that did not end well. Figures are means over the seeds."""

import html
import json
import pathlib
import re
import statistics
from collections.abc import Callable
from typing import Any

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs
from plotly.subplots import make_subplots

from bench import Bench
from confirm import Confirmed
import confirm as confirm_module
from errors import StudyError
from results import HEAD, STAGE, TAIL, means
from store import write_atomically
from study import Curve, Study

Row = dict[str, Any]
GRAY, BLUE, ORANGE = "#b0b0b0", "#1f5fa8", "#d9730d"
MOST_HOVER = 12  # settings in a tooltip
MOST_SVG = 2000  # points that a browser draws quickly as SVG; more are drawn by WebGL, with short tooltips
MOST_LINES = 12  # curves of a figure, each with a name
MOST_BARS = 40
BINS = 10  # of a setting with too many values to show each
FORMATS = ("svg", "png")
PAGE = pathlib.Path(__file__).with_name("report.js")
STYLE = """body{font:15px/1.5 system-ui,sans-serif;max-width:1100px;margin:2em auto;padding:0 1em;color:#222}
table{border-collapse:collapse;font-size:13px}td,th{padding:0 .7em;border-bottom:1px solid #ddd;text-align:right;height:23px;
white-space:nowrap}thead th{position:sticky;top:0;background:#fff;cursor:pointer}td.text{text-align:left}
#table{height:30em;overflow:auto}tr.best{background:#e7f0fa}tr.bad{color:#a33}code{background:#f3f3f3;padding:0 .2em}
#row{position:fixed;right:1em;bottom:1em;max-width:60%;max-height:70%;overflow:auto;background:#fff;border:1px solid #888;padding:1em;
box-shadow:0 2px 12px #0004}#row th{text-align:left}#row button{float:right}.save{text-align:right;font-size:13px}
.facts td{white-space:normal;height:auto}"""


class _Page:
    def __init__(self, study: Study, bench: Bench, table: list[Row]) -> None:
        self.study, self.bench, self.table = study, bench, table
        self.points = list(means(study, table).values())
        self.best = {row["point"] for row in table if row["pareto"]}
        self.feasible = {row["point"] for row in table if row["feasible"]}
        self.parts: list[str] = []
        self.figures: list[tuple[str, go.Figure]] = []  # name of a file, figure

    # --- Text

    def label(self, name: str) -> str:
        """With the unit, if the name does not end in it."""
        setting = self.bench.settings.get(name)
        unit = setting.get("unit", "") if setting else self.bench.metrics.get(name.rpartition(".")[2], "")
        return f"{name} [{unit}]" if unit and unit != "1" and not name.endswith(f"_{unit}") else name

    def add(self, title: str, text: str, figure: go.Figure | None = None) -> None:
        self.parts.append(f"<h2>{html.escape(title)}</h2>\n<p>{text}</p>")
        if figure is None:
            return
        figure.update_layout(template="plotly_white", margin={"t": 30, "r": 30} | figure.layout.margin.to_plotly_json(),
                             height=figure.layout.height or 480)
        name = re.sub(r"[^\w.-]+", "_", title).strip("_")
        place = f"figure{len(self.figures)}"
        self.figures.append((name, figure))
        buttons = " ".join(f'<button data-of="{place}">{kind.upper()}</button>' for kind in FORMATS)
        self.parts.append(f'<div class="figure" id="{place}" data-name="{name}"></div><div class="save">{buttons}</div>\n'
                          + _data(f"{place}-data", figure.to_json()))

    def hover(self, rows: list[Row]) -> list[str] | None:
        """None: too many to have a text each."""
        if len(self.points) > MOST_SVG:
            return None
        names = list(dict.fromkeys([*self.study.varied[:MOST_HOVER], *self.study.objectives]))
        return [f"point {row['point']}<br>" + "<br>".join(f"{html.escape(name)} = {_text(row.get(name))}" for name in names)
                for row in rows]

    # --- Figures

    def front(self) -> None:
        names = list(self.study.objectives)
        rows = [row for row in self.points if all(isinstance(row.get(name), (int, float)) for name in names)]
        if len(names) < 2 or not rows:
            return
        x, y = names[:2]
        figure = go.Figure()
        groups = (("dominated", GRAY, "circle", [row for row in rows if row["point"] in self.feasible - self.best]),
                  ("breaks a constraint", ORANGE, "x", [row for row in rows if row["point"] not in self.feasible]),
                  ("on the front", BLUE, "circle", [row for row in rows if row["point"] in self.best]))
        kind = go.Scattergl if len(rows) > MOST_SVG else go.Scatter
        for name, color, symbol, group in groups:
            if not group:
                continue
            group = sorted(group, key=lambda row: row[x])
            is_line = color == BLUE and len(names) == 2
            texts = self.hover(group)
            figure.add_trace(kind(x=[row[x] for row in group], y=[row[y] for row in group], name=f"{name} ({len(group)})",
                                  mode="lines+markers" if is_line else "markers", line={"shape": "hv", "width": 1} if is_line else None,
                                  marker={"color": color, "symbol": symbol, "size": 9 if len(rows) <= MOST_SVG else 5},
                                  customdata=[row["point"] for row in group], text=texts,
                                  hoverinfo="text" if texts else "x+y"))
        figure.update_layout(xaxis_title=self.label(x), yaxis_title=self.label(y))
        goals = ", ".join(f"<code>{html.escape(name)}</code> {goal}" for name, goal in self.study.objectives.items())
        more = "" if len(names) == 2 else " The front is of all of them; the axes show the first two."
        self.add("Pareto front", f"No other point is at least as good in every objective ({goals}) and better in one.{more} A click on "
                 "a point shows its row.", figure)

    def curves(self) -> None:
        for curve in self.study.curves or self.default_curves():
            rows = [row for row in self.points if curve.y in row]
            lines = _grouped(rows, lambda row: row[curve.by]) if curve.by else {None: rows}
            figure = go.Figure()
            if len(lines) > MOST_LINES and not any(isinstance(group, str) for group in lines):
                kind = go.Scattergl if len(rows) > MOST_SVG else go.Scatter
                figure.add_trace(kind(x=[row[curve.x] for row in rows], y=[row[curve.y] for row in rows], mode="markers",
                                      customdata=[row["point"] for row in rows], text=self.hover(rows), hoverinfo="text",
                                      marker={"color": [row[curve.by] for row in rows], "colorbar": {"title": curve.by}, "size": 6}))
                text = f"One mark per point, its color is <code>{html.escape(curve.by)}</code>."
            else:
                for group, members in lines.items():
                    by_x = _grouped(members, lambda row: row[curve.x])
                    ys = [[row[curve.y] for row in at] for at in by_x.values()]
                    spread = {"type": "data", "symmetric": False, "array": [max(y) - statistics.fmean(y) for y in ys],
                              "arrayminus": [statistics.fmean(y) - min(y) for y in ys], "thickness": 1}
                    figure.add_scatter(x=list(by_x), y=[statistics.fmean(y) for y in ys], mode="lines+markers",
                                       name=f"{curve.by} = {group}" if curve.by else curve.y,
                                       customdata=[[row["point"] for row in at] for at in by_x.values()],
                                       error_y=spread if any(len(y) > 1 for y in ys) else None)
                by = f", one line per <code>{html.escape(curve.by)}</code>" if curve.by else ""
                text = f"Mean of the points with this value{by}; bars: lowest and highest of them."
            figure.update_layout(xaxis_title=self.label(curve.x), yaxis_title=self.label(curve.y), showlegend=bool(curve.by))
            if self.is_geometric(curve.x):
                values = sorted({row[curve.x] for row in self.points})
                figure.update_xaxes(type="log", tickvals=values if len(values) <= 2 * BINS else None)
            self.add(f"{curve.y} over {curve.x}", text, figure)

    def surfaces(self) -> None:
        """A colored map of one metric over two settings, beside each other for the values of a third, below each other for a fourth."""
        for surface in self.study.surfaces:
            rows = [row for row in self.points if surface.z in row]
            sides = [list(_grouped(rows, lambda row, name=name: row[name])) for name in surface.by]  # type: ignore[misc]
            across, down = [*sides, [None], [None]][:2]
            if not rows or len(across) * len(down) > MOST_BARS:
                continue
            titles = [", ".join(f"{name.rpartition('.')[2]} = {value}" for name, value in zip(surface.by, (right, below), strict=False))
                      for below in down for right in across]
            figure = make_subplots(len(down), len(across), subplot_titles=titles, shared_xaxes=True, shared_yaxes=True,
                                   horizontal_spacing=0.02, vertical_spacing=0.3 / (len(down) + 2))
            for number, (below, right) in enumerate((below, right) for below in down for right in across):
                here = [row for row in rows if all(row[name] == value for name, value in zip(surface.by, (right, below), strict=False))]
                cells = _grouped(here, lambda row: (row[surface.y], row[surface.x]))  # pylint: disable=cell-var-from-loop
                xs, ys = sorted({x for _, x in cells}, key=_order), sorted({y for y, _ in cells}, key=_order)
                values = [[statistics.fmean([row[surface.z] for row in cells[y, x]]) if (y, x) in cells else None for x in xs] for y in ys]
                figure.add_heatmap(x=[str(x) for x in xs], y=[str(y) for y in ys], z=values, coloraxis="coloraxis",
                                   texttemplate="%{z:.3~s}", row=number // len(across) + 1, col=number % len(across) + 1,
                                   customdata=[[[row["point"] for row in cells.get((y, x), [])] for x in xs] for y in ys])
            figure.update_xaxes(type="category")
            figure.update_yaxes(type="category")
            figure.update_xaxes(title_text=self.label(surface.x), row=len(down))
            figure.update_yaxes(title_text=self.label(surface.y), col=1)
            figure.update_layout(coloraxis={"colorscale": "Blues", "colorbar": {"title": self.label(surface.z)}}, height=130 + 190 * len(down))
            by = f"; one map for each value of {' and '.join(f'<code>{html.escape(name)}</code>' for name in surface.by)}" if surface.by else ""
            self.add(f"{surface.z} over {surface.x} and {surface.y}", f"Mean of the points with these values{by}.", figure)

    def default_curves(self) -> list[Curve]:
        metric = next((name for name in self.study.objectives if name not in self.study.varied), None)
        metric = metric or next((name for row in self.points for name in row if name != "point" and name not in self.study.varied), None)
        numeric = [name for name in self.study.varied if self.bench.settings[name]["type"] == "integer"]
        if metric is None or not numeric:
            return []
        by = next((name for name in self.study.varied if name != numeric[0] and len({row[name] for row in self.points}) <= MOST_LINES), "")
        return [Curve(numeric[0], metric, by)]

    def is_geometric(self, name: str) -> bool:
        values = sorted({row[name] for row in self.points})
        return len(values) > 2 and all(isinstance(value, int) and value > 0 for value in values) and values[-1] >= 8 * values[0]

    def stages(self) -> None:
        """Stacked bars of the time that a message spends in each place, where a workload measures it."""
        columns = list(dict.fromkeys(name for row in self.points for name in row if STAGE in name))
        for prefix in dict.fromkeys(name.partition(STAGE)[0] for name in columns):
            stages = [name for name in columns if name.startswith(prefix + STAGE)]
            rows = [row for row in self.points if all(name in row for name in stages)]
            clocks = {row["point"]: self.bench.resolve(self.study.base | {name: row[name] for name in self.study.varied})
                      ["nic.core_clock_khz"] for row in rows}
            times = {row["point"]: {name: row[name] * 1e6 / int(clocks[row["point"]]) for name in stages} for row in rows}

            def spread(name: str, rows: list[Row] = rows, times: dict[int, dict[str, float]] = times) -> float:
                totals = [statistics.fmean(sum(times[row["point"]].values()) for row in at)
                          for at in _grouped(rows, lambda row: row[name]).values()]
                return max(totals) - min(totals) if len(totals) <= MOST_BARS else -1
            # By the setting that changes it most, and within its values by the next one that does, if there is room.
            order = sorted((name for name in self.study.varied if spread(name) > 1e-9), key=lambda name: -spread(name))[:2]
            if not order and rows:
                order = self.study.varied[:1]
            if len(order) == 2 and len({tuple(row[name] for name in order) for row in rows}) > MOST_BARS:
                order = order[:1]
            bars = _grouped(rows, lambda row, order=order: tuple(row[name] for name in order))  # type: ignore[misc]
            if not bars or len(bars) > MOST_BARS:
                continue
            figure = go.Figure()
            axis: list[Any] = [[str(key[place]) for key in bars] for place in range(len(order))]
            for name in stages:
                figure.add_bar(x=axis[0] if len(order) == 1 else axis, name=name.partition(STAGE)[2],
                               y=[statistics.fmean(times[row["point"]][name] for row in at) for at in bars.values()],
                               customdata=[[row["point"] for row in at] for at in bars.values()])
            figure.update_layout(barmode="stack", xaxis_title=", ".join(map(self.label, order)), yaxis_title="ns", bargap=0.3)
            figure.update_xaxes(type="category" if len(order) == 1 else "multicategory")
            self.add(f"Latency by stage over {' and '.join(order)}", "One 64-byte WRITE between idle NICs, from the post to the CQE that "
                     "the host sees; mean of the points with this value.", figure)

    def effects(self) -> None:
        goals = [name for name in self.study.objectives if name not in self.study.varied]
        for goal in goals:
            rows = [row for row in self.points if goal in row]
            figure = go.Figure()
            for name in self.study.varied:
                groups = _binned(rows, name)
                if len(groups) < 2:
                    continue
                figure.add_scatter(x=[f"{name} = {value}" for value in groups], mode="lines+markers", name=name,
                                   customdata=[[row["point"] for row in at] for at in groups.values()],
                                   y=[statistics.fmean([row[goal] for row in at]) for at in groups.values()])
            if not figure.data:
                continue
            figure.update_layout(yaxis_title=self.label(goal), showlegend=False)
            self.add(f"Main effects on {goal}", "Mean over all points with a value of one setting: the steeper, the more it matters. "
                     "Interactions of two settings are not visible here; see the curves.", figure)

    def parallel(self) -> None:
        names = [*self.study.varied, *(name for name in self.study.objectives if name not in self.study.varied)]
        rows = [row for row in self.points if all(name in row for name in names)]
        if len(rows) < 2:
            return
        axes = []
        for name in names:
            values = [row[name] for row in rows]
            if all(isinstance(value, (int, float)) for value in values):
                axes.append({"label": name, "values": values})
            else:
                words = sorted(set(values))
                axes.append({"label": name, "values": [words.index(value) for value in values], "tickvals": list(range(len(words))),
                             "ticktext": words})
        colors = [2 if row["point"] in self.best else 1 if row["point"] in self.feasible else 0 for row in rows]
        figure = go.Figure(go.Parcoords(dimensions=axes, line={"color": colors, "cmin": 0, "cmax": 2,
                                                               "colorscale": [[0, "#f0d0b0"], [0.5, GRAY], [1, BLUE]]}))
        figure.update_layout(height=520, margin={"t": 60, "l": 90, "r": 90})
        self.add("Parallel coordinates", "One line per point; blue: on the Pareto front. Drag along an axis to select, drag a name to "
                 "move its axis.", figure)

    def bottlenecks(self) -> None:
        """How often each is the limit: what is before the figures in its words."""
        if not self.study.bottleneck:
            return
        names = [workload.name for workload in self.study.workloads]
        points: dict[str, dict[int, str]] = {}
        for row in self.table:
            for text in re.split(rf"; (?=(?:{'|'.join(names)}): )", row["bottleneck"]):
                prefix = next((f"{name}: " for name in names if text.startswith(f"{name}: ")), "")
                if cause := re.split(r"[:,]", text.removeprefix(prefix))[0]:
                    points.setdefault(prefix + cause, {})[row["point"]] = text
        items = sorted(points.items(), key=lambda item: -len(item[1]))
        figure = go.Figure(go.Bar(y=[name for name, _ in items], x=[len(at) for _, at in items], orientation="h",
                                  customdata=[list(at) for _, at in items], text=[next(iter(at.values())) for _, at in items],
                                  hoverinfo="text"))
        figure.update_layout(xaxis_title="points", height=120 + 40 * len(items), margin={"l": 260})
        figure.update_yaxes(autorange="reversed")
        self.add("Bottlenecks", "What limits how many points. The row of each, which a click shows, has it in words with its figures.", figure)

    def rows(self) -> None:
        found = dict.fromkeys(key for row in self.table for key in row)
        columns = [name for name in HEAD + tuple(self.study.varied) if name in found]
        columns += [name for name in found if name not in columns and name not in TAIL]
        columns += [*(["bottleneck"] if self.study.bottleneck else []), "feasible", "pareto"]
        order = sorted(self.table, key=lambda row: (not row["pareto"], row["point"], row["seed"]))
        data = {"columns": columns, "labels": [self.label(name) for name in columns],
                "rows": [[_cell(row.get(name)) for name in columns] for row in order],
                "kinds": ["best" if row["pareto"] else "good" if row["status"] == "ok" else "bad" for row in order]}
        self.add("Points", "The Pareto front first. A click on a title sorts; one on a row shows it as a list.")
        self.parts.append('<div id="table"></div><aside id="row" hidden></aside>' + _data("rows", json.dumps(data, separators=(",", ":"))))


    def confirmed(self, results: list[Confirmed]) -> None:
        self.add("Confirmed on RTL", html.escape(confirm_module.summary(results)) + ".")
        self.parts.append("<ul>" + "".join(f"<li>{html.escape(result.text())}</li>" for result in results) + "</ul>")


def _grouped(rows: list[Row], key: Callable[[Row], Any]) -> dict[Any, list[Row]]:
    """By key, in its order; numbers before words."""
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return dict(sorted(groups.items(), key=lambda item: _order(item[0])))


def _binned(rows: list[Row], name: str) -> dict[str, list[Row]]:
    """Rows by value of a setting; by ranges with equally many points, if it has many values."""
    groups = _grouped(rows, lambda row: row[name])
    if len(groups) <= 2 * BINS or any(isinstance(value, str) for value in groups):
        return {str(value): at for value, at in groups.items()}
    ordered = sorted(rows, key=lambda row: row[name])
    parts = [ordered[len(ordered) * i // BINS:len(ordered) * (i + 1) // BINS] for i in range(BINS)]
    return {f"{part[0][name]} to {part[-1][name]}": part for part in parts if part}


def _order(value: Any) -> tuple[Any, ...]:
    return tuple(_order(part) for part in value) if isinstance(value, tuple) else (isinstance(value, str), value)


def _text(value: Any) -> str:
    return "" if value is None else f"{value:.5g}" if isinstance(value, float) else str(value)


def _cell(value: Any) -> Any:
    return str(value) if isinstance(value, bool) else value


def _data(name: str, text: str) -> str:
    """A script element that the browser does not run. `</` would end it."""
    safe = text.replace("</", "<\\/")
    return f'<script type="application/json" id="{name}">{safe}</script>'


def _page(study: Study, bench: Bench, table: list[Row]) -> _Page:
    page = _Page(study, bench, table)
    page.front()
    page.curves()
    page.surfaces()
    page.stages()
    page.effects()
    page.parallel()
    page.bottlenecks()
    page.rows()
    return page


def write(path: pathlib.Path, study: Study, bench: Bench, table: list[Row], manifest: dict[str, Any],
          confirmed: list[Confirmed] | None = None) -> list[tuple[str, go.Figure]]:
    """Returns the figures, for charts()."""
    page = _page(study, bench, table)
    status = ", ".join(f"{number} {name}" for name, number in manifest["status"].items())
    constraints = ", ".join(manifest["constraints"])
    facts = [("points", f"{manifest['points']} with {len(study.seeds)} seed(s) each: {status}"),
             ("constraints", constraints or "none"), ("workloads", ", ".join(manifest["workloads"])),
             ("command", manifest["command"]), ("version", f"{manifest['version']}, model {manifest['model']}"),
             ("written", f"{manifest['written']} on {manifest['host']}")]
    summary = "\n".join(f"<tr><td class=\"text\">{name}</td><td class=\"text\">{html.escape(text)}</td></tr>" for name, text in facts)
    if confirmed:
        page.confirmed(confirmed)
    title = html.escape(study.title)
    write_atomically(path, f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>{STYLE}</style>
<script>{get_plotlyjs()}</script></head>
<body><h1>{title}</h1>
<table class="facts">{summary}</table>
{chr(10).join(page.parts)}
<h2>Study</h2><pre>{html.escape(manifest['text'])}</pre>
<script>{PAGE.read_text(encoding="utf-8")}</script>
</body></html>
""")
    return page.figures


def charts(folder: pathlib.Path, figures: list[tuple[str, go.Figure]]) -> list[pathlib.Path]:
    """Each figure as SVG and PNG file, for a paper. Draws them in a browser without a window."""
    import plotly.io

    folder.mkdir(exist_ok=True)
    files = [folder / f"{name}.{kind}" for name, _ in figures for kind in FORMATS]
    try:
        plotly.io.write_images([figure for _, figure in figures for _ in FORMATS], files, width=1000)
    except Exception as error:  # its packages raise many kinds
        raise StudyError(f"cannot be drawn: {str(error).strip().splitlines()[0]}; --charts needs the Debian package chromium",
                         folder) from error
    return files
