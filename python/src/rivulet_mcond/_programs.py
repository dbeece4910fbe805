"""Run the programs of Rivulet."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence


class ProgramError(RuntimeError):
    """A program could not be started, or it failed; its own lines stand on standard error."""


def run(name: str, arguments: Sequence[str], given: bytes | None = None) -> bytes:
    """Return the standard output of a program of PATH, or of the one that RIVULET_<NAME> names.

    Its standard error goes to ours, so that progress and errors are seen as they come.
    """
    program = os.environ.get(f"RIVULET_{name.upper()}", name)
    try:
        done = subprocess.run([program, *arguments], input=given, stdout=subprocess.PIPE, check=False)
    except OSError as error:
        raise ProgramError(
            f"{program} cannot be started: {error.strerror}; put Rivulet's programs into PATH, "
            f"or name this one in RIVULET_{name.upper()}"
        ) from error
    if done.returncode != 0:
        raise ProgramError(f"{name} {' '.join(arguments)}: exit status {done.returncode}")
    return done.stdout
