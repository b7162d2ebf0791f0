"""Opens the socket that the server listens on. Imports nothing, so that a port in use is reported at once."""

from __future__ import annotations

import socket
import sys
from ipaddress import ip_address

from bythebook.errors import InvalidSettings

BACKLOG = 2048
UNREAD_MILLISECONDS = 30_000
"""A client that takes nothing of what is sent to it for so long is let go. Otherwise its responses would stay in the memory, and
its request among those at once, for as long as it likes. The system counts this; other systems than Linux do not."""


def listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named, because asyncio sends small answers at once (TCP_NODELAY) only where the socket says that it is TCP: 40 ms.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if sys.platform == "linux":
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, UNREAD_MILLISECONDS)
    try:
        listening.bind((host, port))
        listening.listen(BACKLOG)
    except (OSError, UnicodeError) as error:
        listening.close()
        reason = getattr(error, "strerror", None) or "it is no address of this machine"
        raise InvalidSettings(
            f"Nothing can listen on {host} port {port} ({reason}). Choose others with --host and --port."
        ) from error
    return listening


def address_of(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def is_loopback(listening: socket.socket) -> bool:
    return ip_address(listening.getsockname()[0]).is_loopback
