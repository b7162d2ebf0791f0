"""Tells public network addresses from private ones: an address that a stranger names must not lead into a private network."""

from __future__ import annotations

import ipaddress

TRANSLATED = (ipaddress.ip_network("64:ff9b::/96"), ipaddress.ip_network("64:ff9b:1::/48"))
"""IPv6 ranges whose last four bytes are an IPv4 address, which a gateway reaches on behalf of the client."""


def is_public(address: str) -> bool:
    """Whether anybody can reach this address. An IPv6 address that carries an IPv4 address is judged by that one."""
    parsed = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(parsed, ipaddress.IPv6Address):
        inner = parsed.ipv4_mapped or parsed.sixtofour
        if any(parsed in network for network in TRANSLATED):
            inner = ipaddress.IPv4Address(parsed.packed[-4:])
        if inner is not None:
            return is_public(str(inner))
    return parsed.is_global and not parsed.is_multicast
