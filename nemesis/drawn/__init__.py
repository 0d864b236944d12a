"""Random episodes, shaped: each draws its lengths, its shapes and its victims, not its sense.

White noise finds little. What finds stale reads is known: cuts that keep what is in flight, heals link
by link in random order, a follower's pause that overlaps the leader's isolation, and one fresh read at
the deposed leader after the new leader's first acknowledged write and before the heal. So every episode
here that deposes a leader has that read, and every cut heals with a stagger; `storms` alone know less.

One module a kind of episode; `families` says what each family of faults draws from.
"""
