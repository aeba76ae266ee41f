"""The JSON fields that docs/json.md promises."""

import os
import re

import stored

TYPES = {"text": str, "number": (int, float), "array": list, "object": dict, "null": type(None),
         "bool": bool}


def promised():
    """{section: {field: [type, ...]}} of docs/json.md."""
    sections, fields = {}, None
    with open(os.path.join(stored.ROOT, "docs", "json.md"), encoding="utf-8") as page:
        for line in page:
            heading = re.match(r"## (.*)", line)
            row = re.match(r"\| `([^`]+)` \| ([a-z ]+) \|", line)
            if heading:
                fields = sections.setdefault(heading[1].strip(), {})
            elif row:
                fields[row[1]] = row[2].strip().split(" or ")
    return sections


def walk(value, path=""):
    """Every field of a document as (path, value)."""
    if path:
        yield path, value
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from walk(inner, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for inner in value:
            if isinstance(inner, dict):
                for key, part in inner.items():
                    yield from walk(part, f"{path}[].{key}")


def check(case, section, documents):
    """Checks that the documents have exactly the section's fields, with these types."""
    fields, seen = promised()[section], set()
    for document in documents:
        for path, value in walk(document):
            case.assertIn(path, fields, f"{section} writes a field that docs/json.md lacks")
            seen.add(path)
            allowed = tuple(TYPES[name] for name in fields[path])
            case.assertTrue(any(isinstance(value, one) for one in allowed),
                            f"{section}: {path} is {value!r}, not {fields[path]}")
    case.assertEqual(set(fields) - seen, set(), f"{section} does not write these")
