"""What this program would make: the manifest that an index must agree with."""

from __future__ import annotations

from bythebook.books.model import CHUNKER_VERSION
from bythebook.index.embedding import Embedder
from bythebook.index.lexical import LEXICAL_VERSION
from bythebook.index.manifest import Manifest


def wanted_manifest(embedder: Embedder) -> Manifest:
    return Manifest(
        embedder=embedder.name,
        dimension=embedder.dimension,
        chunker_version=CHUNKER_VERSION,
        lexical_version=LEXICAL_VERSION,
    )
