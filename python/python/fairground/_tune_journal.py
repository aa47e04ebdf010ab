"""Finished trials of a tuner in a file of JSON lines."""

from __future__ import annotations

import json
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from ._errors import InputError, Mistake, WorldError


class Journal:
    """The first line names the study, each other one is a trial. A last line without its end was being written when the run was stopped:
    it is cut off. Without a file nothing is kept."""

    def __init__(self, file: str | PathLike[str] | None, study: str) -> None:
        self._file = None if file is None else Path(file)
        self._trials: dict[int, dict[str, Any]] = {}
        if self._file is None:
            return
        try:
            kept = self._file.read_text(encoding="utf-8") if self._file.exists() else ""
            whole = kept[: kept.rfind("\n") + 1]
            lines = [self._line(row, number) for number, row in enumerate(whole.splitlines(), 1)]
            if lines and lines[0].get("study") != study:
                raise self._wrong(1, "is of another study: another scenario, space, objective, seed or version", "Name another file.")
            self._trials = {line["trial"]: line for line in lines[1:]}
            self._file.write_text(whole or json.dumps({"study": study}) + "\n", encoding="utf-8")
        except OSError as error:
            raise WorldError(error.errno, f"the journal {self._file}: {error.strerror}") from error

    def _wrong(self, line: int, message: str, hint: str) -> InputError:
        return InputError([Mistake(str(self._file), line, None, f"the journal {message}", hint)])

    def _line(self, text: str, number: int) -> dict[str, Any]:
        try:
            found = json.loads(text)
        except ValueError:
            found = None
        needed = ("study",) if number == 1 else ("trial", "values", "rows", "state", "why", "runs")
        if not isinstance(found, dict) or any(key not in found for key in needed):
            raise self._wrong(number, "has a line that is no trial", "Name another file, or delete this one.")
        return found

    def read(self, number: int, values: Mapping[str, Any] | None) -> dict[str, Any] | None:
        """What is noted of a trial, if it is."""
        noted = self._trials.get(number)
        if noted is not None and noted["values"] != values:
            raise self._wrong(number + 2, f"has other settings for trial {number} than the sampler proposes", "Name another file.")
        return noted

    def note(self, number: int, values: Mapping[str, Any] | None, found: Mapping[str, Any]) -> None:
        """Adds a finished trial."""
        if self._file is not None:
            with self._file.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"trial": number, "values": values} | dict(found)) + "\n")
