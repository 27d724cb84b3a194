import pytest
from hypothesis import given
from hypothesis import strategies as st

from attribution.events.pci import normal_pci


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0000:1B:00", "0000:1b:00"),
        ("00000000:86:00.0", "0000:86:00"),
        ("PCI:0018:01:00", "0018:01:00"),
        ("86:00.0", "0000:86:00"),
        ("00012345:01:00.0", "12345:01:00"),
        ("GPU-b6c3b2be", None),
        ("", None),
    ],
)
def test_addresses(text: str, expected: str | None) -> None:
    assert normal_pci(text) == expected


@given(st.text(max_size=40))
def test_no_text_raises_and_the_form_is_stable(text: str) -> None:
    normal = normal_pci(text)
    assert normal is None or normal_pci(normal) == normal
