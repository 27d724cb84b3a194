"""A search looks through the words of results, each of which is kept once, and through the names of their nodes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    SelectBase,
    bindparam,
    false,
    func,
    intersect,
    select,
    union_all,
)

from attribution.contracts.result import AttributionBlueprintResult
from attribution.store.columns import AnyText, shortened
from attribution.store.identity import Tenant, owned_by
from attribution.store.schema import node_names, result_nodes, result_words, results, words
from attribution.store.statements import any_of, insert_rows, portions, position, upsert

MOST_WORDS, LONGEST_WORD = 200, 160
"""Words of a result that are searched, and characters of a word; names come before what is said of the causes."""

FEW, MANY = 2_000, 20_000
"""Results that a word may lead to for a search to begin with them, and to be looked up rather than read for.

A piece of a word may be in FEW different words and names of nodes for their results to be looked up.
"""


def words_of(result: AttributionBlueprintResult) -> list[str]:
    """The words of a result that a search finds, in lower case."""
    context, diagnosis = result.context, result.diagnosis
    texts = [context.workload_id, context.name, context.user, context.cluster]
    texts += [text for cause in diagnosis.causes for text in (cause.symptom, cause.node, cause.rule, cause.meaning)]
    texts.append(diagnosis.summary)
    found = dict.fromkeys(word[:LONGEST_WORD] for text in texts if text for word in text.lower().split())
    return list(found)[:MOST_WORDS]


def asked_words(search: str | None) -> list[str]:
    """The words of a search, each once, as far as words are kept."""
    return list(dict.fromkeys(word[:LONGEST_WORD] for word in (search or "").lower().split()))


def searched(found: Iterable[str], nodes: Iterable[str]) -> str:
    """The words of a result and the names of its nodes as one text: it is read where too many results have a word."""
    return "\n".join([*found, *(shortened(name).lower() for name in nodes)])


def keep_words(connection: Connection, result_id: int, found: Sequence[str]) -> None:
    """Note the words of a result, which has none noted yet."""
    for portion in portions(sorted(found)):
        statement = upsert(connection, words).values([{"word": word} for word in portion])
        connection.execute(statement.on_conflict_do_nothing(index_elements=["word"]))
    for portion in portions(found):
        numbers = connection.execute(select(words.c.id).where(words.c.word.in_(portion))).scalars()
        insert_rows(connection, result_words, [{"result_id": result_id, "word_id": number} for number in numbers])


def keep_nodes(connection: Connection, names: Iterable[str], cluster: str) -> None:
    """Note the names of nodes of a cluster, so that they can be searched."""
    c = node_names.c
    for portion in portions(sorted(set(names))):
        held = select(c.name).where(c.name.in_(portion), c.cluster == cluster)
        known = set(connection.execute(held).scalars())
        new = [{"name": name, "cluster": cluster, "folded": name.lower()} for name in portion if name not in known]
        if new:
            statement = upsert(connection, node_names).values(new)
            connection.execute(statement.on_conflict_do_nothing(index_elements=["name", "cluster"]))


@dataclass(frozen=True, slots=True)
class Term:
    """A word that is asked for. `results` is how many have it at most, and `held` asks for their numbers.

    None where those are too many to be looked up: then the text of results is read for the word.
    """

    word: str
    results: int | None
    held: tuple[Select[tuple[int]], ...] = ()


def term(connection: Connection, word: str, tenant: Tenant, most: int) -> Term:
    """Look a word up. It may stand anywhere within a word of a result, or within the name of one of its nodes.

    More than `most` results are too many to be looked up.
    """
    asked = bindparam(None, word, type_=AnyText())
    numbers = _few(connection, select(words.c.id).where(position(words.c.word, asked) > 0), FEW)
    names = _few(connection, select(node_names.c.name).distinct().where(position(node_names.c.folded, asked) > 0), FEW)
    if numbers is None or names is None:
        return Term(word, None)
    w, n = result_words.c, result_nodes.c
    held = [select(w.result_id).where(any_of(connection, w.word_id, numbers))] if numbers else []
    if names:
        held.append(select(n.result_id).where(any_of(connection, n.node, names), *owned_by(n.tenant, tenant)))
    found = 0
    for query in held:
        number = select(func.count()).select_from(query.limit(most + 1).subquery())
        found += connection.execute(number).scalar_one()
    return Term(word, found, tuple(held)) if found <= most else Term(word, None)


def _few(connection: Connection, query: Any, most: int) -> list[Any] | None:
    """What a query finds; None if that is more than `most`."""
    found = connection.execute(query.limit(most + 1)).scalars().all()
    return list(found) if len(found) <= most else None


def have_all(terms: Iterable[Term]) -> SelectBase | None:
    """Asks for the numbers of the results that have each of the words that were looked up; None if none was."""
    each = [item.held for item in terms if item.results is not None]
    if not all(each):
        return select(results.c.id).where(false())
    found = [select(union_all(*held).subquery().c[0]) for held in each]
    return intersect(*found) if len(found) > 1 else next(iter(found), None)


def is_read_with(item: Term) -> ColumnElement[bool]:
    """The condition that a row of `results` has a word, whose text is read for it."""
    return position(results.c.search, bindparam(None, item.word, type_=AnyText(), unique=True)) > 0
