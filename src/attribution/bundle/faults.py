"""What is wrong with a file that was given is told as one coded problem."""

from pathlib import Path

from attribution.contracts.errors import EvidenceError, Place, Problem

TAKE_A_LOG = "give a folder, a log file, or a .tar, .tar.gz or .tar.zst archive"
CHECK_PERMISSIONS = "check the path and its permissions"


def problem(place: Path | str, code: str, message: str, remedy: str = "") -> EvidenceError:
    """The error with one problem, ready to be raised."""
    return EvidenceError([Problem(Place(str(place)), code, message, remedy)])


def reason(error: Exception) -> str:
    """Why the system refused, in its own words and on one line, without the path."""
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return " ".join(text.split()) or type(error).__name__


def must_exist(path: Path) -> None:
    """Return if `path` is a file or folder that can be looked at; else raise B001, B002 or B003."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        raise problem(path, "B001", "does not exist", "check the path") from None
    except (OSError, ValueError) as error:
        raise problem(path, "B003", f"cannot be read: {reason(error)}", CHECK_PERMISSIONS) from None
    if not path.is_dir() and not path.is_file():
        raise problem(path, "B002", "is neither a file nor a folder", TAKE_A_LOG)
