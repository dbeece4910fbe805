from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
from collections.abc import Callable, Sequence

import pytest

from rivulet_mcond import Arrival

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """The directory of trainer and rivulet: RIVULET_TEST_BIN, or built of the checkout."""
    if "RIVULET_TEST_BIN" in os.environ:
        return pathlib.Path(os.environ["RIVULET_TEST_BIN"]).resolve()
    if shutil.which("go") is None:
        pytest.skip("neither RIVULET_TEST_BIN nor Go to build the programs with")
    out = tmp_path_factory.mktemp("bin")
    subprocess.run(["go", "build", "-o", f"{out}/", "./cmd/trainer", "./cmd/rivulet"], cwd=ROOT, check=True)
    return out


class Set:
    """An artifact trained on a data set, and its test nodes as arrivals."""

    def __init__(
        self, programs: pathlib.Path, source: list[str], work: pathlib.Path, options: list[str]
    ) -> None:
        self.programs = programs
        self.artifact = work / "artifact"
        self.lines = work / "arrivals.jsonl"
        if not self.artifact.exists():
            options = ["--weight-decays", "0.001", "--costs=false", *options]
            self.run("trainer", "train", *source, *options, "--out", str(self.artifact))
        self.run("rivulet", "replay", *source, "--limit", "1500", "--out", str(self.lines))
        self.arrivals = [Arrival.from_json(line) for line in self.lines.read_bytes().splitlines()]

    def run(self, program: str, *args: str, given: bytes = b"") -> bytes:
        done = self._run(program, args, given)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout

    def refuse(self, line: bytes) -> str:
        """What `rivulet predict` says of an arrival that it refuses."""
        done = self._run("rivulet", ("predict", "--artifact", str(self.artifact)), line)
        assert done.returncode != 0
        return done.stderr.decode()

    def _run(self, program: str, args: Sequence[str], given: bytes) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [str(self.programs / program), *args], input=given, capture_output=True, check=False
        )

    def predict(
        self,
        model: str,
        calibration: str,
        given: bytes | None = None,
        output: Sequence[str] = ("--probabilities", "--logits"),
    ) -> list[dict[str, object]]:
        """What `rivulet predict` says of the arrivals."""
        options = ["--artifact", str(self.artifact), "--model", model, "--calibration", calibration]
        lines = self.run("rivulet", "predict", *options, *output, given=given or self.lines.read_bytes())
        return [json.loads(line) for line in lines.splitlines()]


@pytest.fixture(scope="session")
def trained(programs: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Set]:
    """Train on one of the shared sets (RIVULET_DATA), or on the generated graph "small"; once a session."""
    made: dict[str, Set] = {}

    def of(name: str, models: str) -> Set:
        if name not in made:
            source = ["--preset", "small", "--preset-nodes", "600"]
            if name != "small":
                directory = pathlib.Path(os.environ.get("RIVULET_DATA", ROOT / "../shared/data")) / name
                if not directory.is_dir():
                    pytest.skip(f"{directory} is not there: RIVULET_DATA names the directory of the real graphs")
                source = ["--data", str(directory.resolve())]
            work = (
                pathlib.Path(os.environ["RIVULET_TEST_ARTIFACTS"]) / name
                if "RIVULET_TEST_ARTIFACTS" in os.environ
                else None
            )
            if work is not None:
                work.mkdir(parents=True, exist_ok=True)
            options = ["--models", models, "--hidden", "8", "--own", "always"]
            made[name] = Set(programs, source, work or tmp_path_factory.mktemp(name), options)
        return made[name]

    return of
