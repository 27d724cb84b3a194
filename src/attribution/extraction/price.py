"""What a rule's literals cost on ordinary logs: every line that holds one must be looked at, and nearly all in vain."""

from collections.abc import Iterator

from attribution.contracts.errors import Problem
from attribution.contracts.vocabulary import Source
from attribution.extraction.gate import noise
from attribution.extraction.ruleset import RuleSets
from attribution.rules.model import Extractor

_LARGE = frozenset({Source.APPLOG, Source.SYSLOG})
"""Sources that are large; what reads only the others may be less choosy."""

MAX_HITS_PER_MB = 40
"""Lines per MB of ordinary logs at which a rule's literals may point: about 3 % of the scanner's time."""


def dear_literals(rules: RuleSets) -> Iterator[Problem]:
    """Rules whose literals point at too many ordinary lines (R019)."""
    sample = noise()
    allowed = MAX_HITS_PER_MB * len(sample) / (1 << 20)
    for rule in rules.catalog.extractors:
        if _LARGE.isdisjoint(rule.sources):
            continue
        count, common = hits(rules, rule, sample)
        if count > allowed:
            number = next(n for n, literal in enumerate(rule.literals) if common.lower() in literal.lower())
            message = (
                f"has the literal `{rule.literals[number]}`, with which its literals stand in "
                f"{count * (1 << 20) // len(sample)} lines of each MB of ordinary logs"
            )
            remedy = f"choose a rarer one; {MAX_HITS_PER_MB} lines are allowed"
            yield Problem(rule.info.at("extract", "literals", number), "R019", message, remedy)


def hits(rules: RuleSets, rule: Extractor, sample: bytes) -> tuple[int, str]:
    """How many lines of the sample a rule's cuts point at, and the commonest cut."""
    rule_set = rules[rule.sources[0]]
    number = rule_set.rules.index(rule)
    own = [cut for cut in rule_set.cuts if number in cut.rules]
    folded = sample.lower()
    counts = {cut.text: folded.count(cut.text.lower()) if cut.ignore_case else sample.count(cut.text) for cut in own}
    common = max(counts, key=lambda cut: (counts[cut], cut), default=b"")
    return sum(counts.values()), common.decode("utf-8", "replace")
