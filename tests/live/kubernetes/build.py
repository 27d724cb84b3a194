"""A real kube-apiserver, compiled once from the distribution's source package and kept for the next time."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from lab.servers.packages import install, why_not
from lab.servers.processes import LabError

PACKAGES = (
    "etcd-server",
    "golang-1.19-go",
    "golang-github-modern-go-reflect2-dev",
    "rsync",
    "make",
    "dpkg-dev",
    "openssl",
)
CACHE = "ATTRIBUTION_KUBE_CACHE"
"""The variable that names the folder in which the program is kept; a folder of the user's cache otherwise."""
_REFLECT2 = "modern-go/reflect2"
_GO = Path("/usr/lib/go-1.19/bin")
_BUILD_SECS = 3600


def kept() -> Path:
    """Where the compiled program is, or will be."""
    own = os.environ.get(CACHE)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    return (Path(own) if own else cache / "attribution" / "kube") / "kube-apiserver"


def why_no_server() -> str | None:
    """Why no API server can be had here, or None."""
    if shutil.which("kubectl") is None:
        return "there is no kubectl"
    return why_not(PACKAGES)


def built() -> Path:
    """The program; compiling it takes some minutes. Raises LabError, OSError."""
    program = kept()
    install(PACKAGES)
    if not os.access(program, os.X_OK):
        print("compiling kube-apiserver, once: some minutes", file=sys.stderr)
        program.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="kube-build-") as folder:
            made = _compiled(Path(folder))
            part = program.with_suffix(".part")
            shutil.copy2(made, part)
            part.chmod(0o755)
            part.rename(program)
            _run(["chmod", "-R", "u+w", folder], Path(folder))  # Go's caches are read-only
    return program


def _compiled(folder: Path) -> Path:
    source = _source(folder)
    tree = source / ".go" / "src" / "k8s.io"
    tree.mkdir(parents=True)
    (tree / "kubernetes").symlink_to("../../..")
    _replace_reflect2(source)
    go = {"GOPATH": str(source / ".go"), "CGO_ENABLED": "0", "HOME": str(folder), "PATH": f"{_GO}:{os.environ['PATH']}"}
    _run(["nice", "make", "WHAT=cmd/kube-apiserver"], source, go)
    return next((source / "_output" / "local" / "bin").rglob("kube-apiserver")).resolve()


def _source(folder: Path) -> Path:
    """The unpacked source package. Where it comes from is read off the system's own lists, which stay as they are."""
    parts = folder / "parts"
    parts.mkdir()
    (folder / "lists" / "partial").mkdir(parents=True)
    own = Path("/etc/apt")
    for file in sorted((own / "sources.list.d").glob("*.sources")):
        text = re.sub(r"(?m)^Types:.*$", "Types: deb-src", file.read_text())
        (parts / file.name).write_text(text)
    for file in (own / "sources.list", *sorted((own / "sources.list.d").glob("*.list"))):
        if file.exists():
            text = re.sub(r"(?m)^deb(?:-src)? ", "deb-src ", file.read_text())
            (parts / f"{file.stem}.list").write_text(text)
    options = [
        "Dir::Etc::sourcelist=/dev/null",
        f"Dir::Etc::sourceparts={parts}",
        f"Dir::State::lists={folder / 'lists'}",
    ]
    apt = ["apt-get", "-qq", *(part for option in (*options, "APT::Sandbox::User=root") for part in ("-o", option))]
    _run([*apt, "update"], folder)
    _run([*apt, "source", "kubernetes"], folder)
    return next(path for path in sorted(folder.glob("kubernetes-*")) if path.is_dir())


def _replace_reflect2(source: Path) -> None:
    """The vendored release crashes at the first custom resource if Go is 1.18 or later; the next one does not."""
    vendored, packaged = source / "vendor/github.com" / _REFLECT2, Path("/usr/share/gocode/src/github.com") / _REFLECT2
    for file in (*vendored.glob("*.go"), *vendored.glob("*.s")):
        file.unlink()
    for file in (*packaged.glob("*.go"), *packaged.glob("*.s")):
        if not file.name.endswith("_test.go"):
            shutil.copy(file, vendored)


def _run(command: list[str], folder: Path, environ: Mapping[str, str] | None = None) -> None:
    environ = {**os.environ, **(environ or {})}
    ended = subprocess.run(
        command, cwd=folder, env=environ, capture_output=True, text=True, timeout=_BUILD_SECS, check=False
    )
    if ended.returncode:
        last = "\n".join(ended.stderr.strip().splitlines()[-5:])
        raise LabError(f"`{' '.join(command[:3])}` ended with exit code {ended.returncode}: {last}")


if __name__ == "__main__":
    print(built())
