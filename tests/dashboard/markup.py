"""A page as a tree of elements, with the promises that every page keeps."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from itertools import pairwise
from urllib.parse import urlsplit

VOID = frozenset({"meta", "link", "input", "br", "hr", "img"})
LOADS = {
    "script": "src",
    "img": "src",
    "link": "href",
    "iframe": "src",
    "object": "data",
    "form": "action",
    "a": "href",
}


@dataclass
class Element:
    """One element. `own` holds its texts in order, mixed with its children in `parts`."""

    tag: str
    attributes: dict[str, str]
    parts: list["Element | str"] = field(default_factory=list)

    def walk(self) -> Iterator["Element"]:
        """This element and all below it, in the order of the page."""
        yield self
        for part in self.parts:
            if isinstance(part, Element):
                yield from part.walk()

    def all(self, tag: str, **attributes: str) -> list["Element"]:
        """Elements below this one with a tag and attributes; `class_` asks for one of the classes."""
        return [
            item
            for item in self.walk()
            if item.tag == tag
            and all(
                value in item.attributes.get("class", "").split()
                if name == "class_"
                else item.attributes.get(name) == value
                for name, value in attributes.items()
            )
        ]

    def one(self, tag: str, **attributes: str) -> "Element":
        """The only element with a tag and attributes."""
        found = self.all(tag, **attributes)
        assert len(found) == 1, f"{len(found)} <{tag}> with {attributes}"
        return found[0]

    @property
    def text(self) -> str:
        """All text in it, with single blanks."""
        return " ".join(self.raw_text.split())

    @property
    def raw_text(self) -> str:
        """All text in it, as it stands."""
        return "".join(part if isinstance(part, str) else part.raw_text for part in self.parts)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("", {})
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"<{tag}> has an attribute twice: {names}"
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.open[-1].parts.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].tag == tag, f"</{tag}> closes <{self.open[-1].tag}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].parts.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment reached the page: {data[:60]}")


def tree(html: str) -> Element:
    """The page, every element of which is closed where it should be."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    assert reader.open == [reader.root], f"never closed: {[item.tag for item in reader.open[1:]]}"
    return reader.root


def promises(html: str) -> Element:
    """The page, after checking what holds for every page."""
    page = tree(html)
    assert html.startswith("<!doctype html>")
    assert page.one("html").attributes["lang"] == "en"
    assert page.one("head").one("title").text
    for landmark in ("main", "header", "footer"):
        page.one(landmark)
    _harmless(page)
    _outline(page)
    _tables(page)
    _named(page)
    return page


def _harmless(page: Element) -> None:
    for item in page.walk():
        assert item.tag not in {"style", "iframe", "object", "embed", "base"}, item.tag
        if item.tag == "script":
            assert item.attributes["src"].startswith("/static/") and not item.raw_text, item.attributes
        for name, value in item.attributes.items():
            assert not name.startswith("on") and name != "style", f"<{item.tag} {name}>"
            if LOADS.get(item.tag) == name:
                parts = urlsplit(value)
                assert not parts.scheme and not parts.netloc, f"<{item.tag} {name}={value!r}> leaves the origin"
                assert value.startswith(("/", "#")) and not value.startswith("//"), value
    hidden = [char for char in page.raw_text if not char.isprintable() and char != "\n"]
    assert not hidden, f"the page holds {hidden[:5]!r}"


def _outline(page: Element) -> None:
    levels = [int(item.tag[1]) for item in page.walk() if item.tag in {"h1", "h2", "h3", "h4"}]
    assert levels.count(1) == 1 and levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels)), levels
    ids = [item.attributes["id"] for item in page.walk() if "id" in item.attributes]
    assert len(ids) == len(set(ids)), "an id stands twice"
    for item in page.all("a"):
        target = item.attributes["href"]
        assert not target.startswith("#") or target[1:] in ids, f"{target} leads nowhere"
    for item in page.walk():
        for name in ("aria-labelledby", "for"):
            assert name not in item.attributes or item.attributes[name] in ids, item.attributes


def _tables(page: Element) -> None:
    for table in page.all("table"):
        assert table.one("caption").text
        heads = table.one("thead").all("th", scope="col")
        assert heads and all(head.text for head in heads)
        for row in table.one("tbody").all("tr"):
            cells = [part for part in row.parts if isinstance(part, Element)]
            assert len(cells) == len(heads), [cell.text for cell in cells]


def _named(page: Element) -> None:
    """What a reader can operate or land on has a name."""
    labels = {item.attributes["for"] for item in page.all("label")}
    for item in page.all("input"):
        assert item.attributes["type"] == "hidden" or item.attributes["id"] in labels
    for tag in ("a", "button", "summary"):
        assert all(item.text for item in page.all(tag)), f"a <{tag}> without words"
    for item in page.all("nav"):
        assert item.attributes.get("aria-label")
    for shape in (item for item in page.walk() if item.attributes.get("class") == "shape"):
        assert shape.attributes["aria-hidden"] == "true"
