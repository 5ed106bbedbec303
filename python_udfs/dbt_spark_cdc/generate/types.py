"""The type that a column gets from the shapes of its values, where nothing names one."""

from __future__ import annotations

from typing import NamedTuple

TEXT = "string"
# The room that a guessed decimal has at least.
DIGITS, SCALE = 20, 4
MOST_DIGITS = 38

# SQL over `text`: each shape excludes the others. A leading zero is part of a text, such as a postal code.
INTEGER = r"^(?:0|-?[1-9][0-9]{0,18})$"
NUMBER = r"^(?:0|-?[1-9][0-9]{0,37}|-?(?:0|[1-9][0-9]{0,37})\.[0-9]{1,37})$"
LOCAL_TIME = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?$"
INSTANT = LOCAL_TIME[:-1] + r"(?:Z|[+-][0-9]{2}:[0-9]{2})$"
IS_BIGINT = f"(text rlike r'{INTEGER}' and try_cast(text as bigint) is not null)"
SHAPES = {
    "bigint": IS_BIGINT,
    "decimal": f"text rlike r'{NUMBER}' and not {IS_BIGINT}",
    "boolean": "text in ('true', 'false')",
    "date": r"text rlike r'^[0-9]{4}-[0-9]{2}-[0-9]{2}$' and try_cast(text as date) is not null",
    "timestamp_ntz": f"text rlike r'{LOCAL_TIME}' and try_cast(text as timestamp_ntz) is not null",
    "timestamp": f"text rlike r'{INSTANT}' and try_cast(text as timestamp) is not null",
}


class Shapes(NamedTuple):
    """How many values of a column have each shape, and the digits of its numbers with a fraction."""

    values: int
    counts: dict[str, int]
    digits: int
    scale: int


def guessed(shapes: Shapes) -> str:
    """Return the type that holds every value seen, with room where numbers may grow.

    >>> guessed(Shapes(3, {"bigint": 1, "decimal": 2}, digits=3, scale=2))
    'decimal(20,4)'
    """
    found = {shape for shape, count in shapes.counts.items() if count}
    if shapes.values == 0 or sum(shapes.counts.values()) < shapes.values:
        return TEXT
    if len(found) == 1 and found != {"decimal"}:
        return found.pop()
    return _decimal(shapes.digits, shapes.scale) if found <= {"bigint", "decimal"} else TEXT


def _decimal(digits: int, scale: int) -> str:
    """Return a decimal with twice the digits seen, as far as Spark has them."""
    if scale == 0:
        return f"decimal({MOST_DIGITS},0)"
    roomy = max(SCALE, 2 * scale)
    for room, places in ((2 * digits, roomy), (digits, roomy), (2 * digits, scale)):
        if room + places <= MOST_DIGITS:
            return f"decimal({max(DIGITS, room + places)},{places})"
    return f"decimal({MOST_DIGITS},{scale})" if digits + scale <= MOST_DIGITS else TEXT


def joined(before: str, now: str) -> str:
    """Return a guess that holds the values of two guesses."""
    if before == now:
        return now
    kinds = {before.split("(")[0], now.split("(")[0]}
    if not kinds <= {"bigint", "decimal"}:
        return TEXT
    parts = [_parts(text) for text in (before, now)]
    whole, scale = max(digits for digits, _ in parts), max(places for _, places in parts)
    return f"decimal({whole + scale},{scale})" if whole + scale <= MOST_DIGITS else TEXT


def _parts(text: str) -> tuple[int, int]:
    if text == "bigint":
        return 19, 0
    precision, scale = map(int, text.removeprefix("decimal(").removesuffix(")").split(","))
    return precision - scale, scale
