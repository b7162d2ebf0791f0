"""A book's site on the loopback: pages, sitemaps, redirects and errors, and which of them were asked for."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(slots=True)
class Site:
    """`pages`: path -> body, or a status with headers."""

    pages: dict[str, bytes | tuple[int, Mapping[str, str]]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    url: str = ""
    was_asked: threading.Event = field(default_factory=threading.Event)

    def page(self, path: str, words: str, *links: str) -> None:
        anchors = "".join(f'<a href="{link}">x</a>' for link in links)
        self.pages[path] = f"<html><head><title>A book</title></head><body><p>{words}</p>{anchors}</body></html>".encode()

    def sitemap(self, *paths: str, at: str = "/book/sitemap.xml", packed: bool = False) -> None:
        text = "<urlset>" + "".join(f"<url><loc>{self.url}{path}</loc></url>" for path in paths) + "</urlset>"
        self.pages[at] = gzip.compress(text.encode()) if packed else text.encode()


@contextmanager
def serving_site() -> Iterator[Site]:
    site = Site()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            site.asked.append(self.path)
            site.was_asked.set()
            held = site.pages.get(self.path, (404, {}))
            if isinstance(held, tuple):
                status, headers, body = held[0], held[1], b""
            else:
                tag = f'"{hash(held)}"'
                same = self.headers.get("If-None-Match") == tag
                kind = "text/xml" if self.path.endswith((".xml", ".gz")) else "text/html; charset=utf-8"
                status, headers, body = (304, {}, b"") if same else (200, {"ETag": tag, "Content-Type": kind}, held)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    site.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
