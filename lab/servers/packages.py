"""What the servers need is installed from the distribution, if it is not there."""

import os
import shutil
import subprocess
from collections.abc import Sequence

SLURM = ("slurmctld", "slurmd", "slurmdbd", "slurm-client", "slurm-wlm-basic-plugins", "munge", "mariadb-server")


def missing(packages: Sequence[str]) -> list[str]:
    """Those that are not installed."""
    return [name for name in packages if not _is_installed(name)]


def why_not(packages: Sequence[str]) -> str | None:
    """Why packages that are missing cannot be installed here, or None."""
    lacking = missing(packages)
    if not lacking:
        return None
    if shutil.which("apt-get") is None:
        return f"{', '.join(lacking)} are not installed, and there is no apt-get to install them"
    if os.geteuid() != 0:
        return f"{', '.join(lacking)} are not installed, and only root can install them"
    return None


def install(packages: Sequence[str]) -> None:
    """Install what is missing. No service is started: those of the lab run in its own folder. Raises OSError."""
    lacking = missing(packages)
    if not lacking:
        return
    environ = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}
    quiet = {"env": environ, "stdout": subprocess.DEVNULL, "check": True, "timeout": 600}
    subprocess.run(["apt-get", "update", "-qq"], **quiet)
    subprocess.run(["apt-get", "install", "-y", "-qq", "--no-install-recommends", *lacking], **quiet)


def _is_installed(name: str) -> bool:
    if shutil.which("dpkg-query") is None:
        return False
    command = ["dpkg-query", "--show", "--showformat=${Status}", name]
    return "ok installed" in subprocess.run(command, capture_output=True, text=True, check=False).stdout
