"""Logical changes -> messages, for tests: written from the vendors' pages and not from our macros."""
