"""A manual as a page shows it: the sections of `attribution explain`, with names that lead to their own pages."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from attribution.contracts.exchange import CatalogSnapshot
from attribution.dashboard.views import links
from attribution.presentation.manual import Manual, Names, Paragraph, Section

Href = Callable[[str], str]
"""The address of the page of a name; empty for a name without one."""


@dataclass(frozen=True, slots=True)
class NameView:
    """A name, what it means, and where it leads."""

    name: str
    text: str
    href: str


@dataclass(frozen=True, slots=True)
class SectionView:
    """A paragraph (`text`), any of several texts (`quoted`), names (`names`) or lines as they stand (`lines`)."""

    heading: str
    text: str = ""
    quoted: tuple[str, ...] = ()
    names: tuple[NameView, ...] = ()
    more: int = 0
    lines: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ManualView:
    """What it is called, what kind of thing it is, what it says of itself first, and the rest."""

    name: str
    kind: str
    lead: str
    sections: tuple[SectionView, ...]


def hrefs(catalog: CatalogSnapshot, digest: str | None) -> Href:
    """Where the names of a catalog lead. `digest` is given for a catalog that is not the newest."""
    rules = {rule.id for rule in catalog.rules}
    symptoms = {symptom.name for symptom in catalog.symptoms}

    def href(name: str) -> str:
        if name in rules:
            return links.rule(name, digest)
        return links.symptom(name, digest) if name in symptoms else ""

    return href


def manual_view(told: Manual, href: Href) -> ManualView:
    """A manual for the page; its first paragraph stands apart."""
    first = told.sections[0] if told.sections else None
    if isinstance(first, Paragraph) and not first.heading:
        return ManualView(told.name, told.kind, first.text, tuple(_sections(told.sections[1:], href)))
    return ManualView(told.name, told.kind, "", tuple(_sections(told.sections, href)))


def _sections(sections: tuple[Section, ...], href: Href) -> Iterator[SectionView]:
    for section in sections:
        if isinstance(section, Paragraph):
            yield SectionView(section.heading, text="" if section.quoted else section.text, quoted=section.quoted)
        elif isinstance(section, Names):
            names = tuple(NameView(name, text, href(name)) for name, text in section.rows)
            yield SectionView(section.heading, names=names, more=section.more)
        else:
            yield SectionView(section.heading.removesuffix(":"), lines=section.lines, notes=section.notes)
