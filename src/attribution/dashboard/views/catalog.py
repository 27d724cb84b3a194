"""Lists of rules and of symptoms, and what their pages say of where they were seen."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from attribution.contracts.exchange import CatalogSnapshot, RuleDescription, SymptomDescription
from attribution.contracts.vocabulary import Role, SubDomain, TerminalState
from attribution.dashboard.views import links, moments, states
from attribution.dashboard.views.states import Badge
from attribution.dashboard.views.weeks import Strip, begin, strip
from attribution.presentation import words
from attribution.presentation.columns import clip
from attribution.store.catalogs import KeptCatalog
from attribution.store.mentions import MOST, Mentions, Often

SUMMARY_COLUMNS, NAME_COLUMNS = 200, 60

ROLES = {Role.CAUSE: "may be a cause", Role.EFFECT: "only ever an effect", Role.CONTEXT: "informs, blames nothing"}


@dataclass(frozen=True, slots=True)
class Choice:
    """A value of a key with how many there are, and the address that chooses it, or no longer does."""

    word: str
    count: str
    href: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class CatalogChoice:
    """A catalog, since when it is known, and the address of this page in its words."""

    version: str
    digest: str
    since: str
    href: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class NamedRow:
    """A rule or a symptom of a list."""

    name: str
    href: str
    about: str
    text: str
    attempts: str


@dataclass(frozen=True, slots=True)
class NamedGroup:
    """Rows that belong together."""

    id: str
    title: str
    rows: tuple[NamedRow, ...]


@dataclass(frozen=True, slots=True)
class SeenRow:
    """An attempt in which it was seen."""

    href: str
    attempt: str
    instant: str
    at: str
    badge: Badge
    text: str


@dataclass(frozen=True, slots=True)
class SeenView:
    """Where a rule or symptom was seen. `bound` says what the numbers leave out, empty for nothing."""

    since: str
    strip: Strip
    total: str
    bound: str
    rows: tuple[SeenRow, ...]


def catalog_choices(kept: Sequence[KeptCatalog], digest: str, path: str) -> tuple[CatalogChoice, ...]:
    """Every catalog that is known, the newest first, which needs no key."""
    return tuple(
        CatalogChoice(
            version=item.version,
            digest=item.digest,
            since=_day(item.first_seen_at),
            href=links.with_query(path, catalog=item.digest if place else None),
            chosen=item.digest == digest,
        )
        for place, item in enumerate(kept)
    )


def _day(at: datetime) -> str:
    return at.astimezone(UTC).date().isoformat()


# --- rules --------------------------------------------------------------------------------------------------------


def matching_rules(catalog: CatalogSnapshot, q: str, kind: str) -> tuple[RuleDescription, ...]:
    """The rules of a kind that hold all words of a search in id, name, summary or what they emit."""
    return tuple(
        rule
        for rule in catalog.rules
        if (not kind or rule.kind == kind) and _holds(q, rule.id, rule.name, rule.summary, *rule.emits)
    )


def _holds(q: str, *texts: str) -> bool:
    searched = "\n".join(texts).lower()
    return all(word in searched for word in q.lower().split())


def rule_groups(rules: Iterable[RuleDescription], often: Often, digest: str | None) -> tuple[NamedGroup, ...]:
    """Rules by family, which the letters of their ids name."""
    families: dict[str, list[NamedRow]] = {}
    for rule in rules:
        mark = "" if rule.status == "stable" else f" · {rule.status}"
        row = NamedRow(
            name=rule.id,
            href=links.rule(rule.id, digest),
            about=clip(f"{rule.name} · {rule.kind}{mark}", SUMMARY_COLUMNS),
            text=clip(rule.summary, SUMMARY_COLUMNS),
            attempts=_often(often, rule.id),
        )
        families.setdefault(rule.id.rstrip("0123456789") or rule.id, []).append(row)
    return tuple(NamedGroup(f"family-{number}", name, tuple(rows)) for number, (name, rows) in _numbered(families))


def _numbered(groups: dict[str, list[NamedRow]]) -> Iterable[tuple[int, tuple[str, list[NamedRow]]]]:
    return enumerate(groups.items(), 1)


def _often(often: Often, name: str) -> str:
    found = often.results.get(name, 0)
    return f"{found:,}" if found else "–"


def kind_choices(catalog: CatalogSnapshot, q: str, kind: str, digest: str | None) -> tuple[Choice, ...]:
    """The kinds of rules with how many match."""
    counts: dict[str, int] = {}
    for rule in matching_rules(catalog, q, ""):
        counts[rule.kind] = counts.get(rule.kind, 0) + 1
    return tuple(
        Choice(
            word=name,
            count=f"{counts[name]:,}",
            href=links.with_query(links.RULES, q=q, kind=None if name == kind else name, catalog=digest),
            chosen=name == kind,
        )
        for name in sorted(counts)
    )


# --- symptoms -----------------------------------------------------------------------------------------------------


def matching_symptoms(catalog: CatalogSnapshot, q: str, role: str, sub_domain: str) -> tuple[SymptomDescription, ...]:
    """The symptoms of a role and sub_domain that hold all words of a search in name or meaning."""
    return tuple(
        item
        for item in catalog.symptoms
        if (not role or item.role.value == role)
        and (not sub_domain or (item.sub_domain is not None and item.sub_domain.value == sub_domain))
        and _holds(q, item.name, item.meaning, *item.tags)
    )


def symptom_groups(symptoms: Iterable[SymptomDescription], often: Often, digest: str | None) -> tuple[NamedGroup, ...]:
    """Causes by where they lie, then effects and context."""
    groups: dict[str, list[NamedRow]] = {}
    named = {item.name: item for item in symptoms}
    for item in sorted((named[name] for name in words.natural(named)), key=_place):
        title = words.sentence(words.SUB_DOMAINS[item.sub_domain] if item.sub_domain else ROLES[item.role])
        row = NamedRow(
            name=item.name,
            href=links.symptom(item.name, digest),
            about="" if item.role is Role.CAUSE else ROLES[item.role],
            text=clip(words.sentence(item.meaning), SUMMARY_COLUMNS),
            attempts=_often(often, item.name),
        )
        groups.setdefault(title, []).append(row)
    return tuple(NamedGroup(f"group-{number}", title, tuple(rows)) for number, (title, rows) in _numbered(groups))


def _place(item: SymptomDescription) -> tuple[int, int]:
    where = list(SubDomain).index(item.sub_domain) if item.sub_domain else len(SubDomain)
    return where, list(Role).index(item.role)


def role_choices(
    catalog: CatalogSnapshot, q: str, role: str, sub_domain: str, digest: str | None
) -> tuple[Choice, ...]:
    """The roles with how many symptoms match."""
    found = matching_symptoms(catalog, q, "", sub_domain)
    return tuple(
        Choice(
            word=ROLES[item],
            count=f"{sum(symptom.role is item for symptom in found):,}",
            href=links.with_query(
                links.SYMPTOMS, q=q, role=None if item == role else item.value, sub_domain=sub_domain, catalog=digest
            ),
            chosen=item == role,
        )
        for item in Role
    )


# --- where it was seen --------------------------------------------------------------------------------------------


def seen_view(found: Mentions, now: datetime) -> SeenView:
    """Attempts by week, and the newest of them."""
    drawn = strip(found.times, now)
    return SeenView(
        since=_day(begin(now)),
        strip=drawn,
        total=words.counted(drawn.total, "attempt"),
        bound=f"among the {MOST:,} attempts that were written last with it" if found.bounded else "",
        rows=tuple(
            SeenRow(
                href=links.attempt(item.key),
                attempt=f"{clip(item.workload_id, NAME_COLUMNS)}, attempt {item.attempt}",
                instant=moments.instant(item.at),
                at=moments.second(item.at),
                badge=states.state(TerminalState(item.terminal_state)),
                text=clip(item.summary, SUMMARY_COLUMNS),
            )
            for item in found.newest
        ),
    )
