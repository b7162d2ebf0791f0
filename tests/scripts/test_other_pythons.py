"""Which Pythons of a machine the tests are run with."""

from __future__ import annotations

import sys
from pathlib import Path

from scripts.other_pythons import find_python

HERE = f"{sys.version_info.major}.{sys.version_info.minor}"


def _write(file: Path, script: str) -> Path:
    file.parent.mkdir()
    file.write_text(script, encoding="utf-8")
    file.chmod(0o755)
    return file


def test_a_python_that_runs_is_found_behind_a_shim_that_does_not(tmp_path: Path) -> None:
    shim = _write(tmp_path / "shims" / f"python{HERE}", "#!/bin/sh\nexit 127\n")
    real = _write(tmp_path / "bin" / f"python{HERE}", f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    assert find_python(HERE, [tmp_path / "none", shim.parent, real.parent]) == real


def test_a_python_of_another_version_is_not_taken_for_it(tmp_path: Path) -> None:
    wrong = _write(tmp_path / "bin" / "python3.99", f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    assert find_python("3.99", [wrong.parent]) is None
