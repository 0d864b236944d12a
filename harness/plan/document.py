"""YAML, as far as it can be trusted, with the line of every value.

A plan may come from a stranger, so only the plain part of YAML is read: mappings with distinct text
keys, lists, text, numbers, booleans and null. Refused by name and line: aliases (a few bytes of them
can stand for gigabytes), tags, dates, numbers that are none or do not fit in 64 bits, text that is no
Unicode, more than one document, and anything too large or too deep. Keys are text as written, because
YAML 1.1 reads the key ``on`` as true.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import yaml

from .errors import PlanError
from .held import DEPTH_MAX, wrong_with

if TYPE_CHECKING:
    from collections.abc import Mapping

BYTES_MAX: Final = 1 << 20

_TAG: Final = "tag:yaml.org,2002:"
_PLAIN_TAGS: Final = frozenset(f"{_TAG}{kind}" for kind in ("str", "int", "float", "bool", "null"))


class Document:
    """One YAML document: its value, and where in the file each path of it stands."""

    def __init__(self, value: Any, lines: Mapping[str, int], name: str) -> None:
        self.value = value
        self._lines = lines
        self._name = name

    def where(self, path: str) -> str:
        """Return ``file:line`` of a path such as ``schedule[2].until``, or of what is around it."""
        while path and path not in self._lines:
            path = path[: max(path.rfind("."), path.rfind("["), 0)]
        return f"{self._name}:{self._lines.get(path, 1)}"


def read(data: bytes, *, name: str) -> Document:
    """Read one document; raise `PlanError` naming the line."""
    if len(data) > BYTES_MAX:
        raise PlanError(
            f"the file has {len(data)} bytes; {BYTES_MAX} is the most a plan may have", where=name
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise PlanError(f"byte {error.start} is not UTF-8", where=f"{name}:{line}") from error
    reader = _Reader(name)
    try:
        _refuse_aliases(text, name)
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        value = None if node is None else reader.value(node, "")
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = name if mark is None else f"{name}:{mark.line + 1}"
        raise PlanError(f"this is not YAML: {error.problem or error.context}", where=where) from error
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise PlanError(
            f"this is not YAML: the character U+{ord(text[error.position]):04X}", where=f"{name}:{line}"
        ) from error
    except yaml.YAMLError as error:
        raise PlanError(f"this is not YAML: {' '.join(str(error).split())}", where=name) from error
    return Document(value, reader.lines, name)


def _refuse_aliases(text: str, name: str) -> None:
    """Look at the events first: a document is not even composed if it refers back or nests too deep."""
    depth = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        where = f"{name}:{_line(event.start_mark)}"
        if isinstance(event, yaml.AliasEvent):
            raise PlanError(f"the alias *{event.anchor} is not taken; write the value out", where=where)
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > DEPTH_MAX:
                raise PlanError(f"nested deeper than {DEPTH_MAX}", where=where)
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


class _Reader:
    def __init__(self, name: str) -> None:
        self.lines: dict[str, int] = {}
        self._name = name
        self._make = yaml.constructor.SafeConstructor()

    def value(self, node: yaml.Node, path: str) -> Any:
        self.lines.setdefault(path, node.start_mark.line + 1)
        match node:
            case yaml.MappingNode() if node.tag == f"{_TAG}map":
                return self._mapping(node, path)
            case yaml.SequenceNode() if node.tag == f"{_TAG}seq":
                items = enumerate(node.value)
                return [self.value(item, f"{path}[{place}]") for place, item in items]
            case yaml.ScalarNode() if node.tag in _PLAIN_TAGS:
                return self._scalar(node)
            case _:
                kind = node.tag.removeprefix(_TAG)
                raise PlanError(
                    f"a value of type {kind} is not taken; quote it to make it text",
                    where=self._at(node),
                )

    def _mapping(self, node: yaml.MappingNode, path: str) -> dict[str, Any]:
        read: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                raise PlanError("a key is a word", where=self._at(key_node))
            key = self._held(key_node.value, key_node)
            if key in read:
                raise PlanError(f"the key '{key}' comes twice", where=self._at(key_node))
            inner = f"{path}.{key}" if path else key
            self.lines[inner] = key_node.start_mark.line + 1
            read[key] = self.value(value_node, inner)
        return read

    def _scalar(self, node: yaml.ScalarNode) -> Any:
        try:
            value = self._make.construct_object(node)
        except (ValueError, OverflowError) as error:
            raise PlanError(f"'{node.value[:40]}' is no number", where=self._at(node)) from error
        return self._held(value, node)

    def _held(self, value: Any, node: yaml.ScalarNode) -> Any:
        """Return a scalar that any file can hold."""
        wrong = wrong_with(value)
        if wrong is not None:
            named = "the text" if isinstance(value, str) else f"'{node.value[:40]}'"
            raise PlanError(f"{named} {wrong}", where=self._at(node))
        return value

    def _at(self, node: yaml.Node) -> str:
        return f"{self._name}:{node.start_mark.line + 1}"


def _line(mark: Any) -> int:
    """Lines count from 1; what the parser made up itself has no mark and stands at the top."""
    return 1 if mark is None else int(mark.line) + 1
