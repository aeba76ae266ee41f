"""The tables of a trace, as report/store/schema.def has them."""

import importlib.machinery
import importlib.util
import os
import sys

STORE = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "report", "store")
DEFINITION = os.path.join(STORE, "schema.def")


def load(path):
    """A script without an ending, as a module. It leaves no compiled file beside it."""
    loader = importlib.machinery.SourceFileLoader("embed_schema", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    loader.exec_module(module)
    sys.dont_write_bytecode = before
    return module


embed = load(os.path.join(STORE, "embed-schema"))


def tables():
    return embed.read(DEFINITION)


def sql():
    """Makes the tables and the views."""
    with open(os.path.join(STORE, "views.sql"), encoding="utf-8") as views:
        return embed.sql(DEFINITION) + views.read()
