# SPDX-License-Identifier: Apache-2.0
"""report.html: one file with everything in it, for a browser without a network. Pareto front, curves, main effects, parallel
coordinates, and all points with the reason of those that did not end well. Figures are means over the seeds."""

import html
import pathlib
import statistics
from typing import Any

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from bench import Bench
from results import means
from store import write_atomically
from study import Curve, Study

Row = dict[str, Any]
GRAY, BLUE, ORANGE = "#b0b0b0", "#1f5fa8", "#d9730d"
MOST_HOVER = 12  # settings in a tooltip
MOST_ROWS = 2000  # of the table; results.csv has all
STYLE = """body{font:15px/1.5 system-ui,sans-serif;max-width:1100px;margin:2em auto;padding:0 1em;color:#222}
table{border-collapse:collapse;font-size:13px}td,th{padding:.2em .7em;border-bottom:1px solid #ddd;text-align:right}
th{position:sticky;top:0;background:#fff}td.text{text-align:left}.scroll{max-height:30em;overflow:auto}
tr.best{background:#e7f0fa}tr.bad{color:#a33}code{background:#f3f3f3;padding:0 .2em}"""


class _Page:
    def __init__(self, study: Study, bench: Bench, table: list[Row]) -> None:
        self.study, self.bench, self.table = study, bench, table
        mean = means(study, table)
        self.points = list(mean.values())
        self.best = {row["point"] for row in table if row["pareto"]}
        self.feasible = {row["point"] for row in table if row["feasible"]}
        self.parts: list[str] = []

    # --- Text

    def label(self, name: str) -> str:
        """With the unit, if the name does not end in it."""
        setting = self.bench.settings.get(name)
        unit = setting.get("unit", "") if setting else self.bench.metrics.get(name.rpartition(".")[2], "")
        return f"{name} [{unit}]" if unit and unit != "1" and not name.endswith(f"_{unit}") else name

    def add(self, title: str, text: str, figure: go.Figure | None = None) -> None:
        self.parts.append(f"<h2>{html.escape(title)}</h2>\n<p>{text}</p>")
        if figure is not None:
            figure.update_layout(template="plotly_white", margin={"t": 30, "r": 30}, height=figure.layout.height or 480)
            self.parts.append(figure.to_html(full_html=False, include_plotlyjs=False, config={"displaylogo": False}))

    def hover(self, row: Row) -> str:
        names = [*self.study.varied[:MOST_HOVER], *self.study.objectives]
        return f"point {row['point']}<br>" + "<br>".join(f"{html.escape(name)} = {_text(row.get(name))}" for name in dict.fromkeys(names))

    # --- Figures

    def front(self) -> None:
        names = list(self.study.objectives)
        rows = [row for row in self.points if all(isinstance(row.get(name), (int, float)) for name in names)]
        if len(names) < 2 or not rows:
            return
        x, y = names[:2]
        figure = go.Figure()
        groups = (("on the front", BLUE, "circle", [row for row in rows if row["point"] in self.best]),
                  ("dominated", GRAY, "circle", [row for row in rows if row["point"] in self.feasible - self.best]),
                  ("breaks a constraint", ORANGE, "x", [row for row in rows if row["point"] not in self.feasible]))
        for name, color, symbol, group in groups:
            if not group:
                continue
            group = sorted(group, key=lambda row: row[x])
            figure.add_scatter(x=[row[x] for row in group], y=[row[y] for row in group], name=f"{name} ({len(group)})",
                               mode="lines+markers" if color == BLUE and len(names) == 2 else "markers",
                               line={"shape": "hv", "width": 1}, marker={"color": color, "symbol": symbol, "size": 9},
                               text=[self.hover(row) for row in group], hoverinfo="text")
        figure.update_layout(xaxis_title=self.label(x), yaxis_title=self.label(y))
        goals = ", ".join(f"<code>{html.escape(name)}</code> {goal}" for name, goal in self.study.objectives.items())
        more = "" if len(names) == 2 else " The front is of all of them; the axes show the first two."
        self.add("Pareto front", f"No other point is at least as good in every objective ({goals}) and better in one.{more}", figure)

    def curves(self) -> None:
        for curve in self.study.curves or self.default_curves():
            figure = go.Figure()
            groups = sorted({row[curve.by] for row in self.points}, key=_order) if curve.by else [None]
            for group in groups:
                rows = [row for row in self.points if (not curve.by or row[curve.by] == group) and curve.y in row]
                xs = sorted({row[curve.x] for row in rows}, key=_order)
                ys = [[row[curve.y] for row in rows if row[curve.x] == x] for x in xs]
                spread = {"type": "data", "symmetric": False, "array": [max(y) - statistics.fmean(y) for y in ys],
                          "arrayminus": [statistics.fmean(y) - min(y) for y in ys], "thickness": 1}
                figure.add_scatter(x=xs, y=[statistics.fmean(y) for y in ys], mode="lines+markers",
                                   name=f"{curve.by} = {group}" if curve.by else curve.y,
                                   error_y=spread if any(len(y) > 1 for y in ys) else None)
            figure.update_layout(xaxis_title=self.label(curve.x), yaxis_title=self.label(curve.y), showlegend=bool(curve.by))
            if self.is_geometric(curve.x):
                figure.update_xaxes(type="log", tickvals=sorted({row[curve.x] for row in self.points}))
            by = f", one line per <code>{html.escape(curve.by)}</code>" if curve.by else ""
            self.add(f"{curve.y} over {curve.x}", f"Mean of the points with this value{by}; bars: lowest and highest of them.", figure)

    def default_curves(self) -> list[Curve]:
        metric = next((name for name in self.study.objectives if name not in self.study.varied), None)
        metric = metric or next((name for row in self.points for name in row if name != "point" and name not in self.study.varied), None)
        numeric = [name for name in self.study.varied if self.bench.settings[name]["type"] == "integer"]
        if metric is None or not numeric:
            return []
        by = next((name for name in self.study.varied if name != numeric[0] and len({row[name] for row in self.points}) <= 12), "")
        return [Curve(numeric[0], metric, by)]

    def is_geometric(self, name: str) -> bool:
        values = sorted({row[name] for row in self.points})
        return len(values) > 2 and all(isinstance(value, int) and value > 0 for value in values) and values[-1] >= 8 * values[0]

    def effects(self) -> None:
        goals = [name for name in self.study.objectives if name not in self.study.varied]
        for goal in goals:
            rows = [row for row in self.points if goal in row]
            figure = go.Figure()
            for name in self.study.varied:
                values = sorted({row[name] for row in rows}, key=_order)
                if not 2 <= len(values) <= 50:
                    continue
                figure.add_scatter(x=[f"{name} = {value}" for value in values], mode="lines+markers", name=name,
                                   y=[statistics.fmean([row[goal] for row in rows if row[name] == value]) for value in values])
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
        figure.update_layout(height=520)
        self.add("Parallel coordinates", "One line per point; blue: on the Pareto front. Drag along an axis to select, drag a name to "
                 "move its axis.", figure)

    def points_table(self) -> None:
        names = [*self.study.varied, *(name for name in self.study.objectives if name not in self.study.varied)]
        if not self.study.objectives:
            names += [name for name in (self.study.metrics or list(self.bench.metrics)[:6]) if name not in names]
        body = []
        for row in sorted(self.table, key=lambda row: (not row["pareto"], row["point"], row["seed"]))[:MOST_ROWS]:
            kind = "best" if row["pareto"] else "" if row["status"] == "ok" else "bad"
            cells = [str(row["point"]), str(row["seed"]), *(_text(row.get(name)) for name in names)]
            body.append(f'<tr class="{kind}">' + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells) +
                        f'<td class="text">{html.escape(": ".join(filter(None, (row["status"], row["reason"]))))}</td></tr>')
        head = "".join(f"<th>{html.escape(self.label(name))}</th>" for name in ("point", "seed", *names, "status"))
        more = "" if len(self.table) <= MOST_ROWS else f" The first {MOST_ROWS} of {len(self.table)}."
        self.add("Points", f"The Pareto front first; <code>results.csv</code> has all metrics.{more}")
        self.parts.append(f'<div class="scroll"><table><tr>{head}</tr>\n' + "\n".join(body) + "</table></div>")


def _order(value: Any) -> tuple[bool, Any]:
    return isinstance(value, str), value


def _text(value: Any) -> str:
    return "" if value is None else f"{value:.5g}" if isinstance(value, float) else str(value)


def write(path: pathlib.Path, study: Study, bench: Bench, table: list[Row], manifest: dict[str, Any]) -> None:
    page = _Page(study, bench, table)
    page.front()
    page.curves()
    page.effects()
    page.parallel()
    page.points_table()
    status = ", ".join(f"{number} {name}" for name, number in manifest["status"].items())
    constraints = ", ".join(manifest["constraints"])
    facts = [("points", f"{manifest['points']} with {len(study.seeds)} seed(s) each: {status}"),
             ("constraints", constraints or "none"), ("workloads", ", ".join(manifest["workloads"])),
             ("command", manifest["command"]), ("version", f"{manifest['version']}, model {manifest['model']}"),
             ("written", f"{manifest['written']} on {manifest['host']}")]
    summary = "\n".join(f"<tr><td class=\"text\">{name}</td><td class=\"text\">{html.escape(text)}</td></tr>" for name, text in facts)
    title = html.escape(study.title)
    write_atomically(path, f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>{STYLE}</style>
<script>{get_plotlyjs()}</script></head>
<body><h1>{title}</h1>
<table>{summary}</table>
{chr(10).join(page.parts)}
<h2>Study</h2><pre>{html.escape(manifest['text'])}</pre>
</body></html>
""")
