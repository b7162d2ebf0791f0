"""LlamaIndex: the reader, splitter and vector index of its starter tutorial, `refresh_ref_docs` from its page on document
management, and the similarity cut-off of its page on node postprocessors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from llama_index.core import SimpleDirectoryReader, VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.postprocessor import SimilarityPostprocessor
from llama_index.core.schema import NodeWithScore

from bench.peers.trial import RESULTS, Passage
from bench.peers.weights import weights

CUT_OFF = 0.7
"""The value that its documentation shows."""
ANSWERED_FROM = 2
"""Its query engine's default number of passages."""


class GraniteEmbedding(BaseEmbedding):
    def _get_text_embedding(self, text: str) -> list[float]:
        return weights().lessons([text])[0]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return weights().lessons(texts)

    def _get_query_embedding(self, query: str) -> list[float]:
        return weights().question(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)


class Library:
    packages = ("llama-index-core",)

    def ingest(self, book: Path, store: Path) -> None:
        self._book, self._store = book, store
        self._index = VectorStoreIndex.from_documents(self._documents(), embed_model=GraniteEmbedding(model_name="granite"))
        self._index.storage_context.persist(self._store)

    def ingest_again(self, book: Path, edited: str) -> None:
        self._index.refresh_ref_docs(self._documents())
        self._index.storage_context.persist(self._store)

    def search(self, question: str) -> list[Passage]:
        return self._passages(self._index.as_retriever(similarity_top_k=RESULTS).retrieve(question))

    def answer(self, question: str) -> list[Passage]:
        nodes = self._index.as_retriever(similarity_top_k=ANSWERED_FROM).retrieve(question)
        return self._passages(SimilarityPostprocessor(similarity_cutoff=CUT_OFF).postprocess_nodes(nodes))

    def _documents(self) -> Any:
        return SimpleDirectoryReader(
            str(self._book), recursive=True, required_exts=[".md", ".mdx"], filename_as_id=True
        ).load_data()

    def _passages(self, nodes: list[NodeWithScore]) -> list[Passage]:
        return [Passage(lesson=self._lesson(node.metadata["file_path"]), text=node.get_content()) for node in nodes]

    def _lesson(self, path: str) -> str:
        return Path(path).relative_to(self._book).as_posix()
