"""A server is ready soon because it imports only what it serves with. Modules are counted, not seconds."""

from __future__ import annotations

import json
import subprocess
import sys

UNWANTED = {
    "agents": "a model's, and there may be none",
    "alembic": "for a database that is not up to date",
    "dask": "for who spreads an ingestion",
    "mcp": "for editors and assistants, and there may be none",
    "limits": "for keys, and there may be none",
    "rich": "the command line's",
    "sqlalchemy.dialects.postgresql": "for who has one",
    "sqlalchemy.ext.asyncio": "it brings the whole ORM",
    "sqlalchemy.orm": "no table here is mapped",
    "yaml": "for reading a book's files",
}
PROGRAM = """\
import json, sys
import bythebook.index.qdrant_edge.index, bythebook.embedding.granite, bythebook.web.server
print(json.dumps(sorted(sys.modules)))
"""


def test_what_nobody_needs_yet_is_not_imported() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, encoding="utf-8", check=True, timeout=120)
    imported = set(json.loads(done.stdout.splitlines()[-1]))
    assert "bythebook.web.routes.chat" in imported
    assert not imported & UNWANTED.keys()
