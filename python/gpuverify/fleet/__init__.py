"""Many traces: Parquet files that `gpuverify export --to parquet` writes, and questions about them in SQL.

    import duckdb
    from gpuverify import fleet

    connection = duckdb.connect()
    fleet.duckdb_tables(connection, "fleet")
    print(connection.sql(fleet.question("gpu_hours")))

`fleet.spark_tables(spark, "s3a://bucket/fleet")` does the same for a Spark session.
"""

from __future__ import annotations

import glob
import os
from typing import Any

from .tables import FOLDER, ON_REQUEST, TABLES

__all__ = ["duckdb_tables", "question", "questions", "spark_tables"]

_HERE = os.path.dirname(os.path.abspath(__file__))


def questions() -> dict[str, str]:
    """The names of the questions, and what each one asks: the first line of its file."""
    found = {}
    for name in sorted(os.listdir(_HERE)):
        if name.endswith(".sql"):
            found[name[:-4]] = question(name[:-4]).splitlines()[0].lstrip("- ")
    return found


def question(name: str) -> str:
    """The SQL of a question."""
    with open(os.path.join(_HERE, name + ".sql"), encoding="utf-8") as file:
        return file.read()


def _present(folder: str) -> list[tuple[str, str]]:
    """The tables of a fleet and their folders. Somewhere else than on a file system, those that are always there."""
    found = [(name, f"{folder.rstrip('/')}/{FOLDER}/{name}") for name in TABLES]
    return [(name, path) for name, path in found
            if (name not in ON_REQUEST if "://" in path else os.path.isdir(path))]


def duckdb_tables(connection: Any, folder: str) -> None:
    """Names the tables of a fleet in a connection of DuckDB."""
    if "=" in folder:
        raise ValueError(f"{folder}: DuckDB takes a folder that is called NAME=VALUE as a column")
    for name, path in _present(folder):
        files = glob.escape(path).replace("'", "''") + "/**/*.parquet"
        connection.execute(f"CREATE OR REPLACE VIEW {name} AS SELECT * FROM "
                           f"read_parquet('{files}', hive_partitioning = true, hive_types_autocast = false)")


def spark_tables(spark: Any, folder: str) -> None:
    """Names the tables of a fleet in a Spark session. Job 007 stays a text."""
    spark.conf.set("spark.sql.sources.partitionColumnTypeInference.enabled", "false")
    for name, path in _present(folder):
        spark.read.parquet(path).createOrReplaceTempView(name)
