"""Each rule of the algorithms, broken on purpose, must be caught by the comparison with brute force.

A mutation is a piece of source and what takes its place. The mutant module takes the place of the real
one wherever that is used, and everything is judged on thrown histories whose truth is known; a mutant
that is never caught in error would mean that the rule is not tested, or that it is not needed.
"""

from __future__ import annotations

import importlib
import random
import signal
import sys
import types
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from checker import NEVER, CasRegister, Outcome, check, direct
from checker import shares as all_keys
from checker.conventions import Ties
from checker.models import MODELS
from checker.part import Part, Share
from checker.search import brute, generic, gone, register, walk
from checker.search.numbered import numbered
from checker.shares import Shares
from checker.testing import (
    PUT_AND_TAKE,
    crowded,
    denied,
    drawn,
    merged,
    put_once,
    spelled,
    starved,
    thrown,
)
from checker.zones import decide as zones
from checker.zones import many, witness
from checker.zones.lower import sided

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

    from checker import History

pytestmark = pytest.mark.timeout(300)


class Mutation(NamedTuple):
    rule: str
    module: str
    was: str
    becomes: str


class Known(NamedTuple):
    """A history of one key, and whether some order fits it."""

    history: History
    share: Share
    part: Part
    truth: bool

    def in_part(self, order: list[int]) -> list[int]:
        """Return positions in the part for those in the columns, which leave out a little less."""
        _, positions = self.share.lowered()
        place = {op.index: i for i, op in enumerate(self.part.operations)}
        return [place[positions[i]] for i in order]


MUTATIONS = [
    Mutation(
        "a cas to the same value reads",
        "checker.zones.lower",
        "Code.READ if codes[i] == Code.CAS else Code.NOTHING",
        "Code.NOTHING",
    ),
    Mutation(
        "a value is written once",
        "checker.zones.clusters",
        "or lowered.start in where",
        "",
    ),
    Mutation(
        "uniqueness counts every writer",
        "checker.zones.clusters",
        "if len(where) < len(written) or",
        "if len(where) < len(written) - 1 or",
    ),
    Mutation(
        "nobody reads before the writer",
        "checker.zones.decide",
        "if any(map(lt, read_return, write_call)):",
        "if False:",
    ),
    Mutation(
        "f is the earliest return",
        "checker.zones.decide",
        "list(map(min, clusters.write_return",
        "list(map(max, clusters.write_return",
    ),
    Mutation(
        "s is the latest call",
        "checker.zones.decide",
        "if call > last[cluster]:",
        "if call < last[cluster]:",
    ),
    Mutation(
        "blocks must not cross",
        "checker.zones.decide",
        "if not any(map(lt, returns, tops)):",
        "if True:",
    ),
    Mutation(
        "backward zones sort first",
        "checker.zones.decide",
        "[f + f + 1 if f < s else s + s for",
        "[f + f if f < s else s + s + 1 for",
    ),
    Mutation(
        "zones sort by their lesser stamp",
        "checker.zones.decide",
        "[f + f + 1 if f < s else s + s for",
        "[f + f + 1 for",
    ),
    Mutation(
        "two cas cannot take one value",
        "checker.zones.decide",
        "if before in follower:",
        "if False:",
    ),
    Mutation(
        "cas chains begin somewhere",
        "checker.zones.decide",
        "if linked < len(follower):",
        "if False:",
    ),
    Mutation(
        "what a cas took has happened",
        "checker.zones.decide",
        "dead.remove(before)",
        "pass",
    ),
    Mutation(
        "a chain keeps its order",
        "checker.zones.decide",
        "if clusters.write_return[cluster] < latest or",
        "if",
    ),
    Mutation(
        "a chain's stamps are all its members'",
        "checker.zones.decide",
        "earliest = min(earliest, first[cluster])",
        "pass",
    ),
    Mutation(
        "failed cas are looked at",
        "checker.zones.decide",
        "if failed and not settle(blocks, failed, arrange):",
        "if False:",
    ),
    Mutation(
        "before means before every return",
        "checker.zones.sides",
        "begins(each.cluster) >= each.call",
        "begins(each.cluster) < each.call",
    ),
    Mutation(
        "after means after every call",
        "checker.zones.sides",
        "ends(each.cluster) <= each.back",
        "ends(each.cluster) < each.back - 2",
    ),
    Mutation(
        "after needs something in between",
        "checker.zones.sides",
        "if each.back >= ends:",
        "if True:",
    ),
    Mutation(
        "a value is there until something else is shown",
        "checker.search.gone",
        "since = but_for_it if olds[r] == shown else latest",
        "since = latest",
    ),
    Mutation(
        "only what returned before stands between",
        "checker.search.gone",
        "while returns[x] < call:",
        "while returns[x] <= call:",
    ),
    Mutation(
        "a writer may return when what stands between is called",
        "checker.search.gone",
        "self.left[0] < since",
        "self.left[0] <= since",
    ),
    Mutation(
        "a writer may be called as its observer returns",
        "checker.search.gone",
        "<= by:",
        "< by:",
    ),
    Mutation(
        "observers share a writer while nothing stands between",
        "checker.search.gone",
        "if (call if value.took else since) > value.until:",
        "if since >= value.until:",
    ),
    Mutation(
        "the writer that is used up first returns first",
        "checker.search.gone",
        "heappop(self.left)\n        return True",
        "self.left.pop()\n        return True",
    ),
    Mutation(
        "the initial value is there without a writer",
        "checker.search.gone",
        "values[both.start].left.append(_EVER)",
        "pass",
    ),
    Mutation(
        "reads are taken only where they fit",
        "checker.search.register",
        "if sees[at] == state:\n                            taken",
        "if True:\n                            taken",
    ),
    Mutation(
        "failed cas are taken only where they fit",
        "checker.search.register",
        "elif sees[at] != state:",
        ("else:\n                        pass\n                    if kind not in (read, write, cas):"),
    ),
    Mutation(
        "the soonest return bounds the window",
        "checker.search.register",
        "if back[at] < soonest:",
        "if False:",
    ),
    Mutation(
        "unknown ends may help",
        "checker.search.register",
        "if unknowns and leavable and (wants or differing):",
        "if False:",
    ),
    Mutation(
        "unknown ends may unhold a value",
        "checker.search.register",
        "    if ask.differing:\n        for",
        "    if False:\n        for",
    ),
    Mutation(
        "old values lead to wanted ones",
        "checker.search.register",
        "for each in maybes.wanted(want)",
        "for each in (want,)",
    ),
    Mutation(
        "junk spares no cas",
        "checker.search.register",
        "if alike.old in {NO_OLD, state}:\n                        offer",
        "if alike.old == NO_OLD:\n                        offer",
    ),
    Mutation(
        "junk takes the place of no other write",
        "checker.search.register",
        "if alike.old in {NO_OLD, state}:\n                        offer",
        (
            "if alike.old == state or maybes.junk is None or "
            "maybes.junk.next_of(used, ask.soonest) < 0:\n                        offer"
        ),
    ),
    Mutation(
        "what a failed cas is about is no junk",
        "checker.search.numbered",
        "useful |= asked",
        "pass",
    ),
    Mutation(
        "a value is left only when nobody needs it",
        "checker.search.register",
        "if needed == 1:",
        "if needed == 0:",
    ),
    Mutation(
        "an operation waits for its call",
        "checker.search.generic",
        "while call[at] <= soonest and at < size:",
        "while at < size:",
    ),
    Mutation(
        "fewer used dominates",
        "checker.search.generic",
        "less & used == less",
        "True",
    ),
    Mutation(
        "unknown ends are tried",
        "checker.search.generic",
        "if position is None or calls[position] > soonest:",
        "if True:",
    ),
    Mutation(
        "what nobody wrote cannot be seen",
        "checker.zones.decide",
        "if clusters.unwritten:",
        "if False:",
    ),
    Mutation(
        "a chain remembers its latest call",
        "checker.zones.decide",
        "latest = max(latest, last[cluster])",
        "pass",
    ),
    Mutation(
        "a cas takes what was written",
        "checker.zones.decide",
        "if before is None:\n            return Conflict(Wrong.UNWRITTEN, (cluster,), (old,))",
        "if before is None:\n            continue",
    ),
    Mutation(
        "a failed cas is satisfied by a value that never came",
        "checker.zones.decide",
        "failed = [each for each in failed if each.cluster in live]",
        "pass",
    ),
    Mutation(
        "an unseen cas is left out",
        "checker.zones.decide",
        "pending = [c for c in clusters.cas_from if c not in dead]",
        "pending = list(clusters.cas_from)",
    ),
    Mutation(
        "the first read to return counts",
        "checker.zones.clusters",
        "if back < read_return[cluster]:",
        "if back > read_return[cluster] or read_return[cluster] == NEVER:",
    ),
    Mutation(
        "unknown writers are told apart",
        "checker.zones.clusters",
        "maybe=list(compress(range(1, len(written) + 1), maybe_mask))",
        "maybe=[]",
    ),
    Mutation(
        "held all the while is impossible",
        "checker.zones.sides",
        "return (each.cluster, each.position)",
        "sides.loose.add(each.position)",
    ),
    Mutation(
        "the block from the old value on is what begins",
        "checker.zones.sides",
        "for cluster in reversed(members):",
        "for cluster in members:",
    ),
    Mutation(
        "before a value is after the one that came before",
        "checker.zones.sides",
        "if each.call <= max(begins, sides.floor.get(each.cluster, begins)):",
        "if True:",
    ),
    Mutation(
        "reads follow their writer",
        "checker.zones.witness",
        "([writer[cluster]] if cluster else []) + readers.get(cluster, [])",
        "readers.get(cluster, []) + ([writer[cluster]] if cluster else [])",
    ),
    Mutation(
        "unseen writes that were put in are written out",
        "checker.zones.witness",
        "for moment, cluster in blocks.sides.fillers:",
        "for moment, cluster in ():",
    ),
    Mutation(
        "failed cas are given their moments",
        "checker.zones.witness",
        "timed.append((moment, 2 if at_end else -1, lowered.calls[i], i))",
        "timed.append((moment, -1, lowered.calls[i], i))",
    ),
    Mutation(
        "a failed cas asserts",
        "checker.zones.lower",
        "return Code.DIFFERED if differed(kind.error, conventions) else Code.NOTHING",
        "return Code.NOTHING",
    ),
    Mutation(
        "f is the earliest return on every key",
        "checker.zones.many",
        "if back < last[1]:",
        "if False:",
    ),
    Mutation(
        "s is the latest call on every key",
        "checker.zones.many",
        "last[2] = call",
        "last[2] = last[2]",
    ),
    Mutation(
        "f is the earliest return of what is read again",
        "checker.zones.many",
        "if back < cluster[1]:",
        "if False:",
    ),
    Mutation(
        "s is the latest call of what is read again",
        "checker.zones.many",
        "cluster[2] = call",
        "cluster[2] = cluster[2]",
    ),
    Mutation(
        "a cluster goes behind what returned before it was called again",
        "checker.zones.many",
        "if behind is not None:",
        "if False:",
    ),
    Mutation(
        "behind the last that did",
        "checker.zones.many",
        "if behind is None and cluster[1] < call:",
        "if cluster[1] < call:",
    ),
    Mutation(
        "a cluster stays before what must come after it",
        "checker.zones.many",
        "if first >= each[2]:",
        "if True:",
    ),
    Mutation(
        "of two only one can come before the other",
        "checker.zones.many",
        "elif each[1] >= call:",
        "elif True:",
    ),
    Mutation(
        "only of two that returned each must come before the other",
        "checker.zones.many",
        "elif each[1] >= call:",
        "elif False:",
    ),
    Mutation(
        "what it does not pass stays behind it",
        "checker.zones.many",
        "        after.append(each)\n        each = each[3]",
        "        before.append(each)\n        each = each[3]",
    ),
    Mutation(
        "an order stays linked",
        "checker.zones.many",
        "each[3] = last",
        "pass",
    ),
    Mutation(
        "who waits is answered before returning",
        "checker.zones.many",
        "if soonest < call:",
        "if False:",
    ),
    Mutation(
        "what was read before it was written has returned",
        "checker.zones.many",
        "[value, soonest, call, last]",
        "[value, back, call, last]",
    ),
    Mutation(
        "who waits in vain does not fit",
        "checker.zones.many",
        "{key for key, _ in awaited}",
        "set()",
    ),
    Mutation(
        "who waits first is not forgotten",
        "checker.zones.many",
        "min(back, awaited.get((key, value), back))",
        "back",
    ),
    Mutation(
        "the initial value is there from the start",
        "checker.zones.many",
        "[start, EVER, EVER, None]",
        "[start, -EVER, EVER, None]",
    ),
    Mutation(
        "what is in reach is not forgotten",
        "checker.zones.many",
        "if cluster[3] is None:",
        "if True:",
    ),
    Mutation(
        "what is out of reach is not seen",
        "checker.zones.many",
        "if cluster is None:\n            return False",
        "if cluster is None:\n            return True",
    ),
    Mutation(
        "who reads before the write was called waits for it",
        "checker.zones.many",
        "if soonest < call:\n                        raise DoesNotFit(key)",
        "if soonest < call:\n                        pass",
    ),
    Mutation(
        "a value is written once on a key",
        "checker.zones.many",
        "if len(written) == many else None",
        "if True else None",
    ),
    Mutation(
        "the initial value is not written",
        "checker.zones.many",
        "if lowered.start in written:",
        "if False:",
    ),
    Mutation(
        "what certainly happened is a row",
        "checker.shares",
        "if 0 in certain:",
        "if False:",
    ),
    Mutation(
        "a key closes with a row of its own",
        "checker.shares",
        "        places.append(nowhere)\n    codes",
        "    places.append(nowhere)\n    codes",
    ),
    Mutation(
        "each key begins with the initial value",
        "checker.search.walk",
        "begin, 0, 0, start",
        "begin, 0, 0, start if not number else state",
    ),
    Mutation(
        "a read sees what is held",
        "checker.search.walk",
        "if values[first] != state:",
        "if False:",
    ),
    Mutation(
        "a cas finds its old value",
        "checker.search.walk",
        "if value[0] != state or calls[first + 1] <= returns[first]:",
        "if calls[first + 1] <= returns[first]:",
    ),
    Mutation(
        "a write that overlaps may not come first",
        "checker.search.walk",
        "if calls[at] <= back:",
        "if False:",
    ),
    Mutation(
        "but it does before those that saw it",
        "checker.search.walk",
        "codes[at] == read and values[at] == value",
        "codes[at] == read",
    ),
    Mutation(
        "a cas that overlaps may not come first",
        "checker.search.walk",
        "if value[0] != state or calls[first + 1] <= returns[first]:",
        "if value[0] != state:",
    ),
    Mutation(
        "an append that overlaps may not come first",
        "checker.search.walk",
        f"if calls[first + 1] <= returns[first]:\n{28 * ' '}break\n{24 * ' '}state = state",
        f"if False:\n{28 * ' '}break\n{24 * ' '}state = state",
    ),
    Mutation(
        "a closed interval ends with its stamp",
        "checker.search.walk",
        "if calls[first + 1] <= returns[first]:\n                            back",
        "if calls[first + 1] < returns[first]:\n                            back",
    ),
    Mutation(
        "what is taken in its own place needs no trail only if nothing else is",
        "checker.search.walk",
        "if option == first and not taken:",
        "if option == first:",
    ),
    Mutation(
        "a cas that failed did not find it",
        "checker.search.walk",
        "elif code == end or values[first][0] == state:",
        "elif code == end:",
    ),
    Mutation(
        "what overlaps may change places",
        "checker.search.walk",
        "while calls[at] <= soonest:",
        "while calls[at] < soonest:",
    ),
    Mutation(
        "nothing is called after what it comes before returned",
        "checker.search.walk",
        "while calls[at] <= soonest:",
        "while calls[at] <= NEVER:",
    ),
    Mutation(
        "what only looks is no choice",
        "checker.search.walk",
        "fits = values[at] == state",
        "fits = True",
    ),
    Mutation(
        "a cas that changes something is a choice",
        "checker.search.walk",
        "if fits and value[1] != state:",
        "if False:",
    ),
    Mutation(
        "a walk goes back to the last choice",
        "checker.search.walk",
        "if len(candidates) > 1:",
        "if False:",
    ),
    Mutation(
        "what is tried is not tried again",
        "checker.search.walk",
        "candidates.remove(option)",
        "pass",
    ),
    Mutation(
        "an append adds to what is held",
        "checker.search.walk",
        "return value if code == WRITE else state + value",
        "return value",
    ),
    Mutation(
        "an append in its own place does so too",
        "checker.search.walk",
        "state = state + values[first]",
        "state = values[first]",
    ),
    Mutation(
        "with unknown ends nothing is certain",
        "checker.search.walk",
        "Lost.CERTAINLY if not unknowns and not stack else",
        "Lost.CERTAINLY if not stack else",
    ),
    Mutation(
        "who has not tried everything knows nothing",
        "checker.search.walk",
        "Lost.CERTAINLY if not unknowns and not stack else",
        "Lost.CERTAINLY if not unknowns else",
    ),
    Mutation(
        "where a walk has been is more than the value held",
        "checker.search.walk",
        "if backs and (first, taken, used, state) in seen:",
        "if backs and any(each[3] == state for each in seen):",
    ),
    Mutation(
        "unknown ends happen once",
        "checker.search.walk",
        "not used & bit and ",
        "",
    ),
    Mutation(
        "unknown ends need their old value",
        "checker.search.walk",
        "(old is ANY or old == state)",
        "True",
    ),
    Mutation(
        "unknown ends happen after their call",
        "checker.search.walk",
        "if call > soonest:",
        "if False:",
    ),
    Mutation(
        "an order has everything in its place",
        "checker.search.walk",
        "while at < row:",
        "while at < row - 1:",
    ),
    Mutation(
        "what is lacking is noted",
        "checker.search.register",
        "lacking |= (1 << ~many) - 1 << alike.shift",
        "pass",
    ),
    Mutation(
        "the last observer of a value may be a cas",
        "checker.search.register",
        "return [at for at in candidates if problem.code[at] == CAS], False",
        "return [], False",
    ),
    Mutation(
        "a value is bound only if nobody unknown writes it",
        "checker.search.register",
        " and state not in maybe_writers",
        "",
    ),
    Mutation(
        "those alike are used once each",
        "checker.search.numbered",
        "many < len(self.calls) and self.calls[many] <= soonest",
        "self.calls[0] <= soonest",
    ),
    Mutation(
        "an unknown write waits for its call",
        "checker.search.numbered",
        " and self.calls[many] <= soonest",
        "",
    ),
    Mutation(
        "junk is what nobody wants",
        "checker.search.numbered",
        "if old == NO_OLD and new not in useful",
        "if old == NO_OLD",
    ),
    Mutation(
        "what a covered branch lacks depends on the one above",
        "checker.search.branches",
        "    waits_for = covered_by\n",
        "    waits_for = None\n",
    ),
    Mutation(
        "a branch lacks what any of its ways lacked",
        "checker.search.branches",
        "branch.lacks |= lacks",
        "branch.lacks = lacks",
    ),
    Mutation(
        "lacks are handed up",
        "checker.search.branches",
        "lacks = branch.lacks | branch.on_the_way",
        "lacks = branch.on_the_way",
    ),
    Mutation(
        "what resets the state may lead to a read",
        "checker.search.generic",
        "place >= first",
        "False",
    ),
    Mutation(
        "so may what nobody saw end",
        "checker.search.generic",
        "or any(not used & bit and",
        "or any(False and",
    ),
    Mutation(
        "what resets it comes before the read returned",
        "checker.search.generic",
        "return self._calls[i] <= back and any(",
        "return self._calls[i] <= back - 30 and any(",
    ),
    Mutation(
        "only what looks is taken at once",
        "checker.search.generic",
        "looks = [steps.looks[i] for i in certain]",
        "looks = [True for i in certain]",
    ),
    Mutation(
        "the soonest return bounds what may be next",
        "checker.search.generic",
        "if back[at] < soonest:",
        "if False:",
    ),
    Mutation(
        "a state is part of a configuration",
        "checker.search.generic",
        "seen.setdefault((first, taken, state), [])",
        "seen.setdefault((first, taken, 0), [])",
    ),
    Mutation(
        "what comes out was put in",
        "checker.direct.stays",
        "if stay is None:\n            return",
        "if stay is None:\n            continue\n            return",
    ),
    Mutation(
        "what comes out comes out once",
        "checker.direct.stays",
        "if stay.take >= 0:",
        "if False:",
    ),
    Mutation(
        "nothing comes out before it is put in",
        "checker.direct.stays",
        "if stay.take_return < stay.put_call:",
        "if False:",
    ),
    Mutation(
        "an unseen putting is left out",
        "checker.direct.stays",
        "if stay.take >= 0 or stay.put_return != NEVER",
        "if True",
    ),
    Mutation(
        "a taking of unknown end may take anything",
        "checker.direct.stays",
        "sure = False",
        "sure = True",
    ),
    Mutation(
        "cores that overlap leave no gap",
        "checker.direct.stays",
        "if at < 0 or self.ends[at] <= back:",
        "if at < 0 or self.ends[at] <= back + 1:",
    ),
    Mutation(
        "a run is as long as its longest core",
        "checker.direct.stays",
        "if stay.take_call > found.ends[-1]:",
        "if True:",
    ),
    Mutation(
        "empty is answered where nothing is",
        "checker.direct.bag",
        "yield covered.free(part.calls[i]), INSTANT",
        "yield part.calls[i], INSTANT",
    ),
    Mutation(
        "who has no core comes and goes at once",
        "checker.direct.bag",
        "instant = max(stay.put_call, stay.take_call)",
        "instant = stay.put_call",
    ),
    Mutation(
        "first in is first out",
        "checker.direct.fifo",
        "if before and latest[before - 1].take_call > stay.take_return:",
        "if False:",
    ),
    Mutation(
        "the lowest is pushed first",
        "checker.direct.stack",
        "self.held[self.to_come[-1]].put_call <= since",
        "self.held[self.to_come[-1]].put_call < since + 99",
    ),
    Mutation(
        "the lowest is popped last",
        "checker.direct.stack",
        "self.held[lowest].take_return < until",
        "self.held[lowest].take_return < since",
    ),
    Mutation(
        "a group falls apart where no core is",
        "checker.direct.stack",
        "gaps = [first, *self._take_away(lowest)]",
        "self._take_away(lowest)\n            gaps = [first]",
    ),
    Mutation(
        "a taken away core covers nothing",
        "checker.direct.stack",
        "return self.cover.lift(at + 1, self.reach[at])",
        "return self.cover.lift(at + 1, self.reach[at] - 1)",
    ),
    Mutation(
        "of those fit to be lowest the last popped is",
        "checker.direct.stack",
        "self.lowest = _Best([stay.take_return for stay in held])",
        "self.lowest = _Best([-stay.take_return for stay in held])",
    ),
    Mutation(
        "the smallest goes first",
        "checker.direct.priority",
        "sorted(stays.counting, key=lambda stay: ranks[stay.put])",
        "sorted(stays.counting, key=lambda stay: ranks[stay.put], reverse=True)",
    ),
    Mutation(
        "smaller ones must be gone",
        "checker.direct.priority",
        "if out > stay.take_return:",
        "if False:",
    ),
    Mutation(
        "who stays is in the way of the greater ones",
        "checker.direct.priority",
        "inside.stays(stay, out)",
        "pass",
    ),
    Mutation(
        "a span's own ends are free",
        "checker.direct.priority",
        "at = self._find(bisect_left(self.stamps, stay.put_return) + 1)",
        "at = self._find(bisect_left(self.stamps, stay.put_return))",
    ),
    Mutation(
        "a read is the beginning of a longer one",
        "checker.direct.lists",
        "if told != order[: len(told)]:",
        "if False:",
    ),
    Mutation(
        "what is read was appended",
        "checker.direct.lists",
        "if not held <= writer.keys():",
        "if False:",
    ),
    Mutation(
        "nobody returns before an earlier one is called",
        "checker.direct.lists",
        "if part.returns[i] < latest:",
        "if False:",
    ),
    Mutation(
        "what was not read comes last",
        "checker.direct.lists",
        "groups.append(at_end)",
        "groups.insert(0, at_end)",
    ),
    Mutation(
        "reads of a set form a chain",
        "checker.direct.sets",
        "if not seen[fewer] <= seen[more]:",
        "if False:",
    ),
    Mutation(
        "what a read holds more was added before it",
        "checker.direct.sets",
        "groups += [[adder[value] for value in fresh], [i]]",
        "groups += [[i], [adder[value] for value in fresh]]",
    ),
    Mutation(
        "a write goes with those that saw its value",
        "checker.explain.shrink",
        (
            "if op.outcome is not EventType.FAIL:\n            "
            "groups.setdefault(find(leaves(op)), []).append(i)"
        ),
        "if op.outcome is not EventType.FAIL:\n            groups.setdefault(i, []).append(i)",
    ),
    Mutation(
        "what was open at a cut may not have happened",
        "checker.explain.shrink",
        "returns = [back if back <= stamp else NEVER for back in part.returns]",
        "returns = [min(back, stamp) for back in part.returns]",
    ),
    Mutation(
        "what overlaps a beginning may come after it",
        "checker.explain.shrink",
        (
            "returns = [NEVER if overlapping else part.returns[i] for i, overlapping in "
            "enumerate(overlaps)]"
        ),
        "returns = list(part.returns)\n    keep = [i for i in keep if not overlaps[i]]",
    ),
    Mutation(
        "ghosts stand for what was left out",
        "checker.explain.shrink",
        "    if not failed or not isinstance(part.model, Register):\n        return part",
        "    return part",
    ),
    Mutation(
        "values that cas links go together",
        "checker.explain.shrink",
        "leader[find(old)] = find(leaves(op))",
        "pass",
    ),
    Mutation(
        "the initial value's operations stay",
        "checker.explain.shrink",
        "groups.pop(find(part.start), None)",
        "pass",
    ),
]


@contextmanager
def in_place(mutation: Mutation) -> Iterator[None]:
    """Let the mutant of a module stand wherever the module, or anything in it, is used."""
    module = importlib.import_module(mutation.module)
    assert module.__file__ is not None
    source = Path(module.__file__).read_text()
    assert mutation.was in source, f"{mutation.rule}: the source has changed"
    mutant = types.ModuleType(module.__name__)
    mutant.__file__ = module.__file__
    mutant.__package__ = module.__package__
    sys.modules[module.__name__] = mutant
    try:
        changed = source.replace(mutation.was, mutation.becomes, 1)
        exec(compile(changed, "mutant", "exec"), mutant.__dict__)
    finally:
        sys.modules[module.__name__] = module
    names = {
        id(each): mutant.__dict__.get(name)
        for name, each in vars(module).items()
        if _is_of(each, module)
    }
    names[id(module)] = mutant
    replaced: list[tuple[dict[Any, Any], Any, Any]] = []
    users = [
        each for name, each in sys.modules.items() if name.startswith("checker.") or name == __name__
    ]
    tables = [vars(each) for each in users if each is not module]
    tables += [table for user in users for table in vars(user).values() if isinstance(table, dict)]
    for table in tables:
        for name, each in list(table.items()):
            if id(each) in names and name != "__builtins__":
                replaced.append((table, name, each))
                table[name] = names[id(each)]
    try:
        yield
    finally:
        for table, name, each in replaced:
            table[name] = each


def _is_of(each: Any, module: types.ModuleType) -> bool:
    return getattr(each, "__module__", None) == module.__name__ and hasattr(each, "__qualname__")


def known(history: History) -> Known:
    (share,) = Shares(history, CasRegister(), None, history.spans(Ties.CONCURRENT))
    part = share.part()
    truth = brute.linearizable(part.model, part.operations, part.start, part.calls, part.returns)
    return Known(history, share, part, truth)


@cache
def small(repeats: float) -> list[Known]:
    dice = random.Random(f"small {repeats}")
    return [known(thrown(dice, repeats=repeats)) for _ in range(8_000)]


@cache
def longer() -> list[Known]:
    """Histories that are too long for brute force; the generic search tells."""
    dice = random.Random("longer")
    found = []
    for number in range(3_000):
        history = starved(dice) if number % 3 else crowded(dice)
        (share,) = Shares(history, CasRegister(), None, history.spans(Ties.CONCURRENT))
        part = share.part()
        found.append(Known(history, share, part, found_by(generic, part) is not None))
    return found


@cache
def short_of_help() -> list[Known]:
    dice = random.Random("denied")
    return [known(denied(dice)) for _ in range(3_000)]


def found_by(algorithm: Any, part: Part) -> list[int] | None:
    return to_the_end(
        algorithm.search(part.model, part.operations, part.start, part.calls, part.returns)
    )


def to_the_end(searching: Any) -> list[int] | None:
    try:
        while True:
            next(searching)
    except StopIteration as done:
        order: list[int] | None = done.value.order
        return order


def fits(part: Part, order: list[int]) -> bool:
    state, latest = part.start, -NEVER
    for i in order:
        after = part.model.step(state, part.operations[i])
        if not after:
            return False
        (state,) = after
        latest = max(latest, part.calls[i])
        if part.returns[i] < latest:
            return False
    certain = {i for i, back in enumerate(part.returns) if back != NEVER}
    return certain <= set(order) and len(set(order)) == len(order)


def zones_err() -> bool:
    for each in small(0.25):
        lowered = each.share.lowered()[0]
        decision: Any = zones.decide(lowered)
        match type(decision).__name__:
            case "Fits":
                order = witness.linearization(lowered, decision.blocks)
                if not each.truth or not fits(each.part, each.in_part(order)):
                    return True
            case "Conflict":
                if each.truth:
                    return True
    return False


MOVED = (
    """
0 |-w 1-|           |-r 1-|
1  |-w 2-------------------------|
2   |-w 3--------|
3            |-r 2---------------|
""",
    """
0 |-w 1-|           |-r 1-|          |-r 1-|
1   |-w 3--------|
2           |-w 2-------------|
""",
)
"""To be read again 1 goes behind 3; 2 must follow it. In the second one it does not, in the end."""


def of_many_keys() -> Iterator[History]:
    """Yield histories of some keys, whose values differ by key or not; some are spoiled by a read."""
    yield from map(drawn, MOVED)
    dice = random.Random("many")
    for number in range(2_000):
        size = 9 if number % 4 else 40
        whole = merged([thrown(dice, operations_max=size, repeats=0.05, cas=(0.0,)) for _ in range(3)])
        if number % 2:
            values = [v and 100 * k + v for k, v in zip(whole.key, whole.value, strict=True)]
            whole.value[:] = values
        reads = [i for i, op in enumerate(whole) if op.f == "read"]
        if reads and number % 5 == 0:
            whole.value[dice.choice(reads)] = dice.choice([*whole.value, 999])
        yield whole


def unsure_of(columns: Any, *, at_a_time: int, reach: int) -> set[Hashable]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(many, "_AT_A_TIME", at_a_time)
        patch.setattr(many, "_REACH", reach)
        *_, unsure = many.doubtful(*columns)
    return unsure


def many_keys_err() -> bool:
    """What fits among many keys fits alone; if nothing is forgotten, the other way round too."""
    missed = 0
    for number, whole in enumerate(of_many_keys()):
        reach = (many._REACH, many._REACH, 2)[number % 3]
        shares = Shares(whole, CasRegister(), None, whole.spans(Ties.CONCURRENT))
        columns = all_keys.together(shares, all_keys.whole(shares))
        decisions = [type(zones.decide(share.lowered()[0])).__name__ for share in shares]
        values = many.unique(*columns)
        if (values is None) is not ("NoneType" in decisions):
            return True
        if values is None:
            continue
        try:
            unsure = unsure_of((*columns, values), at_a_time=5 if number % 3 else 10_000, reach=reach)
        except Exception as wrong:  # noqa: BLE001 - of the mutant's own class
            at = next(i for i, share in enumerate(shares) if share.key == wrong.args[0])
            if decisions[at] == "Fits":
                return True
            continue
        for share, decision in zip(shares, decisions, strict=True):
            good = decision == "Fits"
            if share.key not in unsure and not good:
                return True
            missed += good and share.key in unsure and reach > 2
    return missed > 0


def walks_err() -> bool:
    """Of several keys, one behind the other, each is told the truth, or that nothing is known."""
    dice = random.Random("walks")
    lost = 0
    for number in range(4_000):
        chosen = [dice.choice(small(0.6) if number % 8 else longer()) for _ in range(3)]
        history = merged([each.history for each in chosen])
        shares = Shares(history, CasRegister(), None, history.spans(Ties.CONCURRENT))
        lowered = all_keys.whole(shares)
        columns = all_keys.rows(shares, lowered)
        help_for = partial(_unknowns_of, shares, lowered)
        tireless = bool(number % 4)
        with pytest.MonkeyPatch.context() as patch:
            if not tireless:
                patch.setattr(walk, "_BACKS_MAX", 1)
            ways = list(walk.walk(columns, lowered.start, help_for))
        if len(ways) != len(shares):
            return True
        for share, way in zip(shares, ways, strict=True):
            truth = chosen[share.key].truth
            mine = share.part()
            if way is walk.Lost.PERHAPS:
                lost += bool(tireless and number % 8 and NEVER not in mine.returns)
            elif way is walk.Lost.CERTAINLY:
                if truth:
                    return True
            else:
                place = {op.index: i for i, op in enumerate(mine.operations)}
                if not truth or not fits(mine, [place[at] for at in walk.order(columns, way)]):
                    return True
    return lost > 40 or _strings_err()


def _strings_err() -> bool:
    for history, truth in _spelled():
        if (check(history, model="kv", explain=False).outcome is Outcome.PASS) is not truth:
            return True
    return False


@cache
def _strings() -> list[tuple[Part, bool]]:
    dice = random.Random("strings")
    model = MODELS["kv"]()
    found = []
    for _ in range(2_000):
        history = spelled(dice, unknown=0.3)
        (share,) = Shares(history, model, "", history.spans(Ties.CONCURRENT))
        mine = share.part()
        args = (mine.operations, "", mine.calls, mine.returns)
        found.append((mine, brute.linearizable(model, *args)))
    return found


@cache
def _spelled() -> list[tuple[History, bool]]:
    dice = random.Random("spelled")
    model = MODELS["kv"]()
    found = []
    for _ in range(500):
        history = spelled(dice)
        (share,) = Shares(history, model, "", history.spans(Ties.CONCURRENT))
        mine = share.part()
        args = (mine.operations, "", mine.calls, mine.returns)
        found.append((history, brute.linearizable(model, *args)))
    return found


def _unknowns_of(shares: Shares, lowered: Any, place: int) -> Any:
    return all_keys.unknowns(shares, place, lowered)


def register_search_errs() -> bool:
    for each in (*longer(), *short_of_help(), *small(0.6)):
        both = sided(each.share.lowered()[0])
        if each.truth and gone.gone(both) is not None:
            return True
        order = to_the_end(register.branching(numbered(both)))
        if (order is not None) is not each.truth:
            return True
        if order is not None and not fits(each.part, each.in_part(order)):
            return True
    return False


def generic_search_errs() -> bool:
    for part, truth in _strings():
        if (found_by(generic, part) is not None) is not truth:
            return True
    return any((found_by(generic, each.part) is not None) is not each.truth for each in small(0.6))


def whole(history: History, model: str) -> Part:
    chosen = MODELS[model]()
    calls, returns = history.spans(Ties.CONCURRENT)
    share = Share(
        history=history,
        positions=range(len(history)),
        key=None,
        model=chosen,
        start=chosen.initial(None),
        calls=calls,
        returns=returns,
    )
    return share.part()


@cache
def containers(model: str) -> list[tuple[Part, bool]]:
    dice = random.Random(f"containers {model}")
    sizes = [9] * 4_000 + [18] * 1_000
    parts = [whole(put_once(dice, model, size), model) for size in sizes]
    return [(part, found_by(generic, part) is not None) for part in parts]


def direct_errs(*models: str) -> Callable[[], bool]:
    def errs() -> bool:
        for model in models or PUT_AND_TAKE:
            for part, truth in containers(model):
                decision: Any = direct.decide(part)
                match type(decision).__name__:
                    case "Ordered":
                        if not truth or not fits(part, decision.order):
                            return True
                    case "Impossible":
                        if truth or not _proves(part, decision.positions):
                            return True
                    case _ if not truth and all(op.known for op in part.operations):
                        return True
        return False

    return errs


def _proves(part: Part, positions: list[int]) -> bool:
    if len(positions) > 9:
        return True
    others = set(range(len(part.operations))) - set(positions)
    for added in (set(), *({other} for other in others)):
        piece = part.subset(sorted({*positions, *added}))
        if brute.linearizable(piece.model, piece.operations, piece.start, piece.calls, piece.returns):
            return False
    return True


def proofs_err() -> bool:
    """A proof is one whatever else of the history is put beside it."""
    for each in small(0.25):
        if each.truth:
            continue
        try:
            violation = check(each.history, model="cas-register", paranoid=True).violation
        except AssertionError:
            return True
        assert violation is not None
        place = {op.index: i for i, op in enumerate(each.part.operations)}
        if not _proves(each.part, [place[op.index] for op in violation.operations]):
            return True
    return False


JUDGES: list[tuple[str, Callable[[], bool]]] = [
    ("zones.many", many_keys_err),
    ("search.walk", walks_err),
    ("shares", walks_err),
    ("zones", zones_err),
    ("search.generic", generic_search_errs),
    ("search", register_search_errs),
    ("direct.stays", direct_errs("fifo-queue", "unordered-queue", "stack")),
    ("direct.fifo", direct_errs("fifo-queue")),
    ("direct.bag", direct_errs("unordered-queue")),
    ("direct.stack", direct_errs("stack")),
    ("direct.priority", direct_errs("priority-queue")),
    ("direct.lists", direct_errs("list-append")),
    ("direct.sets", direct_errs("set")),
    ("explain", proofs_err),
]


def judge_of(mutation: Mutation) -> Callable[[], bool]:
    name = mutation.module.removeprefix("checker.")
    return next(errs for part, errs in JUDGES if name.startswith(part))


ENDLESS_CPU_S = 40.0
"""The right rules need a few; what a mutant makes go round for ever is seen as well."""


class Endless(Exception):  # noqa: N818 - what a mutant is
    """It would go on for ever."""


@contextmanager
def ended_after(cpu_s: float) -> Iterator[None]:
    """Raise `Endless` in here after so much processor time; SIGALRM is pytest's own."""

    def give_up(_number: int, _frame: object) -> None:
        raise Endless

    before = signal.signal(signal.SIGVTALRM, give_up)
    signal.setitimer(signal.ITIMER_VIRTUAL, cpu_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.rule.replace(" ", "-"))
def test_a_broken_rule_is_caught(mutation: Mutation) -> None:
    errs = judge_of(mutation)
    with in_place(mutation), ended_after(ENDLESS_CPU_S):
        try:
            caught = errs()
        except (
            Endless,
            KeyError,
            IndexError,
            AssertionError,
            TypeError,
            ValueError,
            StopIteration,
            UnboundLocalError,
        ):
            caught = True
    assert caught, f"nobody noticed that {mutation.rule!r} was broken"


@pytest.mark.parametrize("errs", [errs for _, errs in JUDGES], ids=[name for name, _ in JUDGES])
def test_nothing_is_caught_where_nothing_is_broken(errs: Callable[[], bool]) -> None:
    assert not errs()
