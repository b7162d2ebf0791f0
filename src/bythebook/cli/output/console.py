"""The console that commands print on. What a book or a reader wrote brings no control character to the terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable

from rich.console import Console as RichConsole
from rich.console import ConsoleOptions, RenderableType
from rich.segment import Segment

from bythebook.cli import CONTROL, printable


class Console(RichConsole):
    """Rich's, with control characters in texts replaced. Its own styles and cursor movements are no texts. When nobody reads on
    (`| head`), the command ends silently."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            harmless = segment.control or not CONTROL.search(segment.text)
            yield segment if harmless else Segment(printable(segment.text), segment.style)

    def on_broken_pipe(self) -> None:
        """Rich would leave from the middle of whatever runs, which asyncio reports as an error of its own."""
        self.quiet = True
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
