"""Rules between items: mined from sets, measured under the model, tried on ratings."""
