"""What By the Book is made of besides its own code: docs/dependencies.md with every licence, and a bill of materials (CycloneDX).

python -m scripts.dependencies page             writes docs/dependencies.md
python -m scripts.dependencies sbom FILE.json   writes the bill of materials of the default installation and all extras
"""

from __future__ import annotations

import json
import re
import sys
import uuid
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import Any

from bythebook import __version__

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "dependencies.md"
RUNTIME, EVERYTHING = ROOT / "requirements" / "runtime.txt", ROOT / "requirements" / "server.txt"
BUILD = {"editables", "hatchling", "packaging", "pathspec", "pluggy", "tomlkit", "trove-classifiers"}
"""In the requirements files for those who install from source; nothing imports them."""
ALLOWED = {
    *("MIT", "MIT-0", "BSD-2-Clause", "BSD-3-Clause", "0BSD", "Apache-2.0", "ISC", "PSF-2.0", "Zlib", "CC0-1.0", "MPL-2.0"),
    *("Unlicense", "LGPL-3.0-only"),
}
"""What a service may be built on and given away with, MPL and LGPL libraries unchanged beside it."""
STATED_OTHERWISE = {
    "async-timeout": "Apache-2.0",
    "colorama": "BSD-3-Clause",
    "docutils": "CC0-1.0 AND BSD-2-Clause",
    "httpx2-jsfetch": "BSD-3-Clause",
    "jinja2": "BSD-3-Clause",
    "partd": "BSD-3-Clause",
    "protobuf": "BSD-3-Clause",
    "pypdfium2": "BSD-3-Clause AND Apache-2.0",
    "pystemmer": "MIT AND BSD-3-Clause",
    "pywin32": "PSF-2.0",
    "uvloop": "MIT OR Apache-2.0",
    "zict": "BSD-3-Clause",
}
"""Read from their licence files, where the metadata is in words of its own or the package is for other systems. docutils is in
the public domain but for a few files; its one GPL file is for Emacs and is not installed."""
CLASSIFIED = {
    "Apache Software License": "Apache-2.0",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "BSD License": "BSD-3-Clause",
}
PINNED = re.compile(
    r"^(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^ ;\\]+)[^\n]*\n(?P<hashes>(?:    --hash=[^\n]+\n?)*)", re.MULTILINE
)
PREFACE = """# Dependencies and their licences

Written by `python -m scripts.dependencies page`; a test fails when it is stale, or when a licence is none of {allowed}.
Versions and hashes are in `requirements/`; `make dist` writes them, with the licences, into a bill of materials (CycloneDX)
beside the wheel.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    name: str
    version: str
    hashes: tuple[str, ...]
    licence: str

    @property
    def purl(self) -> str:
        return f"pkg:pypi/{self.name}@{self.version}"

    @property
    def allowed(self) -> bool:
        """Of a choice one will do, of a conjunction all must."""
        return any(all(part.strip(" ()") in ALLOWED for part in choice.split(" AND ")) for choice in self.licence.split(" OR "))


def components(requirements: Path) -> list[Component]:
    """One for each version that some system or Python gets; without what only builds."""
    found = PINNED.finditer(requirements.read_text("utf-8"))
    return [
        Component(
            name=one["name"],
            version=one["version"],
            hashes=tuple(re.findall(r"sha256:([0-9a-f]{64})", one["hashes"])),
            licence=licence_of(one["name"]),
        )
        for one in found
        if one["name"] not in BUILD
    ]


def licence_of(name: str) -> str:
    """In the terms of SPDX."""
    if stated := STATED_OTHERWISE.get(name):
        return stated
    try:
        told = metadata(name)
    except PackageNotFoundError:
        return f"unknown: install {name}, or look at its licence file"
    if "License-Expression" in told:
        return str(told["License-Expression"])
    written = str(told["License"]).strip() if "License" in told else ""
    if written in ALLOWED or re.fullmatch(r"[\w.-]+(?: (?:AND|OR) [\w.-]+)+", written):
        return written
    classified = {
        CLASSIFIED.get(one.rpartition(" :: ")[2], one) for one in told.get_all("Classifier", []) if one.startswith("License")
    }
    return " AND ".join(sorted(classified)) or f"unknown: {written[:60]}"


def page() -> str:
    default = {one.name for one in components(RUNTIME)}
    licences = {one.name: one.licence for one in components(EVERYTHING)}
    parts = [PREFACE.format(allowed=", ".join(sorted(ALLOWED)))]
    for heading, names in (("The default installation", default), ("Added by extras", set(licences) - default)):
        parts += [f"\n## {heading}\n\n| package | licence |\n|---|---|\n"]
        parts += [f"| {name} | {licences[name]} |\n" for name in sorted(names)]
    return "".join(parts)


def bill_of_materials() -> dict[str, Any]:
    """CycloneDX 1.6, the same for the same requirements: no time, and a serial number made from what it lists."""
    listed = components(EVERYTHING)
    application = {
        "type": "application",
        "bom-ref": f"pkg:pypi/bythebook@{__version__}",
        "name": "bythebook",
        "version": __version__,
        "purl": f"pkg:pypi/bythebook@{__version__}",
        "licenses": [{"expression": "Apache-2.0"}],
    }
    serial = uuid.uuid5(uuid.NAMESPACE_URL, " ".join([application["purl"], *(one.purl for one in listed)]))  # type: ignore[list-item]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{serial}",
        "version": 1,
        "metadata": {"component": application},
        "components": [
            {
                "type": "library",
                "bom-ref": one.purl,
                "name": one.name,
                "version": one.version,
                "purl": one.purl,
                "licenses": [{"expression": one.licence}],
                "hashes": [{"alg": "SHA-256", "content": content} for content in one.hashes],
            }
            for one in listed
        ],
        "dependencies": [{"ref": application["bom-ref"], "dependsOn": [one.purl for one in listed]}],
    }


if __name__ == "__main__":
    if sys.argv[1:] == ["page"]:
        PAGE.write_text(page(), encoding="utf-8")
    elif sys.argv[1:2] == ["sbom"] and len(sys.argv) == 3:
        Path(sys.argv[2]).write_text(json.dumps(bill_of_materials(), indent=1) + "\n", encoding="utf-8")
    else:
        sys.exit(__doc__)
