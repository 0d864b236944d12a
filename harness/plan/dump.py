"""From a plan to ``plan.yaml``: every field, so that the file runs the same again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import yaml

if TYPE_CHECKING:
    from .plan import Plan


def dump(plan: Plan) -> bytes:
    """Return the plan as YAML in plain ASCII, keys in the order of the fields."""
    return to_yaml(plan)


def to_yaml(value: Any) -> bytes:
    """Return any value made of Structs and plain data as YAML without aliases."""
    plain = msgspec.to_builtins(value)
    text = yaml.dump(plain, Dumper=_Plain, sort_keys=False, allow_unicode=False, width=100)
    return text.encode("ascii")


class _Plain(yaml.SafeDumper):
    """A value that occurs twice is written twice: our own reader takes no aliases."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - the signature is PyYAML's
        return True
