"""The type that a column gets from the shapes of its values, where nothing names one."""

from __future__ import annotations

import re
from typing import NamedTuple

TEXT = "string"
# The room that a guessed decimal has at least.
DIGITS, SCALE = 20, 4
MOST_DIGITS = 38
# Debezium's decimals with a scale in each value: NUMBER of Oracle, whose values are mostly whole, and numeric
# of PostgreSQL, of which Spark's and Flink's own readers make the second type.
OF_OWN_SCALE = ("decimal(38,0)", "decimal(38,18)")
# Of the shortest text that names one double.
DIGITS_OF_DOUBLE = 17
# How many values have to be of one type, so that the others look like slips.
NEARLY_ALL = 0.9
# The digits of their largest values.
INTEGERS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 19}

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
    OF_OWN_SCALE[0]: r"""text rlike r'^\{"scale":(?:0|-[0-9]+),"value":"[A-Za-z0-9+/]+={0,2}"\}$'""",
    OF_OWN_SCALE[1]: r"""text rlike r'^\{"scale":[1-9][0-9]*,"value":"[A-Za-z0-9+/]+={0,2}"\}$'""",
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
    if found == set(OF_OWN_SCALE):
        return OF_OWN_SCALE[1]
    if len(found) == 1 and found != {"decimal"}:
        return found.pop()
    return _decimal(shapes.digits, shapes.scale) if found <= {"bigint", "decimal"} else TEXT


def nearly(shapes: Shapes) -> str | None:
    """Return the type of nearly all values, where a few others make the column a text.

    >>> nearly(Shapes(20, {"bigint": 19}, digits=3, scale=0))
    'bigint'
    """
    for family in [
        {"bigint", "decimal"},
        *({shape} for shape in ("boolean", "date", "timestamp_ntz", "timestamp")),
    ]:
        counts = {shape: count for shape, count in shapes.counts.items() if shape in family}
        of_family = sum(counts.values())
        if NEARLY_ALL * shapes.values <= of_family < shapes.values:
            type_ = guessed(shapes._replace(values=of_family, counts=counts))
            return None if type_ == TEXT else type_
    return None


def needed(shapes: Shapes) -> str | None:
    """Return the smallest decimal that holds every value seen; None if they are not all numbers.

    >>> needed(Shapes(3, {"bigint": 1, "decimal": 2}, digits=3, scale=2))
    'decimal(5,2)'
    """
    found = {shape for shape, count in shapes.counts.items() if count}
    is_all_numbers = (
        "decimal" in found and found <= {"bigint", "decimal"} and sum(shapes.counts.values()) == shapes.values
    )
    if not is_all_numbers or not 0 < shapes.digits + shapes.scale <= MOST_DIGITS:
        return None
    return f"decimal({shapes.digits + shapes.scale},{shapes.scale})"


def _decimal(digits: int, scale: int) -> str:
    """Return a decimal with twice the digits seen, as far as Spark has them."""
    if scale == 0:
        return f"decimal({MOST_DIGITS},0)"
    roomy = max(SCALE, 2 * scale)
    for room, places in ((2 * digits, roomy), (digits, roomy), (2 * digits, scale)):
        if room + places <= MOST_DIGITS:
            return f"decimal({max(DIGITS, room + places)},{places})"
    return f"decimal({MOST_DIGITS},{scale})" if digits + scale <= MOST_DIGITS else TEXT


def makes_texts_alike(type_: str) -> bool:
    """Whether two texts may be one value of a type that was guessed from them.

    >>> makes_texts_alike("decimal(20,4)"), makes_texts_alike("timestamp"), makes_texts_alike("bigint")
    (True, True, False)
    """
    number = _parts(type_)
    return type_.startswith("timestamp") or (number is not None and number[1] > 0)


def holds(wide: str, narrow: str) -> bool:
    """Whether a type takes every text that the other one takes.

    >>> holds("bigint", "int"), holds("decimal(12,2)", "bigint"), holds("timestamp_ntz", "date")
    (True, False, False)
    """
    if wide in (narrow, TEXT):
        return True
    if wide == "double":
        return narrow in ("float", "tinyint", "smallint", "int")
    if wide in INTEGERS:
        return narrow in INTEGERS and INTEGERS[narrow] <= INTEGERS[wide]
    of_wide, of_narrow = _parts(wide), _parts(narrow)
    if of_wide is None or of_narrow is None:
        return False
    return of_wide[0] >= of_narrow[0] and of_wide[1] >= of_narrow[1]


def joined(before: str, now: str) -> str:
    """Return a type that holds the values of two types."""
    for wide, narrow in ((before, now), (now, before)):
        if holds(wide, narrow):
            return wide
    parts = [_parts(text) for text in (before, now)]
    if None in parts:
        return TEXT
    whole, scale = (max(each) for each in zip(*parts, strict=True))
    return f"decimal({whole + scale},{scale})" if whole + scale <= MOST_DIGITS else TEXT


def is_exact_number(text: str) -> bool:
    return _parts(text) is not None


def _parts(text: str) -> tuple[int, int] | None:
    """Return how many digits a number has before and after the point; None if it is no exact number."""
    if text in INTEGERS:
        return INTEGERS[text], 0
    found = re.fullmatch(r"decimal\(\s*([0-9]+)\s*,\s*([0-9]+)\s*\)", text)
    return (int(found[1]) - int(found[2]), int(found[2])) if found else None
