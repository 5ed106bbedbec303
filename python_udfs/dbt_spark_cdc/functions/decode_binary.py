"""cdc_decode_binary(text, encoding): the bytes behind the text in which a vendor writes a binary column."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from typing import TYPE_CHECKING

from dbt_spark_cdc.functions._arrow import texts

if TYPE_CHECKING:
    import pyarrow as pa

# Java bytes are signed; a writer that widens them first prints 0..255. Both spellings mean the same byte.
_JAVA_BYTES = {str(number): number & 0xFF for number in range(-128, 256)}


def _base64(text: str) -> bytes:
    return _unchanged(text, base64.b64decode(text, validate=True), base64.b64encode)


def _base64_url(text: str) -> bytes:
    return _unchanged(text, base64.b64decode(text, altchars=b"-_", validate=True), base64.urlsafe_b64encode)


def _unchanged(text: str, decoded: bytes, encode: Callable[[bytes], bytes]) -> bytes:
    # Python's decoder accepts bits that no encoder writes; encoding the bytes again reveals them.
    if encode(decoded) != text.encode("ascii"):
        raise ValueError("not the text that an encoder writes")
    return decoded


def _java_bytes(text: str) -> bytes:
    if len(text) < 2 or text[0] != "[" or text[-1] != "]":
        raise ValueError("not a Java byte list")
    inside = text[1:-1]
    return bytes(_JAVA_BYTES[number] for number in inside.split(", ")) if inside else b""


_DECODERS: dict[str, Callable[[str], bytes]] = {
    "base64": _base64,
    "base64_url": _base64_url,
    "hex": binascii.unhexlify,
    "latin1": lambda text: text.encode("latin-1"),
    "java_bytes": _java_bytes,
}


def decode_binary(text: str | None, encoding: str | None) -> bytes | None:
    r"""Decode the text of a binary value, or return None when it is not exactly of that encoding.

    Shapes of `text`, by `encoding`:

    - `base64`, `base64_url`: RFC 4648 sections 4 and 5, padded, no white space, unused bits zero
    - `hex`: an even number of hexadecimal digits in either case, no prefix
    - `latin1`: one character up to U+00FF per byte (Canal writes BLOB columns so)
    - `java_bytes`: a Java byte list, each number -128..127 or 0..255, comma and one space between them
      (Huawei DRS prints binary columns of MySQL so)

    Errors: text that is not of the encoding, an unknown encoding and NULL all give None, never an exception,
    because one damaged value must not stop a batch.

    Sources: RFC 4648; alibaba/canal (BLOB as ISO-8859-1); Huawei DRS, Kafka message format, JSON.

    >>> decode_binary("[106, -1, 103]", "java_bytes")
    b'j\xffg'
    """
    decode = _DECODERS.get(encoding or "")
    if text is None or decode is None:
        return None
    try:
        return decode(text)
    except (ValueError, KeyError):
        return None


def decode_binary_arrow(text: pa.Array, encoding: pa.Array) -> pa.Array:
    """Apply `decode_binary` to Arrow columns."""
    import pyarrow as pa

    return pa.array(map(decode_binary, texts(text), texts(encoding)), type=pa.binary())
