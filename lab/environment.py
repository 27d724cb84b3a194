"""The training jobs have a Python of their own, with PyTorch, which is made once and kept beside the lab."""

import hashlib
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
_FOLDER = HERE / ".venv"


def python() -> Path | None:
    """The Python of the jobs, if it is there and made of what is asked for now."""
    marker = _FOLDER / ".made-of"
    if marker.exists() and marker.read_text() == _digest():
        return _FOLDER / "bin" / "python"
    return None


def make() -> Path:
    """Make it, if it is not there: a few hundred megabytes. Raises OSError, CalledProcessError."""
    found = python()
    if found is not None:
        return found
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(_FOLDER)], check=True)
    made = _FOLDER / "bin" / "python"
    install = [str(made), "-m", "pip", "install", "--quiet", "--requirement", str(HERE / "requirements.txt")]
    subprocess.run(install, check=True, stderr=subprocess.DEVNULL)
    (_FOLDER / ".made-of").write_text(_digest())
    return made


def _digest() -> str:
    text = (HERE / "requirements.txt").read_bytes() + sys.version.encode()
    return hashlib.sha256(text).hexdigest()
