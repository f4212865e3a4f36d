"""Answers the questions of questions.sql about runs with DuckDB, Spark or polars.

    mpitrace export RUN --format parquet --partition 1024 --tables all -o DATASET
    engines.py --engine duckdb DATASET...
"""

import argparse
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
    """Spark with two workers of one core and 1 GiB each, or with --master."""

    def __init__(self, datasets, master="local-cluster[2,1,1024]", settings=()):
        import functools

        import pyspark.sql

        builder = pyspark.sql.SparkSession.builder.master(master).appName("mpitrace")
        for key, value in {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.sql.shuffle.partitions": "8", **dict(settings)}.items():
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


class Polars:
    """The same directories by polars' expressions, for the first question."""

    def __init__(self, datasets):
        self.tables = tables(datasets)

    def scan(self, table):
        import polars

        return polars.concat([polars.scan_parquet(f"{d}/**/*.parquet", hive_partitioning=True) for d in self.tables[table]])

    def bytes_by_node(self):
        import polars as pl

        sends = self.scan("profile").filter((pl.col("class") == "p2p") & (pl.col("direction") == "send"))
        hosts = self.scan("ranks").select("run", "rank", "host")
        result = (
            sends.join(hosts.rename({"host": "from_node"}), on=["run", "rank"])
            .join(hosts.rename({"host": "to_node", "rank": "peer"}), on=["run", "peer"])
            .group_by("run", "from_node", "to_node")
            .agg(pl.col("messages").sum(), pl.col("bytes").sum())
            .sort(["run", "bytes", "from_node", "to_node"], descending=[False, True, False, False])
            .collect()
        )
        return result.columns, result.rows()


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
    parser.add_argument("--question", choices=list(questions()), help="only this one")
    parser.add_argument("--top", type=int, default=5, help="the number of rows to print")
    parser.add_argument("--master", default="local-cluster[2,1,1024]", help="Spark's master")
    args = parser.parse_args()
    if args.engine == "polars":
        show(*Polars(args.datasets).bytes_by_node(), args.top)
        return
    engine = DuckDB(args.datasets) if args.engine == "duckdb" else Spark(args.datasets, args.master)
    for name, sql in questions().items():
        if args.question not in (None, name):
            continue
        print(f"\n{name}")
        missing = [t for t in TABLES if re.search(rf"\b(from|join) {t}\b", sql) and t not in engine.tables]
        if missing:
            print(f"not answered: no table {', '.join(missing)}")
            continue
        show(*engine.answer(sql), args.top)
    engine.close()


if __name__ == "__main__":
    sys.exit(main())
