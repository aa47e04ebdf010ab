"""How far long work is, shown by tqdm if it is there."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

Progress = bool | Callable[[int, int], object]
"""``True`` shows a bar of tqdm if that is installed and the work takes more than a second; ``False`` shows nothing; a function is
called with the number of steps that are done, and of all of them, about twenty times a second."""

_PATIENCE_S = 1.0


def _tqdm() -> Any:
    """The bar of a terminal or of a notebook. In a notebook without ipywidgets tqdm warns, and draws the bar as text."""
    from tqdm import TqdmWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TqdmWarning)
        from tqdm.auto import tqdm
    return tqdm


class Bar:
    """A bar that appears when work takes long."""

    def __init__(self, progress: Progress, what: str) -> None:
        self._what = what
        self._began = time.monotonic()
        self._bar: Any = None
        self.tell: Callable[[int, int], object] | None
        if callable(progress):
            self.tell = progress
        else:
            self.tell = self._at if progress else None

    def _at(self, done: int, total: int) -> None:
        if self._bar is None:
            if time.monotonic() - self._began < _PATIENCE_S:
                return
            try:
                tqdm = _tqdm()
            except ImportError:
                self._began = float("inf")
                return
            form = "{desc}: {percentage:3.0f}% {bar} {elapsed}<{remaining}"
            self._bar = tqdm(total=total, desc=self._what, leave=False, bar_format=form)
            self._bar.start_t -= time.monotonic() - self._began
        self._bar.total = total
        self._bar.update(done - self._bar.n)

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()
