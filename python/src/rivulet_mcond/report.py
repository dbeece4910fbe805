"""Measure with `trainer eval --json` and draw the figures with matplotlib, as a directory with one page of HTML.

    python -m rivulet_mcond.report --out report --preset small --nodes 20,40 --methods solved,learned,random
    trainer eval --data DIR --json >eval.json && python -m rivulet_mcond.report --out report --results eval.json

Arguments that are not listed below are those of `trainer eval`, which has them in its --help. The page needs no
network; its pictures are PNG files beside it:

    index.html          results in a table, and the pictures
    results.csv         the same results, all columns
    sizes.png           accuracy over the number of synthetic nodes, methods as lines (two sizes or more)
    entries.png         --k: accuracy over the most entries of a row of M, method solved
    weights.png         --lambda-values, --beta-values: accuracy over the weights of the losses, method learned
    thresholds.png      method learned: accuracy over the entries of M that its thresholds leave
    mapping.png         method learned: the mean weight of M by classes, before and after training
    losses.png          method learned: its losses by step
    reliability.png     how often predictions of a probability are right
    confusion.png       labels against predictions

Letters in tables: O is the original graph, S the synthetic one. O->S reads: fitted on O, deployed on S. O->O is
the whole graph without condensation. Graph batches keep the edges among arrivals, node batches drop them.
"""

from __future__ import annotations

import argparse
import csv
import dataclasses
import html
import json
import pathlib
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np

from ._programs import ProgramError, run

Row: TypeAlias = dict[str, Any]
"""A result of `trainer eval --json`."""

WHOLE = "O->O"
LEARNED = ("learned", "gcond", "gcond-x", "doscond")
"""Methods that read the flags of a learned run."""


class ReportError(ValueError):
    """There is nothing to draw, or it does not fit together."""


@dataclasses.dataclass
class Sweep:
    """Accuracies at values of one parameter, a line for each setting."""

    parameter: str
    values: list[float] = dataclasses.field(default_factory=list)
    lines: dict[str, list[float]] = dataclasses.field(default_factory=dict)

    def add(self, value: float, rows: Iterable[Row]) -> None:
        """Add the accuracies of the rows on S or fitted on S, of node batches and without calibration."""
        self.values.append(value)
        seen = set()
        for row in rows:
            setting = row["setting"]
            plain = row["batch"] == "node" and row["calibration"] == "none" and not row["shared_m"]
            if setting != WHOLE and plain and setting not in seen:
                seen.add(setting)
                self.lines.setdefault(setting, []).append(score(row)[0])


def evaluate(arguments: Sequence[str]) -> dict[str, Any]:
    """Run `trainer eval --json` and return what it prints."""
    return dict(json.loads(run("trainer", ["eval", *arguments, "--json"])))


def read(paths: Sequence[str]) -> dict[str, Any]:
    """Return the output of earlier runs of `trainer eval --json`, of one data set, as of one run."""
    out: dict[str, Any] = {}
    for path in paths:
        try:
            one = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
        except ValueError as error:
            raise ReportError(f"{path} is no JSON: {error}") from None
        if not isinstance(one, dict) or not one.get("results"):
            raise ReportError(f"{path} has no results, want the output of trainer eval --json")
        if out and one["fingerprint"] != out["fingerprint"]:
            raise ReportError(
                f"{path} has the fingerprint {one['fingerprint']}, {paths[0]} has {out['fingerprint']}: "
                "they measure different data"
            )
        if not out:
            out = one
        else:
            out["results"] += one["results"]
            out["learned"] = out.get("learned", []) + one.get("learned", [])
    return out


def score(row: Row) -> tuple[float, float, str]:
    """Return the first figure of the row's task in percent, its deviation over seeds, and its name."""
    for part, key, name in (
        ("labels", "micro_f1", "micro F1"),
        ("numbers", "r2", "R²"),
        ("links", "mrr", "MRR"),
    ):
        if part in row:
            return row[part][key]["mean"], row[part][key]["std"], name
    return row["accuracy"]["mean"], row["accuracy"]["std"], "accuracy"


def _mean(*path: str) -> Callable[[Row], str]:
    """Return a column of figures with their deviation over seeds; empty where the row has none."""

    def of(row: Row) -> str:
        value: Any = row
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        if value is None:
            return ""
        if isinstance(value, dict):
            return f"{value['mean']:.2f}" + (f" ± {value['std']:.2f}" if value["std"] else "")
        return ", ".join(f"{v:.4g}" for v in value) if isinstance(value, list) else f"{value:.4g}"

    return of


def _of_classes(key: str) -> Callable[[Row], str]:
    """Return a column of figures that rows of other tasks have as zeros."""
    of = _mean(key)
    return lambda row: "" if {"labels", "numbers", "links"} & row.keys() else of(row)


def _cost(key: str) -> Callable[[Row], str]:
    return lambda row: f"{row[key]:.3g}" if row.get(key) else ""


def _bytes(key: str) -> Callable[[Row], str]:
    return lambda row: f"{row[key] / 1e6:.3g}" if row.get(key) else ""


def _versus(row: Row) -> str:
    pairing = row.get("versus_whole")
    if not pairing:
        return ""
    return f"{np.mean(pairing['better']):.4g} : {np.mean(pairing['worse']):.4g}"


COLUMNS: dict[str, Callable[[Row], str]] = {
    "method": lambda row: "whole graph" if row["setting"] == WHOLE else row["method"],
    "model": lambda row: row["model"] + (" + own features" if row.get("own") else ""),
    "setting": lambda row: row["setting"] + (" through M of O" if row["shared_m"] else ""),
    "attachment": lambda row: row["attachment"],
    "batch": lambda row: row["batch"],
    "calibration": lambda row: row["calibration"],
    "seeds": lambda row: ", ".join(str(seed) for seed in row["seeds"]),
    "synthetic nodes": lambda row: "" if row["setting"] == WHOLE else str(row["synthetic_nodes"]),
    "accuracy %": _of_classes("accuracy"),
    "macro F1 %": _of_classes("macro_f1"),
    "label micro F1 %": _mean("labels", "micro_f1"),
    "label macro F1 %": _mean("labels", "macro_f1"),
    "mean average precision %": _mean("labels", "map"),
    "R² %": _mean("numbers", "r2"),
    "mean absolute error": _mean("numbers", "mae"),
    "MRR %": _mean("links", "mrr"),
    "hits@10 %": _mean("links", "hits_10"),
    "same as whole graph %": _of_classes("agreement"),
    "right only here : only on whole graph": _versus,
    "p (McNemar)": _mean("versus_whole", "p"),
    "changed by batching %": _of_classes("changed_by_batching"),
    "calibration error %": _mean("ece"),
    "weight decay": _mean("weight_decay"),
    "ms a batch": _cost("ms_per_batch"),
    "ms, first product kept": _cost("ms_per_batch_kept"),
    "ms, two-hop neighbourhood": _cost("ms_per_batch_neighbourhood"),
    "ms of propagation": _cost("propagation_ms_per_batch"),
    "inference MB": _bytes("inference_bytes"),
    "MB of M in a consumer": _bytes("held_bytes"),
    "MB of M in Redis": _bytes("stored_bytes"),
    "training s": _cost("train_seconds"),
}


def rows_once(rows: Iterable[Row]) -> list[Row]:
    """Return the rows with each of the whole graph once: eval repeats them for each method and size."""
    out: list[Row] = []
    seen: dict[tuple[Any, ...], int] = {}
    for row in rows:
        if row["setting"] != WHOLE:
            out.append(row)
            continue
        key = (row["model"], row["attachment"], row["batch"], row["calibration"], row.get("own"))
        if key not in seen:
            seen[key] = len(out)
            out.append(row)
        elif len(row["seeds"]) > len(out[seen[key]]["seeds"]):
            out[seen[key]] = row
    return out


def table(rows: Sequence[Row]) -> tuple[list[str], list[list[str]], dict[str, str]]:
    """Return head and cells of the results, and what all rows have in common instead of such columns."""
    cells = {name: [of(row) for row in rows] for name, of in COLUMNS.items()}
    cells = {name: column for name, column in cells.items() if any(column)}
    if len(rows) > 1:
        common = {name: column[0] for name, column in cells.items() if len(set(column)) == 1}
    else:
        common = {}
    head = [name for name in cells if name not in common]
    return head, [list(row) for row in zip(*(cells[name] for name in head), strict=True)], common


def best(rows: Iterable[Row]) -> Row | None:
    """Return the row of most accuracy on S, as arrivals are answered: node batches, without calibration."""
    on_s = [row for row in rows if row["setting"] == "O->S" and row["batch"] == "node"]
    plain = [row for row in on_s if row["calibration"] == "none"]
    return max(plain, key=lambda row: score(row)[0], default=None)


def summary(rows: Sequence[Row]) -> str:
    """Return the best row on S beside the whole graph, in a sentence; empty where none was measured."""
    row = best(rows)
    if row is None:
        return ""
    mean, std, name = score(row)
    text = (
        f"Method {row['method']}, model {row['model']}, {row['synthetic_nodes']} synthetic nodes: "
        f"{name} {mean:.2f}%"
        + (f" ± {std:.2f} over {len(row['seeds'])} seeds" if len(row["seeds"]) > 1 else "")
        + " on the test nodes, each on its own"
    )
    for whole in rows:
        same = all(whole[key] == row[key] for key in ("model", "batch", "calibration"))
        if whole["setting"] == WHOLE and same:
            return f"{text}; the whole graph {score(whole)[0]:.2f}%."
    return text + "."


# Pictures: each function returns a figure of matplotlib, or None where the results have nothing for it.


def _axes(rows: int, columns: int, width: float = 4.4, height: float = 3.4) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False)


MARKERS = "osD^vP*X<>"


def draw_sizes(rows: Sequence[Row]) -> Any:
    """Draw the score over the number of synthetic nodes: models down, settings of node batches across."""
    plain = [r for r in rows if r["calibration"] == "none" and r["batch"] == "node" and not r["shared_m"]]
    on_s = [r for r in plain if r["setting"] != WHOLE and r["synthetic_nodes"] > 0]
    if len({r["synthetic_nodes"] for r in on_s}) < 2:
        return None
    models = list(dict.fromkeys(r["model"] for r in on_s))
    settings = list(dict.fromkeys(r["setting"] for r in on_s))
    both = {
        r["method"]
        for r in on_s
        for o in on_s
        if o["method"] == r["method"] and o["attachment"] != r["attachment"]
    }

    def line_of(row: Row) -> str:
        name = str(row["method"]) + (f", {row['attachment']}" if row["method"] in both else "")
        return name + (", own features" if row.get("own") else "")

    methods = list(dict.fromkeys(line_of(r) for r in on_s))
    colors: dict[str, str] = {}
    figure, axes = _axes(len(models), len(settings))
    for i, model in enumerate(models):
        for j, setting in enumerate(settings):
            ax = axes[i][j]
            for k, method in enumerate(methods):
                at = (model, setting, method)
                line = [r for r in on_s if (r["model"], r["setting"], line_of(r)) == at]
                line.sort(key=lambda r: int(r["synthetic_nodes"]))
                if line:
                    ax.errorbar(
                        [r["synthetic_nodes"] for r in line],
                        [score(r)[0] for r in line],
                        [score(r)[1] for r in line],
                        label=method,
                        marker=MARKERS[k % len(MARKERS)],
                        color=colors.setdefault(line[0]["method"], f"C{len(colors) % 10}"),
                        linestyle=":" if line[0].get("own") else "-",
                        capsize=3,
                    )
            for row in plain:
                if row["setting"] == WHOLE and row["model"] == model and not row.get("own"):
                    ax.axhline(score(row)[0], color="black", linestyle="--", linewidth=1, label="whole graph")
                    break
            ax.set(title=f"{model}, {setting}", xlabel="synthetic nodes", ylabel=f"{score(rows[0])[2]} %")
            _log_if_wide(ax, [r["synthetic_nodes"] for r in on_s])
    _legend(figure)
    return figure


def _legend(figure: Any) -> None:
    """Name the lines of all plots of a figure once, to their right."""
    names: dict[str, Any] = {}
    for ax in figure.axes:
        for line, name in zip(*ax.get_legend_handles_labels(), strict=True):
            names.setdefault(name, line)
    figure.legend(names.values(), names.keys(), loc="outside right upper", fontsize="small")


def _log_if_wide(ax: Any, values: Sequence[float]) -> None:
    """Use a logarithmic axis, with the values as its ticks, where they span a factor of three."""
    if min(values) > 0 and max(values) >= 3 * min(values):
        ax.set_xscale("log")
    ticks = sorted(set(values))
    if len(ticks) <= 8:
        ax.set_xticks(ticks, [f"{v:g}" for v in ticks])
        ax.set_xticks([], minor=True)


def draw_sweeps(sweeps: Sequence[Sweep]) -> Any:
    """Draw accuracies over values of parameters, a plot for each parameter; values stand evenly spaced."""
    sweeps = [sweep for sweep in sweeps if sweep.values]
    if not sweeps:
        return None
    figure, axes = _axes(1, len(sweeps))
    for ax, sweep in zip(axes[0], sweeps, strict=True):
        for k, (setting, values) in enumerate(sweep.lines.items()):
            ax.plot(range(len(values)), values, marker=MARKERS[k % len(MARKERS)], label=setting)
        ax.set_xticks(range(len(sweep.values)), [f"{v:g}" for v in sweep.values])
        ax.set(xlabel=sweep.parameter, ylabel="accuracy %")
        ax.legend(fontsize="small")
    return figure


def draw_thresholds(runs: Sequence[Row]) -> Any:
    """Draw validation over the share of M's entries that δ leaves, at the μ that each run chose."""
    figure, ax = None, None
    for k, one in enumerate(runs):
        points = sorted(
            (100 * t["entries_m"] / (one["nodes"] * one["synthetic_nodes"]), t["validation"] / 3, t["delta"])
            for t in one["thresholds"]
            if t["mu"] == one["mu"] and t["entries_m"] > 0
        )
        if not points:
            continue
        if ax is None:
            figure, axes = _axes(1, 1, 6.5, 4)
            ax = axes[0][0]
        x, y, delta = zip(*points, strict=True)
        name = f"{_named(one)}, μ = {one['mu']:g}/N'"
        ax.plot(x, y, marker=MARKERS[k % len(MARKERS)], label=name)
        for at in zip(x, y, delta, strict=True):
            ax.annotate(f"δ={at[2]:g}/N'", at[:2], textcoords="offset points", xytext=(4, 5), fontsize="x-small")
    if ax is None:
        return None
    ax.set(
        xscale="log",
        xlabel="entries of M that are left, %",
        ylabel="mean of O->S, S->S, S->O on validation nodes, %",
    )
    ax.legend(fontsize="small")
    return figure


def draw_mapping(run: Row, classes: Sequence[str]) -> Any:
    """Draw the mean weight of M by classes before and after training, on one scale."""
    if not run.get("map_after"):
        return None
    maps = {"before training": np.array(run["map_before"]), "after training": np.array(run["map_after"])}
    side = min(12.0, 2.2 + 0.45 * len(classes))
    figure, axes = _axes(1, 2, side + 0.8, side)
    high = max(float(m.max()) for m in maps.values())
    for ax, (when, values) in zip(axes[0], maps.items(), strict=True):
        image = _cells(ax, values, classes, "{:.2g}", high)
        ax.set(title=f"M {when}", xlabel="class of synthetic nodes", ylabel="class of original nodes")
    figure.colorbar(image, ax=axes[0].tolist(), label="mean weight")
    return figure


def _cells(ax: Any, values: Any, names: Sequence[str], form: str, high: float) -> Any:
    """Draw a matrix as cells, with their figures where they can be read."""
    image = ax.imshow(values, cmap="viridis", vmin=0, vmax=high or 1)
    ticks = range(len(values))
    if len(values) <= 40:
        ax.set_xticks(ticks, names, rotation=90)
        ax.set_yticks(ticks, names)
    if len(values) <= 12:
        for (i, j), value in np.ndenumerate(values):
            color = "black" if value > 0.6 * high else "white"
            ax.text(j, i, form.format(value), ha="center", va="center", color=color, fontsize="x-small")
    return image


def draw_losses(runs: Sequence[Row], most: int = 400) -> Any:
    """Draw the losses by step: those of the steps on S and those of the steps on M; long ones as means."""
    parts = {"steps on S": ("gra", "str"), "steps on M": ("tra", "ind")}
    drawn: list[tuple[str, str, Any, Any, str]] = []
    for k, one in enumerate(runs):
        for part, names in parts.items():
            for name in names:
                values = np.array([np.nan if v is None else v for v in one["losses"].get(name) or []], float)
                values[values <= 0] = np.nan  # a logarithmic axis has no place for them
                if np.isfinite(values).any():
                    step = -(-len(values) // most)
                    padded = np.append(values, np.full(-len(values) % step, np.nan)).reshape(-1, step)
                    kept = np.isfinite(padded).any(1)
                    means = np.nanmean(padded[kept], 1)
                    style = f"C{k % 10}" + ("-" if name in ("gra", "tra") else ":")
                    x = np.flatnonzero(kept) * step + 1
                    drawn.append((part, f"L_{name}, {_named(one)}", x, means, style))
    if not drawn:
        return None
    figure, axes = _axes(1, 2, 5.5, 3.8)
    for ax, part in zip(axes[0], parts, strict=True):
        lines = [line for line in drawn if line[0] == part]
        for _, label, x, y, style in lines:
            ax.plot(x, y, style, linewidth=1, label=label)
        ax.set(title=part, xlabel="step", ylabel="loss", yscale="log")
    _legend(figure)
    return figure


def _named(run: Row) -> str:
    return f"{run['method']}, N' = {run['synthetic_nodes']}"


def draw_reliability(rows: Sequence[Row | None]) -> Any:
    """Draw the share that is right against the mean probability of predictions, bin by bin."""
    drawn = [row for row in rows if row is not None and row.get("reliability")]
    if not drawn:
        return None
    figure, axes = _axes(1, 1, 4.6, 4.4)
    ax = axes[0][0]
    for row in drawn:
        for key, when, style in (
            ("reliability_before", "without temperature", ":"),
            ("reliability", "served", "-"),
        ):
            bins = [b for b in row.get(key) or [] if b["count"]]
            ax.plot(
                [b["confidence"] for b in bins],
                [b["accuracy"] for b in bins],
                style,
                marker="o",
                markersize=4,
                label=f"{COLUMNS['method'](row)}, {when}",
            )
    ax.plot([0, 1], [0, 1], color="black", linewidth=0.8)
    ax.set(xlabel="probability", ylabel="share that is right", xlim=(0, 1), ylim=(0, 1))
    ax.legend(fontsize="small")
    return figure


def draw_confusion(row: Row | None, classes: Sequence[str]) -> Any:
    """Draw labels against predictions, as shares of each label."""
    if row is None or not row.get("confusion"):
        return None
    counts = np.array(row["confusion"], float)
    shares = 100 * counts / np.maximum(1, counts.sum(1, keepdims=True))
    side = min(12.0, 2.5 + 0.45 * len(classes))
    figure, axes = _axes(1, 1, side + 0.8, side)
    image = _cells(axes[0][0], shares, classes, "{:.0f}", 100)
    axes[0][0].set(xlabel="predicted", ylabel="label")
    figure.colorbar(image, ax=axes[0][0], label="% of the label")
    return figure


PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>
<style>body{{font:15px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem}}
table{{border-collapse:collapse;font-size:13px;display:block;overflow-x:auto}}
td,th{{padding:.2rem .6rem;border-bottom:1px solid #ddd;text-align:right}}
td:first-child,th:first-child{{text-align:left}}img{{max-width:100%}}code{{overflow-wrap:anywhere}}</style>
<h1>{title}</h1>{body}</html>
"""


def write(
    measured: dict[str, Any], out: str | pathlib.Path, title: str = "", sweeps: Sequence[Sweep] = ()
) -> list[str]:
    """Write page, table and pictures of an output of `trainer eval --json`; return the names of the files."""
    directory = pathlib.Path(out)
    rows = rows_once(measured["results"])
    classes = measured.get("classes") or []
    runs = measured.get("learned") or []
    of_m = [one for one in runs if one["method"] == "learned"]
    whole = next((r for r in rows if r["setting"] == WHOLE and r["batch"] == "node"), None)
    pictures = {
        "sizes": ("Number of synthetic nodes, node batches", draw_sizes(rows)),
        "entries": (
            "Entries of a row of M, method solved",
            draw_sweeps([s for s in sweeps if s.parameter == "k"]),
        ),
        "weights": (
            "Weights of the losses, method learned",
            draw_sweeps([s for s in sweeps if s.parameter != "k"]),
        ),
        "thresholds": ("Entries of M that thresholds leave, method learned", draw_thresholds(of_m[:4])),
        "mapping": ("M by classes", draw_mapping(of_m[0], classes) if of_m else None),
        "losses": ("Losses of learned runs", draw_losses(runs_once(runs))),
        "reliability": (
            "Probabilities, node batches on S and on the whole graph",
            draw_reliability([best(rows), whole]),
        ),
        "confusion": ("Labels and predictions, node batches on S", draw_confusion(best(rows), classes)),
    }
    head, cells, common = table(rows)
    directory.mkdir(parents=True, exist_ok=True)
    names = ["index.html", "results.csv"]
    facts = {
        "data": f"{measured.get('data', '')} ({measured.get('fingerprint', '')})",
        "command": measured.get("command", ""),
        "nodes of a batch": measured.get("batch", ""),
        **common,
    }
    body = [f"<p>{html.escape(summary(rows))}</p>"]
    body += [
        "<p>" + "<br>".join(f"{html.escape(k)}: <code>{html.escape(str(v))}</code>" for k, v in facts.items())
    ]
    for name, (heading, figure) in pictures.items():
        if figure is not None:
            figure.savefig(directory / f"{name}.png", dpi=110)
            names.append(f"{name}.png")
            body.append(f'<h2>{html.escape(heading)}</h2><img src="{name}.png" alt="{html.escape(heading)}">')
    body.append("<h2>Results</h2><table><tr>" + "".join(f"<th>{html.escape(name)}" for name in head))
    body += ["<tr>" + "".join(f"<td>{html.escape(cell)}" for cell in row) for row in cells]
    body.append("</table>")
    title = title or f"Condensation of {measured.get('data', '')}"
    page = PAGE.format(title=html.escape(title), body="\n".join(body))
    (directory / "index.html").write_text(page, encoding="utf-8")
    with open(directory / "results.csv", "w", newline="", encoding="utf-8") as f:
        lines = csv.writer(f, lineterminator="\n")
        lines.writerow(COLUMNS)
        lines.writerows([of(row) for of in COLUMNS.values()] for row in rows)
    return names


def runs_once(runs: Sequence[Row]) -> list[Row]:
    """Return the first run of each method at the first size; the others differ in their seed."""
    first: dict[str, Row] = {}
    for one in runs:
        if one["synthetic_nodes"] == runs[0]["synthetic_nodes"]:
            first.setdefault(_named(one), one)
    return list(first.values())


def _numbers(text: str) -> list[float]:
    return [float(part) for part in text.split(",")]


OF_LEARNED = {
    "rounds": False,
    "lambda": False,
    "beta": False,
    "mu": False,
    "delta": False,
    "patience": False,
    "no-structure": True,
    "no-inductive": True,
    "plain": True,
    "random-start": True,
}
"""Flags of `trainer eval` that learned methods alone read, and whether they have no value."""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m rivulet_mcond.report",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        usage="%(prog)s --out DIRECTORY (--data DIR | --preset NAME | --results FILE ...) [arguments]",
    )
    add = parser.add_argument
    add("--out", required=True, help="directory to write to")
    add("--title", default="", help="title of the page; empty: the name of the data")
    add(
        "--results",
        action="append",
        default=[],
        metavar="FILE",
        help="output of an earlier `trainer eval --json`, "
        "which is drawn and not measured again; may be repeated for one data set",
    )
    sweeps = parser.add_argument_group("sweeps", "further runs, of the first size and seed")
    add = sweeps.add_argument
    add("--k", type=_numbers, default=[], metavar="1,2,4", help="most entries of a row of M, method solved")
    add("--lambda-values", type=_numbers, default=[], metavar="0,0.1,1", help="weights of L_str, method learned")
    add("--beta-values", type=_numbers, default=[], metavar="0,10,100", help="weights of L_ind, method learned")
    add("--sweep-rounds", default="10", metavar="N", help="rounds of a learned run of a sweep (10)")
    lists = parser.add_argument_group("arguments of trainer eval that a sweep takes the first value of")
    for name in ("methods", "nodes", "ratios", "seeds", "calibrations"):
        lists.add_argument(f"--{name}", default="", metavar="A,B")
    learned = parser.add_argument_group("arguments of trainer eval that methods which learn S alone read")
    for name, switch in OF_LEARNED.items():
        if switch:
            learned.add_argument(f"--{name}", action="store_true")
        else:
            learned.add_argument(f"--{name}", metavar="VALUE")
    return parser


def _measure(given: argparse.Namespace, rest: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the runs that are wanted: the parameter that is swept, empty for none, and arguments of eval."""
    said = vars(given)
    learned = []
    for name, switch in OF_LEARNED.items():
        value = said[name.replace("-", "_")]
        if value:
            learned += [f"--{name}"] if switch else [f"--{name}", value]
    if not given.results:
        names = ("methods", "nodes", "ratios", "seeds", "calibrations")
        yield "", [*rest, *(f"--{name}={said[name]}" for name in names if said[name]), *learned]
    first = [f"--{name}={said[name].split(',')[0]}" for name in ("nodes", "ratios", "seeds") if said[name]]
    one = [*rest, *first, "--calibrations=none", "--costs=false"]
    for value in given.k:
        yield "k", [*one, "--methods=solved", f"--entries={value:g}"]
    for letter, name in (("λ", "lambda"), ("β", "beta")):
        for value in said[f"{name}_values"]:
            yield (
                letter,
                [*one, "--methods=learned", *learned, f"--rounds={given.sweep_rounds}", f"--{name}={value:g}"],
            )


def report(arguments: Sequence[str]) -> list[str]:
    """Measure and draw as the command line says; return the names of the files in the directory."""
    given, rest = _parser().parse_known_args(arguments)
    measured: dict[str, Any] = read(given.results)
    sweeps: dict[str, Sweep] = {}
    for parameter, flags in _measure(given, rest):
        if not any(flag.startswith(("--data", "--preset")) for flag in rest):
            raise ReportError("nothing to measure: give --data DIR, --preset NAME or --results FILE")
        said = evaluate(flags)
        if not parameter:
            measured = said
            continue
        if said["fingerprint"] != measured["fingerprint"]:
            raise ReportError(
                f"the data have the fingerprint {said['fingerprint']}, --results {measured['fingerprint']}"
            )
        value = next(f.split("=")[1] for f in flags[::-1] if f.startswith(("--entries", "--lambda", "--beta")))
        sweeps.setdefault(parameter, Sweep(parameter)).add(float(value), said["results"])
    return write(measured, given.out, given.title, list(sweeps.values()))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    try:
        names = report(sys.argv[1:] if arguments is None else arguments)
    except (ReportError, ProgramError, OSError) as error:
        sys.exit(f"rivulet_mcond.report: {error}")
    print(" ".join(names))


if __name__ == "__main__":
    main()
