"""What can go wrong, by whose fault it is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mistake:
    """One thing that is wrong with an input."""

    file: str
    """What the text is called: a path as it was given, or the name of an argument."""
    line: int | None
    """The line, from 1; None where the mistake is not in a text."""
    path: str | None
    """Of a scenario that was handed in as a dictionary or a builder: the dotted path, such as ``workload[0].tasks[1].run``."""
    message: str
    """What is wrong, naming the thing as it was written."""
    hint: str
    """What would be right, or where to look."""

    def __str__(self) -> str:
        place = self.path if self.path is not None else self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{place}: {self.message} (hint: {self.hint})"


class InputError(ValueError):
    """The input is wrong. ``mistakes`` has all mistakes at once; as text each has a line."""

    mistakes: list[Mistake]

    def __init__(self, mistakes: list[Mistake]) -> None:
        super().__init__(mistakes)
        self.mistakes = list(mistakes)

    def __str__(self) -> str:
        return "\n".join(str(mistake) for mistake in self.mistakes)


class WorldError(OSError):
    """The disk or another part of the system failed. The message names what was tried; ``errno`` is set if the system gave one."""

    def __str__(self) -> str:
        return str(self.args[-1]) if self.args else ""


class BrokenInvariant(RuntimeError):
    """A bug of fairground: the simulation stopped. The message says which invariant broke, where, and how to get there again."""
