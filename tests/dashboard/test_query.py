"""The address of a list says what is asked; what it cannot mean is told with the key and a remedy."""

from datetime import UTC, datetime
from urllib.parse import parse_qsl, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attribution.dashboard.views.keys import BadQuery
from attribution.dashboard.views.query import DEFAULT_LIMIT, KEYS, Query, read
from attribution.store.queries import PageRequest, ResultFilters

NOW = datetime(2026, 5, 4, 12, 30, tzinfo=UTC)


def problem(*pairs: tuple[str, str]) -> str:
    """What is wrong, as one line a problem."""
    with pytest.raises(BadQuery) as caught:
        read(pairs, NOW)
    return "\n".join(f"{item.place}: {item.message} ({item.remedy})" for item in caught.value.items)


def test_an_empty_address_asks_for_everything() -> None:
    asked = read([], NOW)
    assert asked.query == Query() and asked.query.address("/attempts") == "/attempts"
    assert asked.filters == ResultFilters() and asked.page == PageRequest(DEFAULT_LIMIT)


def test_values_are_read() -> None:
    asked = read([("terminal_state", "failed"), ("sub_domain", "storage"), ("limit", "7"), ("q", " x ")], NOW)
    assert asked.filters == ResultFilters(terminal_state="failed", sub_domain="storage", search="x")
    assert asked.page == PageRequest(7)


@pytest.mark.parametrize(
    ("since", "moment"),
    [
        ("24h", "2026-05-03T12:30:00+00:00"),
        ("7d", "2026-04-27T12:30:00+00:00"),
        ("2026-05-01", "2026-05-01T00:00:00+00:00"),
        ("2026-05-01 03:00", "2026-05-01T03:00:00+00:00"),
        ("2026-05-01T03:00:00+02:00", "2026-05-01T01:00:00+00:00"),
    ],
)
def test_a_time_is_absolute_or_a_span_before_now(since: str, moment: str) -> None:
    asked = read([("since", since)], NOW)
    assert asked.filters.since is not None and asked.filters.since.isoformat() == moment


def test_a_form_whose_node_was_emptied_asks_for_no_role() -> None:
    asked = read([("node", ""), ("node_role", "affected")], NOW)
    assert asked.query == Query() and asked.filters == ResultFilters()


def test_a_date_as_the_end_takes_in_its_day() -> None:
    asked = read([("since", "2026-05-01"), ("until", "2026-05-01")], NOW)
    assert asked.filters.until == datetime(2026, 5, 2, tzinfo=UTC)


@pytest.mark.parametrize(
    ("pairs", "told"),
    [
        ([("terminal_state", "faild")], "?terminal_state: `terminal_state` cannot be `faild` (did you mean `failed`?)"),
        ([("subdomain", "x")], "?subdomain: `subdomain` is not a key of this page (did you mean `sub_domain`?)"),
        ([("node", "a"), ("node", "b")], "?node: `node` is given twice (give it once)"),
        ([("q", "x" * 201)], "?q: `q` has more than 200 characters (shorten it)"),
        ([("limit", "0")], "?limit: `limit` is no number of rows (write 1 to 200)"),
        ([("node_role", "affected")], "?node_role: `node_role` is given without `node` (name the node as well)"),
        ([("limit", "٣")], "?limit: `limit` is no number of rows (write 1 to 200)"),
        ([("since", "2026-05-02"), ("until", "2026-05-01")], "?until: `until` lies before `since` (swap the two)"),
    ],
)
def test_what_is_wrong_names_the_key_and_a_remedy(pairs: list[tuple[str, str]], told: str) -> None:
    assert problem(*pairs) == told


def test_everything_that_is_wrong_is_told_at_once() -> None:
    assert len(problem(("since", "yesterday"), ("until", "9999d"), ("sub_domain", "gpu")).splitlines()) == 2


def test_a_key_with_control_characters_is_told_visibly() -> None:
    assert "\\x1b[2J" in problem(("\x1b[2J", "x"))


@given(st.dictionaries(st.sampled_from(KEYS), st.text(max_size=40)))
def test_any_address_is_read_or_refused_and_asks_the_same_again(values: dict[str, str]) -> None:
    try:
        asked = read(list(values.items()), NOW)
    except BadQuery as error:
        assert error.items
        return
    again = parse_qsl(urlsplit(asked.query.address("/attempts")).query)
    assert read(again, NOW).query == asked.query
