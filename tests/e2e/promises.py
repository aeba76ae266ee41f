"""The JSON that docs/json/*.json promise: of JSON Schema, the keywords that `resolved` knows."""

import functools
import json
import os

import stored

FOLDER = os.path.join(stored.ROOT, "docs", "json")
KEYWORDS = {"$schema", "title", "description", "type", "items", "properties", "additionalProperties", "$ref", "$defs"}
TYPES = {"string": str, "number": (int, float), "integer": (int, float), "array": list, "object": dict, "null": type(None),
         "boolean": bool}


def commands():
    """The names of the files."""
    return {name.removesuffix(".json") for name in os.listdir(FOLDER)}


@functools.cache
def document(name):
    with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
        return json.load(file)


def resolved(name, schema):
    """The schema with what it refers to, and the file that this is in."""
    assert set(schema) <= KEYWORDS, f"{name}: {set(schema) - KEYWORDS}: tests/e2e/promises.py would not check it"
    if "$ref" not in schema:
        return name, schema
    other, pointer = schema["$ref"].split("#")
    name = other or name
    part = document(name)
    for key in pointer.split("/")[1:]:
        part = part[key]
    own, its = schema.get("properties", {}), part.get("properties", {})
    assert not set(own) & set(its) and not {"type", "items"} & set(part) & set(schema), f"{name}: said twice"
    return name, {**part, **schema, "properties": {**its, **own}}


def is_a(value, name):
    if name in ("number", "integer") and isinstance(value, bool):
        return False
    return isinstance(value, TYPES[name]) and (name != "integer" or value == int(value))


class Checker:
    def __init__(self, case, command):
        self.case, self.command = case, command
        self.seen = set()

    def value(self, name, schema, value, path):
        """A value and all in it; `name` is the file whose schema it is."""
        name, schema = resolved(name, schema)
        self.seen.add(path)
        types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        self.case.assertTrue(any(is_a(value, one) for one in types), f"{self.command}: {path} is {value!r}, not {types}")
        if isinstance(value, dict):
            self.fields(name, schema, value, path)
        for row in value if isinstance(value, list) else ():
            self.value(name, schema["items"], row, f"{path}[]")
            if isinstance(row, dict):  # the columns of CSV
                order = [key for key in resolved(name, schema["items"])[1].get("properties", row) if key in row]
                self.case.assertEqual(order, list(row), f"{self.command}: {path}: another order than in docs/json")

    def fields(self, name, schema, value, path):
        known = schema.get("properties", {})
        for key, inner in value.items():
            one = known.get(key, schema.get("additionalProperties"))
            self.case.assertIsNotNone(one, f"{self.command} writes {path}.{key}, which docs/json/{name} lacks")
            self.value(name, one, inner, f"{path}.{key}")
        for key in set(known) - set(value):
            self.case.assertTrue("each absent" in schema.get("description", "") or "absent" in known[key].get("description", ""),
                                 f"{self.command} has no {path}.{key}, of which docs/json/{name} does not say when it is absent")


def paths(name, schema, path=""):
    """Every field that a schema describes."""
    name, schema = resolved(name, schema)
    yield path
    for key, inner in schema.get("properties", {}).items():
        yield from paths(name, inner, f"{path}.{key}")
    if "items" in schema:
        yield from paths(name, schema["items"], f"{path}[]")


def check(case, command, documents):
    """Checks that the documents have exactly the command's fields, with these types."""
    checker, name = Checker(case, command), f"{command}.json"
    for one in documents:
        checker.value(name, document(name), one, "")
    case.assertEqual(set(paths(name, document(name))) - checker.seen, set(), f"{command} does not write these")
