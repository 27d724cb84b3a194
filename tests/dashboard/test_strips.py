"""Metric strips draw the samples over the time of the timeline, and a table says the same."""

from datetime import timedelta

from attribution.contracts.diagnosis import Sample
from attribution.contracts.result import AttributionBlueprintResult
from attribution.dashboard import rendering
from attribution.dashboard.views.diagnosis import diagnosis_view
from attribution.dashboard.views.scale import Scale
from attribution.dashboard.views.strips import SHOWN_SAMPLES, SHOWN_STRIPS, Strip, strips

from tests.dashboard.conftest import result_of
from tests.dashboard.markup import promises
from tests.presentation import builders
from tests.presentation.builders import START, at

KEY = "0" * 32
TEXT = 'DCGM_FI_DEV_GPU_TEMP{gpu="4",Hostname="node-02"} 91'
SCALE = Scale(START, START + timedelta(seconds=100))


def sampled(*values: float | None, text: str = TEXT, step: float = 10) -> AttributionBlueprintResult:
    """A result whose one piece of evidence has these samples."""
    samples = tuple(Sample(at=at(n * step), value=value) for n, value in enumerate(values))
    line = builders.metric().evidence[0].model_copy(update={"text": text, "samples": samples})
    return result_of(builders.metric().model_copy(update={"evidence": (line,)}))


def strip(result: AttributionBlueprintResult, scale: Scale = SCALE) -> Strip:
    ((found,), more) = strips(result, scale, lambda item: f"/{item}")
    assert more == 0
    return found


def test_samples_stand_at_their_time_between_the_lowest_and_the_highest_value() -> None:
    found = strip(sampled(50, 75, 100))
    assert found.lines == ("0.00,100.00 10.00,50.00 20.00,0.00",)
    assert (found.low, found.high, found.href) == ("50", "100", "/e1")
    assert (found.name, found.labels) == ("DCGM_FI_DEV_GPU_TEMP", "gpu=4, Hostname=node-02")
    assert found.times.split(",")[0] == f"{START.timestamp():.3f}" and found.values == "50.0,75.0,100.0"


def test_a_gap_breaks_the_line_and_a_sample_alone_is_a_dot() -> None:
    found = strip(sampled(1, 2, None, 2, None, 1, 1))
    assert len(found.lines) == 2 and found.dots == ((30.0, 0.0),)
    assert found.values == "1.0,2.0,,2.0,,1.0,1.0" and found.rows[2][1] == "blank"


def test_what_never_changes_lies_in_the_middle() -> None:
    assert strip(sampled(7, 7)).lines == ("0.00,50.00 10.00,50.00",)
    assert strip(sampled(None, None)).lines == ()


def test_samples_outside_of_the_drawing_are_counted_and_many_are_thinned_evenly() -> None:
    assert strip(sampled(*range(15))).note == "4 samples outside of the drawing"
    many = strip(sampled(*range(5000), step=0.02))
    values = [float(value) for value in many.values.split(",")]
    assert len(values) == SHOWN_SAMPLES and values[0] == 0 and values[-1] == 4999


def test_more_metrics_than_room_are_counted() -> None:
    result = sampled(1, 2)
    lines = tuple(result.diagnosis.evidence[0].model_copy(update={"id": f"m{n}"}) for n in range(SHOWN_STRIPS + 3))
    many = result.model_copy(update={"diagnosis": result.diagnosis.model_copy(update={"evidence": lines})})
    found, more = strips(many, SCALE, str)
    assert (len(found), more) == (SHOWN_STRIPS, 3)


def test_a_page_with_metrics_loads_the_chart_and_shows_all_without_it() -> None:
    page = promises(rendering.page("diagnosis.html", view=diagnosis_view(sampled(50, None, 100), KEY)))
    scripts = {item.attributes["src"] for item in page.all("script")}
    assert "/static/strips.js" in scripts
    lane = page.one("li", class_="strip")
    assert lane.attributes["data-values"] == "50.0,,100.0"
    assert float(lane.attributes["data-start"]) < START.timestamp() < float(lane.attributes["data-end"])
    assert [row.all("td")[1].text for row in lane.one("tbody").all("tr")] == ["50", "blank", "100"]
    plain = promises(rendering.page("diagnosis.html", view=diagnosis_view(result_of(builders.single()), KEY)))
    assert "/static/strips.js" not in {item.attributes["src"] for item in plain.all("script")}


def test_a_hostile_metric_stays_small_and_inert() -> None:
    evil = 'x{a="<script>' + "\u202e" * 500_000 + '"} 1'
    html = rendering.page("diagnosis.html", view=diagnosis_view(sampled(1, 2, text=evil), KEY))
    page = promises(html)
    assert "<script>" not in html.replace('<script type="module"', "") and len(html) < 200_000
    assert page.one("li", class_="strip").one("a").text == "x"
