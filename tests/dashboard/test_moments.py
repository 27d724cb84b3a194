"""Moments are written in UTC, whatever zone they come in, and never rounded up."""

from datetime import datetime, timedelta, timezone

from attribution.dashboard.views import moments

AT = datetime(2026, 5, 4, 5, 6, 59, 999_999, tzinfo=timezone(timedelta(hours=2)))


def test_a_moment_is_written_in_utc() -> None:
    assert moments.instant(AT) == "2026-05-04T03:06:59+00:00"
    assert moments.second(AT) == "2026-05-04 03:06:59"
    assert moments.minute(AT) == "2026-05-04 03:06"
