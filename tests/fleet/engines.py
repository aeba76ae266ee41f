"""The engines that answer the questions: each makes a function of a fleet's folder that answers a question's SQL."""

import importlib
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
CHECKOUT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(CHECKOUT, "python"))
fleet, tables = map(importlib.import_module, ("gpuverify.fleet", "gpuverify.fleet.tables"))

DIALECTS = ("duckdb", "spark", "clickhouse", "bigquery", "snowflake")


def duckdb(folder):
    import duckdb
    connection = duckdb.connect()
    fleet.duckdb_tables(connection, folder)
    return lambda sql: connection.execute(sql).fetchall()


def spark(folder):
    """On several workers of this machine."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    from pyspark.sql import SparkSession
    session = SparkSession.builder.master("local[4]").config("spark.ui.enabled", "false") \
        .config("spark.ui.showConsoleProgress", "false") \
        .config("spark.sql.shuffle.partitions", "4").config("spark.log.level", "ERROR").getOrCreate()
    fleet.spark_tables(session, folder)
    return lambda sql: [tuple(row) for row in session.sql(sql).collect()]


def chdb(folder):
    """ClickHouse, which leaves %2F in the names of folders as it is. A join that finds no row: NULL, as elsewhere. A day may
    be 'none'."""
    from chdb.session import Session
    session = Session()
    session.query("CREATE DATABASE IF NOT EXISTS fleet")
    session.query("USE fleet")
    session.query("SET join_use_nulls = 1")
    for name in tables.TABLES:
        if name not in tables.ON_REQUEST:
            files = os.path.join(folder, tables.FOLDER, name, "**", "*.parquet").replace("'", "\\'")
            session.query(f"CREATE OR REPLACE VIEW {name} AS "
                          "SELECT * REPLACE (decodeURLComponent(job) AS job, decodeURLComponent(host) AS host) "
                          f"FROM file('{files}', Parquet) SETTINGS use_hive_partitioning = 1, "
                          "input_format_try_infer_dates = 0, input_format_try_infer_datetimes = 0")

    def answer(sql):
        lines = session.query(sql.rstrip() + "\nFORMAT JSONCompactEachRow", "JSONCompactEachRow").bytes().decode()
        return [tuple(json.loads(line)) for line in lines.splitlines()]
    return answer
