"""LangChain: the recursive splitter (1000 characters, 200 shared) and in-memory store of its retrieval tutorial, the indexing
API with a record manager for changes, and the score threshold of its page on retrievers."""

from __future__ import annotations

from pathlib import Path

from langchain_classic.indexes import SQLRecordManager, index
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_text_splitters import RecursiveCharacterTextSplitter

from bench.peers.trial import RESULTS, Passage
from bench.peers.weights import weights

THRESHOLD = 0.5
"""The value that its documentation shows."""
ANSWERED_FROM = 4


class GraniteEmbeddings(Embeddings):
    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return weights().lessons(texts)

    def embed_query(self, text: str) -> list[float]:
        return weights().question(text)


class Library:
    packages = ("langchain", "langchain-core", "langchain-text-splitters")

    def ingest(self, book: Path, store: Path) -> None:
        store.mkdir()
        self._store = InMemoryVectorStore(GraniteEmbeddings())
        self._records = SQLRecordManager("in-memory/book", db_url=f"sqlite:///{store / 'records.db'}")
        self._records.create_schema()
        self._vectors = str(store / "vectors.json")
        self.ingest_again(book, "")

    def ingest_again(self, book: Path, edited: str) -> None:
        self._index(book)
        self._store.dump(self._vectors)

    def search(self, question: str) -> list[Passage]:
        return [_passage(found) for found in self._store.similarity_search(question, k=RESULTS)]

    def answer(self, question: str) -> list[Passage]:
        found = self._store.similarity_search_with_score(question, k=ANSWERED_FROM)
        return [_passage(document) for document, score in found if score >= THRESHOLD]

    def _index(self, book: Path) -> None:
        splitter = RecursiveCharacterTextSplitter(chunk_size=1000, chunk_overlap=200, add_start_index=True)
        lessons = [
            Document(page_content=path.read_text("utf-8"), metadata={"source": path.relative_to(book).as_posix()})
            for path in sorted(book.rglob("*.md*"))
        ]
        pieces = splitter.split_documents(lessons)
        index(pieces, self._records, self._store, cleanup="incremental", source_id_key="source", key_encoder="sha256")


def _passage(document: Document) -> Passage:
    return Passage(lesson=document.metadata["source"], text=document.page_content)
