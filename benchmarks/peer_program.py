"""A peer that is no Python package: where it comes from, how it is built, and a process of it that takes turns with ours.

Its program, in the folder `peer_programs`, says a line once it has read what it works on. Then it answers each line of its
standard input with a run, told by a JSON line: `seconds` and `processor` of this run, by its own clocks and all its threads,
and what it found.
"""

import argparse
import json
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from measurement import Seconds

PROGRAMS = Path(__file__).parent / "peer_programs"


@dataclass(frozen=True)
class Clone:
    """A repository of a peer that users clone themselves.

    option: names the folder on the command line. holds: a file of every clone. needs: programs that build and run it.
    """

    option: str
    repository: str
    holds: str
    needs: tuple[str, ...]

    def add_to(self, parser: argparse.ArgumentParser, benchmark: str = "") -> None:
        """Let a parser know the option. benchmark: that takes it, where there are several."""
        text = f"{benchmark and f'for {benchmark}: '}a clone of {self.repository}"
        parser.add_argument(self.option, type=Path, metavar="FOLDER", help=text)

    def missing(self, folder: Path | None) -> str:
        """Why the peer takes no part; empty where it can."""
        if folder is None:
            return f"no clone of it is named by {self.option}"
        if not (folder / self.holds).is_file():
            return f"{folder} is no clone of {self.repository}"
        absent = [program for program in self.needs if shutil.which(program) is None]
        return f"{' and '.join(absent)} {'is' if len(absent) == 1 else 'are'} not installed" if absent else ""


@dataclass
class PeerProgram:
    """A process that does its work again whenever it is asked. told: the answers to its runs so far."""

    process: "subprocess.Popen[str]"
    told: list[dict[str, Any]] = field(default_factory=list)

    def run(self) -> dict[str, Any]:
        """Let it work once; its answer. Raises RuntimeError where it has ended instead."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            print("again", file=self.process.stdin, flush=True)
        except BrokenPipeError:  # it has ended by now: nothing more may be written, not when the pipe is closed either
            with suppress(BrokenPipeError):
                self.process.stdin.close()
            self.process.stdin = None
        if not (answer := self.process.stdout.readline()):
            raise RuntimeError(f"{self.process.args!r} ended before it answered")
        self.told.append(json.loads(answer))
        return self.told[-1]

    @property
    def seconds(self) -> Seconds:
        """Of its runs, by its own clocks."""
        return Seconds.of([one["seconds"] for one in self.told], [one["processor"] for one in self.told])


@contextmanager
def started(command: Sequence[str | Path], warm_up: int = 0) -> Iterator[PeerProgram]:
    """A program that can be run while this lasts. warm_up: runs before, which do not count: what Java then has compiled."""
    with subprocess.Popen(list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()  # it has read what it works on
        for _ in range(warm_up):
            PeerProgram(process).run()
        yield PeerProgram(process)
        process.communicate()


def java(program: str, classes: Path, sources: Iterable[Path], libraries: Iterable[str | Path]) -> list[str]:
    """The command of a Java program in `peer_programs` with what it uses, compiled into a folder of classes.

    libraries: jars, or folders of them followed by `/*`. Raises CalledProcessError where it does not compile.
    """
    path = ":".join(map(str, libraries))
    compiled = ["javac", "-nowarn", "-encoding", "UTF-8", "-d", str(classes)]
    compiled += ["-sourcepath", ":".join(map(str, sources)), "-cp", path, str(PROGRAMS / f"{program}.java")]
    subprocess.run(compiled, check=True, stderr=subprocess.DEVNULL)
    return ["java", "-Xmx3g", "-cp", f"{classes}:{path}", program]
