"""`gpuverify fleet DIR [QUESTION]`, which calls main()."""

from __future__ import annotations

import argparse
import csv
import importlib
import os
import signal
import sys

from . import duckdb_tables, question, questions
from .tables import FOLDER


def _sql(name: str) -> str:
    if name.endswith(".sql"):
        with open(name, encoding="utf-8") as file:
            return file.read()
    return question(name)


def _list() -> None:
    known = questions()
    for name, text in known.items():
        print(f"{name:{max(map(len, known))}}  {text}")


def _answer(folder: str, sql: str, as_csv: bool) -> None:
    connection = importlib.import_module("duckdb").connect()
    duckdb_tables(connection, folder)
    rows = connection.sql(sql)
    if rows is None:
        raise ValueError("the question has no SELECT")
    if not as_csv:
        rows.show(max_rows=10000, max_width=10000, max_col_width=80)
        return
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(rows.columns)
    writer.writerows(rows.fetchall())


def _run(options: argparse.Namespace) -> str | None:
    if options.question and not options.question.endswith(".sql") and options.question not in questions():
        return f"no question is called '{options.question}': {', '.join(questions())}"
    if options.question and options.format == "sql":
        print(_sql(options.question), end="")
    elif "://" not in options.folder and not os.path.isdir(os.path.join(options.folder, FOLDER)):
        return f"{options.folder} has no exported traces; gpuverify export --to parquet {options.folder} TRACE..."
    elif options.question is None:
        _list()
    else:
        _answer(options.folder, _sql(options.question), options.format == "csv")
    return None


def main(words: list[str]) -> int:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    parser = argparse.ArgumentParser("gpuverify fleet", add_help=False)
    parser.add_argument("--format", default="table")
    parser.add_argument("folder")
    parser.add_argument("question", nargs="?")
    try:
        wrong = _run(parser.parse_args(words))
    except ImportError as why:
        wrong = f"{sys.executable} cannot answer: {why}; pip install duckdb"
    except Exception as why:  # DuckDB's errors have no common base that is there without it
        wrong = str(why)
    if wrong:
        print(f"gpuverify: {wrong}", file=sys.stderr)
    return 3 if wrong else 0
