"""What the Arrow wrappers share."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa


def texts(values: pa.Array) -> list[str | None]:
    """Return an Arrow string array as Python texts, with None for NULL and for bytes that are not UTF-8.

    Spark checks no bytes when a Kafka value is cast to STRING, and one bad message must not stop a batch.
    """
    import pyarrow as pa

    try:
        return values.to_pylist()
    except UnicodeDecodeError:
        return [_text(value) for value in values.cast(pa.binary()).to_pylist()]


def _text(value: bytes | None) -> str | None:
    try:
        return None if value is None else value.decode("utf-8")
    except UnicodeDecodeError:
        return None
