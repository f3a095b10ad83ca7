"""The paper's experiments and the questions they leave open, run again on held-out data."""
