"""Text as a tokenizer can take it: any Python string in, one that encodes to UTF-8 out.

JSON and msgpack let half of a surrogate pair through, and no tokenizer accepts one.
"""


def well_formed(text: str) -> str:
    """Joins surrogate pairs into the character they stand for; a lone surrogate becomes U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
