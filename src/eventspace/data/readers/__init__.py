"""From whatever the caller holds to columns."""
