"""Texts of messages as a terminal shows them and as a model's arguments have them."""

from __future__ import annotations

import re

STAR = "*"


def printable(text: str) -> str:
    """Return a text whose other characters are escapes: a terminal acts on some of them."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def one_line(text: str) -> str:
    """Return a text as one line.

    >>> one_line("two\\nlines \\x1b[1m")
    'two lines \\\\x1b[1m'
    """
    return printable(" ".join(text.split()))


def jinja_literal(text: str) -> str:
    """Return a text as an expression of Jinja.

    >>> jinja_literal("it's")
    "'it\\\\'s'"
    """
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def is_pattern(name: str | None) -> bool:
    """Whether a name of an argument stands for several names: a star alone stands for all of them."""
    return bool(name) and STAR in name and name != STAR


def matches_star(pattern: str, name: str) -> bool:
    """Whether a name of an argument, in which a star matches any text, means a name of messages."""
    return re.fullmatch(".*".join(map(re.escape, pattern.split(STAR))), name, re.DOTALL) is not None
