"""State machines that a log drives."""
