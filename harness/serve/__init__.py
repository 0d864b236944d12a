"""``lantern serve``: the runs and campaigns of a store, in a browser on this machine.

`shelf` finds and reads what lies in a store, `compare` lays two runs side by side, `pages` spells pages
out, and `app` answers requests. Nothing is ever written, and nothing that a run says is acted on.
"""
