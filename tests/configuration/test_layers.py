"""A setting may come from a file, the environment or a flag; every mistake in it is told with its place."""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path

import pytest
from pydantic import Field, field_validator

from attribution.configuration.keys import keys
from attribution.configuration.layers import load
from attribution.configuration.reference import reference
from attribution.configuration.secrets import Address, Secret, holds_secret, without_secrets
from attribution.configuration.show import show
from attribution.contracts.base import Strict
from attribution.contracts.errors import ConfigurationError


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Line(Strict):
    text: str


class Service(Strict):
    url: str | None = Field(default=None, description="where it is")
    token: Secret | None = Field(default=None, description="who asks")
    retry_secs: float = Field(default=60, ge=0, description="how long to try")

    @field_validator("url")
    @classmethod
    def _http(cls, value: str | None) -> str | None:
        if value is not None and not value.startswith("http"):
            raise ValueError("is no http address")
        return value


class Sink(Strict):
    url: Address = Field(default="sqlite:///a.db", description="which store", max_length=80)
    colour: Colour = Field(default=Colour.RED, description="its colour")


class Settings(Strict):
    workers: int = Field(default=2, ge=1, description="how many at once")
    names: tuple[str, ...] = Field(default=(), description="which")
    lines: tuple[Line, ...] = Field(default=(), description="lines")
    quiet: bool = Field(default=False, description="say nothing")
    service: Service = Service()
    sink: Sink | None = None


def settings(
    tmp_path: Path, text: str | None = None, environ: Mapping[str, str] | None = None, **flags: str
) -> tuple[Settings, Mapping[str, str]]:
    file = None
    if text is not None:
        file = tmp_path / "a.yaml"
        file.write_text(text)
    given = {name.replace("__", "."): value for name, value in flags.items()}
    loaded, origins = load(Settings, file, environ or {}, given)
    return loaded, {key: origin.replace(f"{tmp_path}/", "") for key, origin in origins.items()}


def problems(tmp_path: Path, *given: object, **flags: str) -> list[str]:
    with pytest.raises(ConfigurationError) as caught:
        settings(tmp_path, *given, **flags)  # type: ignore[arg-type]
    return [str(problem).replace(f"{tmp_path}/", "") for problem in caught.value.problems]


def test_nothing_given_is_all_defaults(tmp_path: Path) -> None:
    assert settings(tmp_path) == (Settings(), {})


def test_flags_go_over_the_environment_and_that_over_the_file(tmp_path: Path) -> None:
    text = "workers: 3\nnames: [a, b]\nservice:\n  url: http://file\n  retry_secs: 1\n"
    environ = {"ATTRIBUTION_SERVICE_URL": "http://env", "ATTRIBUTION_NAMES": "c, d", "ATTRIBUTION_QUIET": "true"}
    loaded, origins = settings(tmp_path, text, environ, service__url="http://flag")
    assert (loaded.workers, loaded.names, loaded.quiet) == (3, ("c", "d"), True)
    assert (loaded.service.url, loaded.service.retry_secs) == ("http://flag", 1)
    assert origins == {
        "names": "environment ATTRIBUTION_NAMES",
        "quiet": "environment ATTRIBUTION_QUIET",
        "service.retry_secs": "a.yaml:5:3",
        "service.url": "--service-url",
        "workers": "a.yaml:1:1",
    }


def test_an_empty_variable_is_not_set(tmp_path: Path) -> None:
    assert settings(tmp_path, "workers: 3\n", {"ATTRIBUTION_WORKERS": ""})[0].workers == 3


def test_lists_and_documents_stand_in_one_text(tmp_path: Path) -> None:
    environ = {"ATTRIBUTION_NAMES": "['a,b', c]", "ATTRIBUTION_LINES": '[{"text": "x: y"}]'}
    loaded, _ = settings(tmp_path, None, environ)
    assert (loaded.names, loaded.lines) == (("a,b", "c"), (Line(text="x: y"),))


def test_a_section_is_there_when_it_is_named_or_one_of_its_keys_is_set(tmp_path: Path) -> None:
    assert settings(tmp_path, "workers: 1\n")[0].sink is None
    assert settings(tmp_path, "sink:\n")[0].sink == Sink()
    assert settings(tmp_path, None, {"ATTRIBUTION_SINK_COLOUR": "blue"})[0].sink == Sink(colour=Colour.BLUE)


def test_every_mistake_is_told_at_once_with_its_place(tmp_path: Path) -> None:
    text = "workes: 3\nservice:\n  retry_secs: -1\n"
    environ = {"ATTRIBUTION_WORKERS": "many", "ATTRIBUTION_SERVICE_URLS": "http://a", "ATTRIBUTION_LINES": "[a: b: c]"}
    assert problems(tmp_path, text, environ, sink__colour="blu", service__url="file:///a") == [
        "--service-url: D014 has a wrong `service.url`: is no http address",
        "--sink-colour: D013 has `sink.colour: blu`, which is not a known value (did you mean `blue`?)",
        "a.yaml:1:1: D011 has the unknown key `workes` (did you mean `workers`?)",
        "a.yaml:3:3: D014 has `service.retry_secs: -1`: input should be greater than or equal to 0 (how long to try)",
        "environment ATTRIBUTION_LINES: D001 is not valid YAML: did not find expected ',' or ']'",
        "environment ATTRIBUTION_SERVICE_URLS: K001 is no setting (did you mean `ATTRIBUTION_SERVICE_URL`?)",
        "environment ATTRIBUTION_WORKERS: D014 has `workers: many`: input should be a valid integer, unable to parse "
        "string as an integer (how many at once)",
    ]


def test_only_slips_of_known_variables_are_mistakes(tmp_path: Path) -> None:
    environ = {"ATTRIBUTION_DEBUG": "1", "ATTRIBUTION_PORT": "1", "ATRIBUTION_WORKERS": "1", "PATH": "/bin"}
    assert settings(tmp_path, None, environ)[1] == {}
    assert load(Settings, None, {"ATTRIBUTION_WORKER": "1"}, {}, known_elsewhere={"ATTRIBUTION_WORKER"})[1] == {}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (None, "a.yaml: K004 cannot be read: No such file or directory (check the path)"),
        ("- a\n", "a.yaml:1:1: K004 should be a mapping (write keys such as `workers: 4`)"),
        ("a: b: c\n", "a.yaml:1:5: D001 is not valid YAML: mapping values are not allowed in this context"),
        ("service: here\n", "a.yaml:1:1: K004 should have a mapping behind `service` (write its keys below it)"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_used(tmp_path: Path, text: str | None, told: str) -> None:
    if text is not None:
        (tmp_path / "a.yaml").write_text(text)
    with pytest.raises(ConfigurationError) as caught:
        load(Settings, tmp_path / "a.yaml", {}, {})
    assert str(caught.value).replace(f"{tmp_path}/", "") == told


# --- secrets ----------------------------------------------------------------------------------------------------------


def test_a_secret_comes_from_the_environment_or_from_its_file(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("s3cret\n")
    by_variable, origins = settings(tmp_path, None, {"ATTRIBUTION_SERVICE_TOKEN": "t0ken"})
    assert by_variable.service.token is not None and by_variable.service.token.get_secret_value() == "t0ken"
    assert origins == {"service.token": "environment ATTRIBUTION_SERVICE_TOKEN"}
    by_file, origins = settings(tmp_path, f"service:\n  token_file: {file}\n")
    assert by_file.service.token is not None and by_file.service.token.get_secret_value() == "s3cret"
    assert origins == {"service.token": "a.yaml:2:3"}
    by_flag, origins = settings(tmp_path, None, {}, service__token_file=str(file))
    assert by_flag.service.token == by_file.service.token and origins == {"service.token": "--service-token-file"}


def test_a_secret_does_not_stand_in_a_file_or_on_a_command_line(tmp_path: Path) -> None:
    text = "service:\n  token: s3cret\nsink:\n  url: postgresql://me:pass@host/db\n"
    told = problems(tmp_path, text)
    assert told == [
        "a.yaml:2:3: K002 holds the secret `service.token` (set ATTRIBUTION_SERVICE_TOKEN, or name a file with "
        "`service.token_file`)",
        "a.yaml:4:3: K002 has a password or token in `sink.url` (set ATTRIBUTION_SINK_URL, or name a file with "
        "`sink.url_file`)",
    ]
    assert problems(tmp_path, None, {}, sink__url="postgresql://me:pass@host/db") == [
        "--sink-url: K002 has a password or token in `sink.url` (set ATTRIBUTION_SINK_URL, or name a file with "
        "--sink-url-file)"
    ]
    assert settings(tmp_path, "sink:\n  url: postgresql://me@host/db\n")[0].sink is not None


@pytest.mark.parametrize(("content", "why"), [(None, "which cannot be read: No such file"), ("\n", "which is empty")])
def test_a_secrets_file_that_cannot_be_used(tmp_path: Path, content: str | None, why: str) -> None:
    if content is not None:
        (tmp_path / "token").write_text(content)
    (told,) = problems(tmp_path, None, {"ATTRIBUTION_SERVICE_TOKEN_FILE": str(tmp_path / "token")})
    assert told.startswith("environment ATTRIBUTION_SERVICE_TOKEN_FILE: K003 names `token`, ") and why in told


def test_a_wrong_value_that_is_a_secret_is_not_repeated(tmp_path: Path) -> None:
    (told,) = problems(tmp_path, None, {"ATTRIBUTION_SINK_URL": "postgresql://me:hush@host/" + "x" * 80})
    assert told == "environment ATTRIBUTION_SINK_URL: D014 has a wrong `sink.url` (which store)"


def test_a_token_in_an_address_is_refused_where_a_password_is(tmp_path: Path) -> None:
    (told,) = problems(tmp_path, "sink:\n  url: https://h/hook?v=1&token=hush\n")
    assert told.startswith("a.yaml:2:3: K002 has a password or token in `sink.url` (") and "hush" not in told
    environ = {"ATTRIBUTION_SINK_URL": "https://h/hook?v=1&token=hush"}
    shown = "\n".join(show(*settings(tmp_path, "", environ)))
    assert "https://h/hook?v=1&token=***" in shown and "hush" not in shown


def test_what_is_shown_holds_no_secret(tmp_path: Path) -> None:
    environ = {"ATTRIBUTION_SERVICE_TOKEN": "t0ken", "ATTRIBUTION_SINK_URL": "postgresql://me:hush@host/db"}
    shown = "\n".join(show(*settings(tmp_path, "names: [a, b]\n", environ)))
    assert "t0ken" not in shown and "hush" not in shown
    assert shown.splitlines()[0].split() == ["workers", "2", "default"]
    assert "names               a, b" in shown and "postgresql://me:***@host/db" in shown


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("postgresql://u:p@h/d?x=1", "postgresql://u:***@h/d?x=1"),
        ("postgresql://u:p@ss/w:rd#?@h:5432/d", "postgresql://u:***@h:5432/d"),
        ("postgresql://u@h/d?sslmode=require&password=p", "postgresql://u@h/d?sslmode=require&password=***"),
        ("https://h/hook?token=t&x=1", "https://h/hook?token=***&x=1"),
        ("https://h/hook?v=2&api_key=k#b", "https://h/hook?v=2&api_key=***#b"),
        ("https://h/a?X-Amz-Signature=s&accessToken=t", "https://h/a?X-Amz-Signature=***&accessToken=***"),
        ("https://h/a?key=k&sig=s&client_secret=c&code=d", "https://h/a?key=***&sig=***&client_secret=***&code=***"),
        ("https://u:p@h/a?KEY=k", "https://u:***@h/a?KEY=***"),
        ("https://h/a?monkey=m&encoding=utf-8&design=x&tenant=t", None),
        ("https://h/a?token=", None),
        ("https://ghp_tokentoken@h/x", "https://***@h/x"),
        ("https://h/a?pass=p&jwt=j", "https://h/a?pass=***&jwt=***"),
        ("https://h/a;token=t?x=1", "https://h/a;token=***"),
        ("https://h/a?t%6Fken=t", "https://h/a?t%6Fken=***"),
        ("https://h:8080/a?to=x@y.z", None),
        ("https://[::1]:8080/a?to=x@y.z", None),
        ("https://h/a?country_code=de&max_tokens=5", None),
        ("postgresql://u@h:5432/d", None),
        ("sqlite:////data/a:b@c.db", None),
        ("/data/a:b@c.db", None),
    ],
)
def test_a_secret_is_found_in_an_address(address: str, shown: str | None) -> None:
    assert without_secrets(address) == (shown or address)
    assert holds_secret(address) == (shown is not None)


# --- reference --------------------------------------------------------------------------------------------------------


def test_the_reference_has_every_setting(tmp_path: Path) -> None:
    lines = reference(Settings).splitlines()
    assert lines[2] == ("| `workers` | `ATTRIBUTION_WORKERS` | `--workers` | `2` | how many at once; whole number |")
    assert len(lines) == 2 + len(list(keys(Settings)))
    assert "| `service.token` | `ATTRIBUTION_SERVICE_TOKEN` |  |  | who asks; text |" in lines
    assert any(line.startswith("| `service.token_file` | `ATTRIBUTION_SERVICE_TOKEN_FILE` | `--") for line in lines)
    assert any("| `red` | its colour; red, blue |" in line for line in lines)
