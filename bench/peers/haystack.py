"""Haystack: the indexing pipeline of its tutorials (clean, split into 150 words with 50 shared, embed, write) and the hybrid
retrieval of its hybrid tutorial. Its ranker needs a model from a hub, so the joiner's order stands. It shows no cut-off."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from haystack import Document, Pipeline, component
from haystack.components.joiners import DocumentJoiner
from haystack.components.preprocessors import DocumentCleaner, DocumentSplitter
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever, InMemoryEmbeddingRetriever
from haystack.components.writers import DocumentWriter
from haystack.document_stores.in_memory import InMemoryDocumentStore
from haystack.document_stores.types import DuplicatePolicy

from bench.peers.trial import RESULTS, Passage
from bench.peers.weights import weights

ANSWERED_FROM = 3


@component
class GraniteDocumentEmbedder:
    @component.output_types(documents=list[Document])
    def run(self, documents: list[Document]) -> dict[str, Any]:
        vectors = weights().lessons([document.content or "" for document in documents])
        for document, vector in zip(documents, vectors, strict=True):
            document.embedding = vector
        return {"documents": documents}


class Library:
    packages = ("haystack-ai",)

    def ingest(self, book: Path, store: Path) -> None:
        self._store = InMemoryDocumentStore(embedding_similarity_function="cosine")
        self._write(book)
        self._folder = store
        self._store.save_to_disk(str(store))
        self._hybrid = Pipeline()
        self._hybrid.add_component("dense", InMemoryEmbeddingRetriever(self._store, top_k=RESULTS))
        self._hybrid.add_component("lexical", InMemoryBM25Retriever(self._store, top_k=RESULTS))
        self._hybrid.add_component("joiner", DocumentJoiner(join_mode="reciprocal_rank_fusion", top_k=RESULTS))
        self._hybrid.connect("dense", "joiner")
        self._hybrid.connect("lexical", "joiner")

    def ingest_again(self, book: Path, edited: str) -> None:
        """A document's id is a hash of its content, so written ones are skipped; the embedder before the writer sees all."""
        self._write(book)
        self._store.save_to_disk(str(self._folder))

    def search(self, question: str) -> list[Passage]:
        inputs = {"dense": {"query_embedding": weights().question(question)}, "lexical": {"query": question}}
        found = self._hybrid.run(inputs)["joiner"]["documents"]
        return [Passage(lesson=document.meta["lesson"], text=document.content) for document in found]

    def answer(self, question: str) -> list[Passage]:
        return self.search(question)[:ANSWERED_FROM]

    def _write(self, book: Path) -> None:
        writing = Pipeline()
        writing.add_component("cleaner", DocumentCleaner())
        writing.add_component("splitter", DocumentSplitter(split_by="word", split_length=150, split_overlap=50))
        writing.add_component("embedder", GraniteDocumentEmbedder())
        writing.add_component("writer", DocumentWriter(self._store, policy=DuplicatePolicy.SKIP))
        writing.connect("cleaner", "splitter")
        writing.connect("splitter", "embedder")
        writing.connect("embedder", "writer")
        lessons = sorted(path for path in book.rglob("*.md*"))
        documents = [
            Document(content=path.read_text("utf-8"), meta={"lesson": path.relative_to(book).as_posix()}) for path in lessons
        ]
        writing.run({"cleaner": {"documents": documents}})
