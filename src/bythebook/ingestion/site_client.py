"""Fetches pages from one host: within limits of time and size, and never from inside the operator's own network by way of a
public one.

Redirects are followed on the host alone. The name is resolved for every page, and the connection is made to the address that was
checked. A host that answers that it is busy is asked again after a pause.
"""

from __future__ import annotations

import html
import http.client
import socket
import ssl
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from urllib.parse import quote, urljoin, urlsplit

from bythebook.errors import InvalidInput, Unavailable
from bythebook.ingestion.addresses import is_public

AGENT = "bythebook"
LARGEST_PAGE = 5_000_000
LARGEST_SITE = 500_000_000
MOST_REDIRECTS = 5
TIMEOUT_SECONDS = 20.0
PAGE_SECONDS = 60.0
"""The most that one page may take, however slowly its bytes arrive."""
MOST_SECONDS = 1_800.0
"""The most that all pages may take."""
LONGEST_WAIT_SECONDS = 60.0
TRIES = 3
BUSY = (429, 503)
REDIRECTED = (301, 302, 303, 307, 308)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """An answer of the site."""

    status: int
    url: str
    body: bytes = b""
    kind: str = ""
    etag: str = ""
    modified: str = ""
    wait: float = 0.0
    """Seconds after which a busy site wants to be asked again."""


class VisitOver(Exception):
    """Nobody waits for the pages any more."""


class SiteClient:
    """Fetches pages from the host of one address. Call `connect` first."""

    def __init__(self, address: str, over: threading.Event) -> None:
        parts = urlsplit(address)
        if not parts.hostname or parts.username:
            raise InvalidInput(f"'{address}' is not the address of a site; it should look like https://example.org/book/.")
        self.host = parts.hostname
        self.is_late = False
        """Whether all the time there is was used up."""
        self._address = address
        self._scheme, self._port = parts.scheme.lower(), parts.port
        self._over = over
        self._private_allowed = False
        self._deadline = time.monotonic() + MOST_SECONDS
        self._left = LARGEST_SITE

    def connect(self, *, private: bool) -> None:
        """Finds out where the host is. Raises InvalidInput where it is in a private network and may not be."""
        found = self._resolve(self.host)
        self._private_allowed = not any(map(is_public, found))
        if not private and not all(map(is_public, found)):
            meant = "If you mean that, set BYTHEBOOK_GIT_PRIVATE=true."
            raise InvalidInput(f"The site {self._address} is at a private address. {meant}")

    def absolute(self, path: str) -> str:
        port = f":{self._port}" if self._port else ""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self._scheme}://{host}{port}{path}"

    def is_here(self, url: str) -> bool:
        """Whether the address is on this host."""
        try:
            parts = urlsplit(url)
            port = parts.port or 0
        except ValueError:  # an invalid port, or brackets without an address
            return False
        return parts.scheme in ("http", "https") and parts.hostname == self.host and port in (self._port or 0, 80, 443)

    def get(self, url: str, before: dict[str, str] | None = None) -> Fetched:
        """Fetches one page. Redirects are followed on the same host; a busy server is waited for."""
        here = url
        for _ in range(MOST_REDIRECTS + 1):
            answer, target = self._attempts(here, before or {})
            if target is None:
                return answer
            here = joined(here, target)
            if not self.is_here(here):
                return Fetched(status=answer.status, url=here)
        raise Unavailable(f"{url} leads from page to page without an end; it was not read.")

    def _attempts(self, url: str, before: dict[str, str]) -> tuple[Fetched, str | None]:
        for attempt in range(TRIES):
            if self._over.is_set():
                raise VisitOver
            if time.monotonic() > self._deadline:
                self.is_late = True
                raise Unavailable(f"{self.host} takes longer than {MOST_SECONDS / 60:.0f} minutes; run it again to go on.")
            try:
                answer, target = self._request(url, before)
            except (OSError, http.client.HTTPException, ValueError) as error:
                raise Unavailable(f"{url} cannot be fetched ({error}); check the address and the network.") from error
            if answer.status not in BUSY or attempt == TRIES - 1 or answer.wait > LONGEST_WAIT_SECONDS:
                return answer, target
            self._over.wait(answer.wait or 2.0**attempt)
        raise AssertionError("the last attempt returns")

    def _request(self, url: str, before: dict[str, str]) -> tuple[Fetched, str | None]:
        parts = urlsplit(url)
        headers = {"User-Agent": AGENT, "Accept": "text/html, application/xml;q=0.9", "Accept-Encoding": "gzip"}
        headers |= {"If-None-Match": before["etag"]} if before.get("etag") else {}
        headers |= {"If-Modified-Since": before["modified"]} if before.get("modified") else {}
        path = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~") + (f"?{parts.query}" if parts.query else "")
        with self._connection(parts.scheme, parts.port) as connection:
            connection.request("GET", path, headers={**headers, "Host": parts.netloc.rpartition("@")[2]})
            response = connection.getresponse()
            body = response.read(LARGEST_PAGE + 1)
        if len(body) > LARGEST_PAGE:
            raise ValueError(f"it is larger than {LARGEST_PAGE:,} bytes")
        if response.getheader("Content-Encoding", "") == "gzip":
            body = unpacked(body)
        self._left -= len(body)
        if self._left < 0:
            raise ValueError(f"the site is larger than {LARGEST_SITE:,} bytes")
        after = response.getheader("Retry-After", "")
        answer = Fetched(
            status=response.status,
            url=url,
            body=body,
            kind=response.getheader("Content-Type", "").lower(),
            etag=response.getheader("ETag", ""),
            modified=response.getheader("Last-Modified", ""),
            wait=float(after) if after.isdigit() else 0.0,
        )
        return answer, response.getheader("Location") if response.status in REDIRECTED else None

    @contextmanager
    def _connection(self, scheme: str, port: int | None) -> Iterator[http.client.HTTPConnection]:
        """A connection to the address that was checked, not to one that the name resolves to a moment later; used for one
        page."""
        address = self._checked_address()
        port = port or {"http": 80}.get(scheme, 443)
        connection = http.client.HTTPConnection(address, port)
        connected = socket.create_connection((address, port), TIMEOUT_SECONDS)
        try:
            if scheme == "https":
                secure = ssl.create_default_context()
                connected = secure.wrap_socket(connected, server_hostname=self.host, do_handshake_on_connect=False)
            with _time_limit(connected):
                if isinstance(connected, ssl.SSLSocket):
                    connected.do_handshake()
                connection.sock = connected
                yield connection
        finally:
            connection.close()
            connected.close()

    def _checked_address(self) -> str:
        found = self._resolve(self.host)
        if not self._private_allowed and not all(map(is_public, found)):
            raise ValueError(f"{self.host} now leads to an address inside a private network")
        return found[0]

    def _resolve(self, host: str) -> list[str]:
        try:
            return [str(info[4][0]) for info in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)]
        except OSError as error:
            raise Unavailable(f"{host} cannot be found ({error.strerror}); check the address and the network.") from error


@contextmanager
def _time_limit(connected: socket.socket) -> Iterator[None]:
    """Ends the connection when its time is over, whatever is being read from it."""
    over = threading.Event()

    def end() -> None:
        over.set()
        with suppress(OSError):
            connected.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(PAGE_SECONDS, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        if over.is_set():
            raise TimeoutError(f"it takes longer than {PAGE_SECONDS:.0f} seconds")


def joined(base: str, link: str) -> str:
    """The address that a link leads to; nothing where it is not an address."""
    try:
        return urljoin(base, html.unescape(link))
    except ValueError:
        return ""


def unpacked(body: bytes) -> bytes:
    """Unpacks at most as much as a page may have."""
    unpacker = zlib.decompressobj(16 + zlib.MAX_WBITS)
    try:
        text = unpacker.decompress(body, LARGEST_PAGE)
    except zlib.error as error:
        raise ValueError("what it sends cannot be unpacked") from error
    if unpacker.unconsumed_tail:
        raise ValueError(f"it is larger than {LARGEST_PAGE:,} bytes")
    return text
