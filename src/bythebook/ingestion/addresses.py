"""Whether an address of the network is one that anybody can reach: what a stranger names must lead nowhere else."""

from __future__ import annotations

import ipaddress

TRANSLATED = (ipaddress.ip_network("64:ff9b::/96"), ipaddress.ip_network("64:ff9b:1::/48"))
"""Addresses of IPv6 whose last four bytes are one of IPv4, which a gateway reaches for whoever asks."""


def is_public(address: str) -> bool:
    """Also where it carries an address of IPv4 inside: that one is reached."""
    parsed = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(parsed, ipaddress.IPv6Address):
        inner = parsed.ipv4_mapped or parsed.sixtofour
        if any(parsed in network for network in TRANSLATED):
            inner = ipaddress.IPv4Address(parsed.packed[-4:])
        if inner is not None:
            return is_public(str(inner))
    return parsed.is_global and not parsed.is_multicast
