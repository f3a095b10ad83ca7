"""A fitted model, and all that it can say."""
