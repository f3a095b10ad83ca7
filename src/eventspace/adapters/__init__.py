"""Other libraries' interfaces, an extra each: every estimator as a model of theirs."""
