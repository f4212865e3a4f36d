"""Answers the questions of questions.sql about runs with DuckDB, Spark or polars.

    mpitrace export RUN --format parquet --partition 1024 --tables all -o DATASET
    engines.py --engine duckdb DATASET...
"""

import argparse
import json
import re
import sys
from pathlib import Path

TABLES = ["profile", "communicators", "ranks", "events", "waits"]


def questions():
    """Returns the statements of questions.sql by their names."""
    text = Path(__file__).with_name("questions.sql").read_text()
    parts = re.split(r"^-- name: (\w+)$", text, flags=re.MULTILINE)
    return {name: sql.strip().rstrip(";") for name, sql in zip(parts[1::2], parts[2::2])}


def tables(datasets):
    """Returns the directories of each table that all datasets have."""
    found = {table: [Path(d) / table for d in datasets] for table in TABLES}
    return {table: dirs for table, dirs in found.items() if all(d.is_dir() for d in dirs)}


# Settings of Spark.
SETTINGS = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.sql.shuffle.partitions": "8"}


class DuckDB:
    def __init__(self, datasets):
        import duckdb

        self.db = duckdb.connect()
        self.tables = tables(datasets)
        for table, dirs in self.tables.items():
            files = [f"{d}/**/*.parquet" for d in dirs]
            self.db.sql(f"create view {table} as from read_parquet({files}, hive_partitioning = true)")

    def answer(self, sql):
        result = self.db.sql(sql)
        return result.columns, result.fetchall()

    def close(self):
        self.db.close()


class Spark:
    """Spark; its default here has two workers of one core and 1 GiB each."""

    def __init__(self, datasets, master):
        import functools

        import pyspark.sql

        builder = pyspark.sql.SparkSession.builder.master(master).appName("mpitrace")
        for key, value in SETTINGS.items():
            builder = builder.config(key, value)
        self.spark = builder.getOrCreate()
        self.spark.sparkContext.setLogLevel("ERROR")
        self.tables = tables(datasets)
        for table, dirs in self.tables.items():
            parts = [self.spark.read.parquet(str(d)) for d in dirs]
            functools.reduce(lambda a, b: a.unionByName(b), parts).createOrReplaceTempView(table)

    def answer(self, sql):
        result = self.spark.sql(sql)
        return result.columns, [tuple(row) for row in result.collect()]

    def close(self):
        self.spark.stop()


def bytes_by_node(datasets):
    """Answers the first question with polars, from the same directories."""
    import polars as pl

    def scan(table):
        return pl.concat([pl.scan_parquet(f"{d}/**/*.parquet", hive_partitioning=True) for d in tables(datasets)[table]])

    sends = scan("profile").filter((pl.col("class") == "p2p") & (pl.col("direction") == "send"))
    hosts = scan("ranks").select("run", "rank", "host")
    result = (
        sends.join(hosts.rename({"host": "from_node"}), on=["run", "rank"])
        .join(hosts.rename({"host": "to_node", "rank": "peer"}), on=["run", "peer"])
        .group_by("run", "from_node", "to_node")
        .agg(pl.col("messages").sum(), pl.col("bytes").sum())
        .sort(["run", "bytes", "from_node", "to_node"], descending=[False, True, False, False])
        .collect()
    )
    return result.columns, result.rows()


def answers(engine, datasets, master):
    """Yields each question with the columns and the rows of its answer, None if a table is missing."""
    if engine == "polars":
        yield "bytes_by_node", *bytes_by_node(datasets)
        return
    on = DuckDB(datasets) if engine == "duckdb" else Spark(datasets, master)
    for name, sql in questions().items():
        if all(table in on.tables for table in re.findall(rf"\b(?:from|join) ({'|'.join(TABLES)})\b", sql)):
            yield name, *on.answer(sql)
        else:
            yield name, None, None
    on.close()


def show(columns, rows, most):
    cells = [columns] + [[f"{v:.3f}" if isinstance(v, float) else str(v) for v in row] for row in rows[:most]]
    widths = [max(map(len, column)) for column in zip(*cells)]
    for row in cells:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
    if len(rows) > most:
        print(f"and {len(rows) - most} more rows")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("datasets", nargs="+", metavar="DATASET", help="directory that mpitrace export --tables wrote")
    parser.add_argument("--engine", choices=["duckdb", "spark", "polars"], default="duckdb")
    parser.add_argument("--top", type=int, default=5, help="the number of rows to print")
    parser.add_argument("--json", action="store_true", help="print all rows, as JSON")
    parser.add_argument("--master", default="local-cluster[2,1,1024]", help="Spark's master")
    args = parser.parse_args()
    found = answers(args.engine, args.datasets, args.master)
    if args.json:
        json.dump({name: rows and [dict(zip(columns, row)) for row in rows] for name, columns, rows in found}, sys.stdout)
        return
    for name, columns, rows in found:
        print(f"\n{name}")
        if rows is None:
            print("not answered: the datasets do not have all of its tables")
        else:
            show(columns, rows, args.top)


if __name__ == "__main__":
    main()
