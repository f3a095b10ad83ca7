"""The version, here so that every room may ask for it."""

__version__ = "0.2.0.dev0"
