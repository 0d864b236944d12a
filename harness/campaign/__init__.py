"""Many runs: drawn, counted, shrunk, swept. What a single run does is `harness.run`'s."""
