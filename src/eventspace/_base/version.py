"""The version, here so that every room may ask for it."""

__version__ = "0.1.0"
