"""docs/json.md promises shapes; here they are compared with what the commands write."""

import json
import os
import re

import harness
import stored

TYPES = {"text": str, "number": (int, float), "array": list, "object": dict, "null": type(None),
         "bool": bool}

# section of docs/json.md: command lines about a stored trace, {} being the trace
DOCUMENTS = {
    "gpuverify check": [("lazy_launch", ["check", "{}", "--no-jit", "--max-errors", "0"]),
                        ("hostile", ["check", "{}", "--max-errors", "9", "--no-jit"])],
    "gpuverify query": [("lazy_launch", ["query", "{}", "kernels"])],
    "gpuverify query --list": [("lazy_launch", ["query", "--list"])],
    "gpuverify schema": [("lazy_launch", ["schema"]), ("lazy_launch", ["schema", "--tables"])],
    "gpuverify stalls": [("lazy_launch", ["stalls", "{}", "--all"]), ("hostile", ["stalls", "{}"])],
}


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


class Json(harness.Case):
    def documents(self, section):
        for trace, words in DOCUMENTS[section]:
            if not os.path.exists(self.path(trace + ".db")):
                stored.make(trace, self.path(trace + ".db"))
            result = self.command(*(word.format(trace + ".db") for word in words), "--format", "json",
                                  sim=False)
            self.assertNotIn("\x1b", result.out)
            yield json.loads(result.out)

    def test_every_document_is_described(self):
        self.assertEqual(set(promised()), set(DOCUMENTS))

    def test_documents_have_the_promised_shape(self):
        for section, fields in promised().items():
            seen = set()
            if not fields:  # its shape is the question's
                continue
            for document in self.documents(section):
                for path, value in walk(document):
                    self.assertIn(path, fields, f"{section} writes a field that docs/json.md lacks")
                    seen.add(path)
                    allowed = tuple(TYPES[name] for name in fields[path])
                    self.assertTrue(any(isinstance(value, one) for one in allowed),
                                    f"{section}: {path} is {value!r}, not {fields[path]}")
            self.assertEqual(set(fields) - seen, set(), f"{section} does not write these")
