"""Arguments → operations → terminal output. One file per command; what a command needs is imported when it runs.

May import `web` and below; nothing imports it.
"""

from __future__ import annotations

import re
import sys
from errno import ENAMETOOLONG

from bythebook.errors import BookError, InvalidInput, InvalidSettings

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""All but tab and line feed, and the characters that change the direction of text."""
INTERRUPTED = 130  # what a shell reports for a program that Ctrl-C ended


def printable(text: str) -> str:
    """The text without control sequences of a terminal, which could hide text, fill the clipboard, or send input in the reader's
    name."""
    return CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def main() -> None:
    """Errors meant for a person become one sentence and an exit code: 2 for wrong arguments, 1 for the rest."""
    try:
        from bythebook.cli.app import command  # here, so that Ctrl-C is answered while the program is still loading

        command(prog_name="bythebook")
    except BookError as error:
        sys.stderr.write(f"bythebook: {printable(str(error))}\n")
        sys.exit(2 if isinstance(error, InvalidInput | InvalidSettings) else 1)
    except BrokenPipeError:  # the program that reads our output has ended
        sys.stderr.close()
        sys.exit(1)
    except OSError as error:
        if error.errno != ENAMETOOLONG:
            raise
        name = printable(str(error.filename).rpartition("/")[2][:40])
        sys.stderr.write(f"bythebook: The name {name}… is longer than the file system takes. Give another.\n")
        sys.exit(2)
    except (KeyboardInterrupt, SystemExit) as end:  # typer turns a Ctrl-C into a silent exit
        if isinstance(end, SystemExit) and end.code != INTERRUPTED:
            raise
        sys.stderr.write("\nbythebook: stopped.\n")
        sys.exit(INTERRUPTED)
