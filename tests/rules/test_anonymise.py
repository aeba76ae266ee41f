"""Every text column of the schema has a row in report/commands/export/anonymise.def, so that a new one is not
copied unnoticed."""

import os
import re
import sqlite3
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def read(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        return file.read()


def columns(sql):
    """{(table, column): declared type} of the tables that have no rows of the schema's own."""
    database = sqlite3.connect(":memory:")
    database.executescript(sql)
    tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
              if not database.execute(f"SELECT count(*) FROM {name}").fetchone()[0]]
    return {(table, row[1]): row[2] for table in tables for row in database.execute(f"PRAGMA table_info({table})")}


def unnamed(sql, rules):
    named = set(re.findall(r"^GV_ANONYMISE\((\w+), (\w+), \w+\)", rules, re.M))
    again = set(re.findall(r"^GV_ANONYMISE_AGAIN\((\w+)\)", rules, re.M))
    known = columns(sql)
    texts = {column for column, kind in known.items() if kind != "INTEGER" and column[0] not in again}
    return sorted(texts - named), sorted(named - set(known))


class Anonymise(unittest.TestCase):
    def setUp(self):
        self.sql, self.rules = read("report/store/tables.sql"), read("report/commands/export/anonymise.def")

    def test_each_text_column_has_a_rule(self):
        self.assertEqual(unnamed(self.sql, self.rules), ([], []))

    def test_a_new_column_is_noticed(self):
        self.assertEqual(unnamed(self.sql + "CREATE TABLE new (id INTEGER, text TEXT);"
                                 "ALTER TABLE load ADD COLUMN owner TEXT; ALTER TABLE load ADD COLUMN any;", self.rules)[0],
                         [("load", "any"), ("load", "owner"), ("new", "text")])


if __name__ == "__main__":
    unittest.main()
