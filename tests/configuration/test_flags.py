"""Every setting has a flag that says what it does; a secret has one only for its file."""

import argparse

from pydantic import Field

from attribution.configuration.flags import add_flags, given_flags
from attribution.configuration.secrets import Secret
from attribution.contracts.base import Strict


class Inner(Strict):
    token: Secret | None = Field(default=None, description="who asks")
    names: tuple[str, ...] = Field(default=(), description="which of 100%")


class Settings(Strict):
    workers: int = Field(default=2, description="how many at once")
    inner: Inner = Inner()


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="toy")
    made.add_argument("--other")
    add_flags(made, Settings)
    return made


def test_only_flags_that_were_given_are_settings() -> None:
    options = parser().parse_args(["--other", "x", "--inner-names", "a,b", "--inner-token-file", "token"])
    assert given_flags(options) == {"inner.names": "a,b", "inner.token_file": "token"}


def test_the_help_says_what_each_does() -> None:
    text = " ".join(parser().format_help().split())
    assert "--workers VALUE how many at once (default: 2)" in text
    assert "--inner-names VALUE which of 100%" in text and "(default: )" not in text
    assert "--inner-token " not in text and "--inner-token-file VALUE file that holds `inner.token`" in text
