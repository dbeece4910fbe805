from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest

from rivulet_mcond import report
from rivulet_mcond._programs import ProgramError

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def measured(programs: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """The directory of a report of all parts, measured by the programs, and the file that it was drawn from."""
    out = tmp_path_factory.mktemp("report")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RIVULET_TRAINER", str(programs / "trainer"))
        size = ["--preset=small", "--preset-nodes=200", "--costs=false", "--nodes=8,16"]
        sweeps = ["--k=1,2", "--lambda-values=0,1", "--beta-values=10", "--sweep-rounds=1"]
        learned = ["--methods=solved,learned", "--rounds=1", "--ablations", "--calibrations=none"]
        report.main(["--out", str(out / "all"), *size, *learned, *sweeps])
        said = report.evaluate([*size, "--methods=random", "--calibrations=none"])
    (out / "random.json").write_text(json.dumps(said))
    return out


def test_a_report_has_all_pictures_and_each_figure(measured: pathlib.Path) -> None:
    names = {path.name for path in (measured / "all").iterdir()}
    drawn = {"sizes", "entries", "weights", "thresholds", "mapping", "losses", "reliability", "confusion"}
    assert names == {"index.html", "results.csv"} | {f"{name}.png" for name in drawn}
    for name in drawn:
        assert (measured / "all" / f"{name}.png").read_bytes()[:4] == b"\x89PNG"
    page = (measured / "all" / "index.html").read_text()
    assert all(f'src="{name}.png"' in page for name in drawn)
    for words in ("Condensation of small", "sha256:", "learned random M", "whole graph", "Method "):
        assert words in page


def test_results_are_drawn_without_a_run(measured: pathlib.Path, tmp_path: pathlib.Path) -> None:
    source = measured / "random.json"
    report.main(["--out", str(tmp_path / "r"), "--results", str(source), "--title", "R<1>"])
    lines = (tmp_path / "r" / "results.csv").read_text().splitlines()
    rows = json.loads(source.read_text())["results"]
    whole = [row for row in rows if row["setting"] == "O->O"]
    assert len(lines) == 1 + len(rows) - len(whole) // 2  # of two sizes, the whole graph's once
    right = next(row["accuracy"]["mean"] for row in rows if row["setting"] == "O->S")
    assert f"{right:.2f}" in (tmp_path / "r" / "index.html").read_text()
    assert "R&lt;1&gt;" in (tmp_path / "r" / "index.html").read_text()
    assert not (tmp_path / "r" / "losses.png").exists()


def test_sweeps_leave_arguments_of_learned_methods_to_those() -> None:
    line = "--out=x --data=d --own never --methods=solved,learned --nodes=8,9 --k=2 --plain --mu=0.5"
    given, rest = report._parser().parse_known_args([*line.split(), "--beta-values=1e-3"])
    first, entries, beta = report._measure(given, rest)
    assert first == (
        "",
        ["--data=d", "--own", "never", "--methods=solved,learned", "--nodes=8,9", "--mu", "0.5", "--plain"],
    )
    one = ["--data=d", "--own", "never", "--nodes=8", "--calibrations=none", "--costs=false"]
    assert entries == ("k", [*one, "--methods=solved", "--entries=2"])
    learned = ["--methods=learned", "--mu", "0.5", "--plain", "--rounds=10", "--beta=0.001"]
    assert beta == ("β", [*one, *learned])


def row(setting: str, mean: float, batch: str = "node", **more: Any) -> report.Row:
    of = {"method": "m", "model": "sgc", "attachment": "frozen", "calibration": "none", "shared_m": False}
    spread = {"mean": mean, "std": 0}
    return (
        of | {"setting": setting, "batch": batch, "accuracy": spread, "seeds": [0], "synthetic_nodes": 5} | more
    )


def test_summary_and_sweep_take_node_batches() -> None:
    rows = [row("O->O", 90), row("O->S", 80), row("O->S", 99, "graph"), row("O->S", 85, method="best")]
    assert report.summary(rows) == (
        "Method best, model sgc, 5 synthetic nodes: accuracy 85.00% on the test nodes, each on its own; "
        "the whole graph 90.00%."
    )
    sweep = report.Sweep("k")
    sweep.add(3, rows)
    assert sweep.lines == {"O->S": [80]}
    assert report.score(row("O->S", 0, numbers={"r2": {"mean": 7, "std": 1}})) == (7, 1, "R²")


def test_wrong_input_is_named(measured: pathlib.Path, tmp_path: pathlib.Path) -> None:
    out = ["--out", str(tmp_path / "x")]
    empty, other = tmp_path / "empty.json", tmp_path / "other.json"
    empty.write_text('{"results": []}')
    said = json.loads((measured / "random.json").read_text())
    other.write_text(json.dumps(said | {"fingerprint": "sha256:0"}))
    for arguments, want in {
        ("--results", str(empty)): "has no results",
        ("--results", str(tmp_path / "none")): "No such file",
        ("--results", str(measured / "random.json"), "--results", str(other)): "they measure different data",
        ("--k=1",): "nothing to measure",
    }.items():
        with pytest.raises(SystemExit, match=want):
            report.main([*out, *arguments])
    with pytest.raises(SystemExit):
        report.main([*out, "--k=1,a"])
    assert not (tmp_path / "x").exists()


def test_a_program_that_fails_or_is_not_there_is_named(
    programs: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RIVULET_TRAINER", str(programs / "trainer"))
    with pytest.raises(ProgramError, match="exit status 1"):
        report.evaluate(["--preset=none"])
    monkeypatch.setenv("RIVULET_TRAINER", "/nowhere/trainer")
    with pytest.raises(ProgramError, match="RIVULET_TRAINER"):
        report.evaluate([])
