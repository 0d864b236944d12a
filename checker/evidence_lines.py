"""Evidence files: bytes to lines, and back.

A file is one header line and then one `EvidenceLine` a line, as JSON, appended as things happen. A
node that is killed leaves a torn tail; when it boots again it goes on in the same file, with a header
of its own. So a broken piece is forgiven in two places and nowhere else: at the very end of the file,
where no newline follows it, and right before (or glued to) a header or a boot. Both are noted.
Anything else broken is refused with the line's number: an oracle that overlooks a revocation would
accuse the innocent. Several files together are `gather`ed: each is of the node that it is named after,
and a node that left none is missed by name, for what it did nobody knows.

Stamps must not go backwards: CLOCK_MONOTONIC_RAW never does, and one thread writes a file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NoReturn

import msgspec

from checker.errors import CheckerError
from checker.evidence import EVIDENCE_SCHEMA, Booted, EvidenceLine

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

EVIDENCE_KIND: Final = "lantern-evidence"


class MalformedEvidence(CheckerError):  # noqa: N818 - named as MalformedHistory is
    """A line of an evidence file cannot be what it claims to be; ``line`` counts from 1."""

    def __init__(self, sentence: str, *, name: str, line: int) -> None:
        self.sentence = sentence
        self.name = name
        self.line = line
        super().__init__(f"{name}:{line}: {sentence}")

    def __reduce__(self) -> tuple[object, ...]:
        return _malformed, (self.sentence, self.name, self.line)


def _malformed(sentence: str, name: str, line: int) -> MalformedEvidence:
    """Rebuild one that crossed from a worker process."""
    return MalformedEvidence(sentence, name=name, line=line)


class EvidenceHeader(msgspec.Struct, frozen=True, kw_only=True):
    """The first line of an evidence file, and of every boot after the first."""

    schema: int
    kind: str
    node: str


class EvidenceFile(msgspec.Struct, frozen=True):
    """What a file held. ``notes`` are sentences about what was torn off."""

    node: str
    lines: tuple[EvidenceLine, ...]
    notes: tuple[str, ...] = ()


class Gathered(msgspec.Struct, frozen=True):
    """What the nodes of a run left; ``missing`` are those that left nothing while others did."""

    lines: tuple[EvidenceLine, ...]
    notes: tuple[str, ...]
    missing: tuple[str, ...]


_ENCODER: Final = msgspec.json.Encoder()
_LINES: Final = msgspec.json.Decoder(EvidenceLine)
_HEADERS: Final = msgspec.json.Decoder(EvidenceHeader)
_STARTS: Final = (b'{"schema":', b'{"node":')
_BROKEN: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


def header(node: str) -> bytes:
    """Return what a node appends first whenever it boots."""
    head = EvidenceHeader(schema=EVIDENCE_SCHEMA, kind=EVIDENCE_KIND, node=node)
    return _ENCODER.encode(head) + b"\n"


def encode(lines: Sequence[EvidenceLine]) -> bytes:
    """Return lines as bytes to append, each ended by a newline."""
    return _ENCODER.encode_lines(lines)


def read(data: bytes, name: str = "evidence") -> tuple[EvidenceLine, ...]:
    """Return the lines of a file; see `load`."""
    return load(data, name).lines


def load(data: bytes, name: str = "evidence") -> EvidenceFile:
    """Return what a file holds, raising `MalformedEvidence` for anything but a torn piece."""
    reader = _Reader(name)
    for number, piece in enumerate(data.split(b"\n"), start=1):
        if piece:
            reader.take(piece, number)
    return reader.end(whole=data.endswith(b"\n"))


def gather(files: Mapping[str, bytes], *, nodes: Iterable[str], where: str = "") -> Gathered:
    """Return what the files of a run hold together; their keys are the nodes they are named after."""
    lines: list[EvidenceLine] = []
    notes: list[str] = []
    for node, data in files.items():
        name = f"{where}{node}.jsonl"
        file = load(data, name)
        if file.node != node:
            raise MalformedEvidence(f"this is evidence of {file.node!r}", name=name, line=1)
        lines += file.lines
        notes += file.notes
    known = tuple(nodes)
    notes += [f"{where}{node}.jsonl: the plan has no such node" for node in files if node not in known]
    missing = tuple(node for node in known if node not in files) if files else ()
    return Gathered(tuple(lines), tuple(notes), missing)


def missed(nodes: Sequence[str]) -> str:
    """Return the sentence for nodes whose evidence is missing."""
    return f"{', '.join(nodes)} left no evidence: what happened there is not known"


class _Reader:
    """Reads a line at a time; ``torn`` is a broken line that nothing has excused yet."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.node: str | None = None
        self.lines: list[EvidenceLine] = []
        self.notes: list[str] = []
        self.torn: tuple[int, str] | None = None
        self.last_ns = (-1, -1)

    def take(self, piece: bytes, number: int) -> None:
        """Read one line that is not blank."""
        try:
            line = _LINES.decode(piece)
        except _BROKEN as error:
            self._take_other(piece, number, str(error) or type(error).__name__)
            return
        if self.torn is not None:
            if not isinstance(line.what, Booted):
                self._refuse(*self.torn)
            self._excuse("before a boot")
        self._append(line, number)

    def end(self, *, whole: bool) -> EvidenceFile:
        """Return what was read, the last piece excused if it is torn: a ``whole`` line is not."""
        if self.torn is not None and whole:
            self._refuse(*self.torn)
        if self.torn is not None and self.node is not None:
            self._excuse("at the end")
        if self.node is None:
            self._refuse(1, "there is no header line: the file is empty, or is no evidence file")
        return EvidenceFile(self.node, tuple(self.lines), tuple(self.notes))

    def _take_other(self, piece: bytes, number: int, why: str) -> None:
        """Take a line that holds no fact: a header, the end of a torn line with one, or a torn line."""
        whole = _header(piece)
        found = whole or _glued(piece)
        if found is None or whole is None:
            if self.torn is not None or self.node is None:
                self._refuse(*(self.torn or (number, f"this is no evidence: {why}")))
            self.torn = (number, f"this is neither evidence nor the torn end of a boot: {why}")
        if found is None:
            return
        if self.torn is not None:
            self._excuse("before a boot")
        if isinstance(found, EvidenceHeader):
            self._open(found, number)
        else:
            self._append(found, number)

    def _open(self, head: EvidenceHeader, number: int) -> None:
        if head.kind != EVIDENCE_KIND:
            self._refuse(number, f"this is a file of kind {head.kind!r}, not {EVIDENCE_KIND!r}")
        if head.schema != EVIDENCE_SCHEMA:
            self._refuse(
                number, f"evidence schema {head.schema} is unknown here; {EVIDENCE_SCHEMA} is known"
            )
        if self.node not in (None, head.node):
            self._refuse(number, f"the file of {self.node!r} goes on as {head.node!r}")
        self.node = head.node

    def _append(self, line: EvidenceLine, number: int) -> None:
        before_ns, after_ns = line.true_ns
        if self.node is None:
            self._refuse(number, "the first line is no header")
        if line.node != self.node:
            self._refuse(number, f"a line of {line.node!r} in the file of {self.node!r}")
        if before_ns > after_ns or before_ns < self.last_ns[0] or after_ns < self.last_ns[1]:
            self._refuse(number, f"the true clock goes back, from {self.last_ns} to {line.true_ns}")
        self.last_ns = line.true_ns
        self.lines.append(line)

    def _excuse(self, where: str) -> None:
        assert self.torn is not None
        self.notes.append(f"{self.name}: line {self.torn[0]} is torn {where} and was left out")
        self.torn = None

    def _refuse(self, number: int, sentence: str) -> NoReturn:
        raise MalformedEvidence(sentence, name=self.name, line=number)


def _header(piece: bytes) -> EvidenceHeader | None:
    try:
        return _HEADERS.decode(piece)
    except _BROKEN:
        return None


def _glued(piece: bytes) -> EvidenceHeader | EvidenceLine | None:
    """Return the header or boot that a torn line ends in."""
    for mark in _STARTS:
        start = piece.rfind(mark)
        if start <= 0:
            continue
        if (head := _header(piece[start:])) is not None:
            return head
        try:
            line = _LINES.decode(piece[start:])
        except _BROKEN:
            continue
        if isinstance(line.what, Booted):
            return line
    return None
