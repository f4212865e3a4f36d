"""Tables that are read when they are needed."""

from typing import Any, Iterator, List, Optional, Sequence

import pyarrow
import pyarrow.dataset

from .errors import optional


class Table:
    """A table of a run. Its rows are read when they are first needed, and then kept.

    `select` and `filter` return tables that read only these columns and keep only
    these rows. Everything that a pyarrow.Table has is here too, and reads the rows:
    `run.profile.group_by("call").aggregate([("bytes", "sum")])`. pyarrow, polars and
    DuckDB take a Table where they take an Arrow stream.
    """

    def __init__(self, dataset: Any, columns: Optional[Sequence[str]] = None, condition: Any = None) -> None:
        self._dataset = dataset
        self._columns = None if columns is None else list(columns)
        self._condition = condition
        self._arrow: Any = None

    @property
    def dataset(self) -> Any:
        """The whole table as a pyarrow.dataset.Dataset, which reads batch by batch."""
        return self._dataset

    @property
    def schema(self) -> Any:
        """The pyarrow.Schema. The metadata of each field has its unit and meaning. Reads no rows."""
        schema = self._dataset.schema
        if self._columns is None:
            return schema
        return pyarrow.schema([schema.field(name) for name in self._columns], schema.metadata)

    @property
    def column_names(self) -> List[str]:
        """The names of the columns. Reads no rows."""
        return list(self.schema.names)

    @property
    def num_rows(self) -> int:
        """The number of rows. Reads only the columns of the conditions, if any."""
        if self._arrow is not None:
            return int(self._arrow.num_rows)
        return int(self._dataset.count_rows(filter=self._condition))

    def __len__(self) -> int:
        return self.num_rows

    def select(self, columns: Sequence[str]) -> "Table":
        """Return the table with only these columns."""
        for name in columns:
            if name not in self.column_names:
                raise KeyError(f"no column {name!r}: there are {', '.join(self.column_names)}")
        return Table(self._dataset, columns, self._condition)

    def filter(self, condition: Any) -> "Table":
        """Return the table with only the rows that match a pyarrow expression.

        For instance `pyarrow.compute.field("class") == "p2p"`.
        """
        both = condition if self._condition is None else self._condition & condition
        return Table(self._dataset, self._columns, both)

    def batches(self) -> Iterator[Any]:
        """Yield the rows as pyarrow.RecordBatches, without keeping them."""
        yield from self._dataset.to_batches(columns=self._columns, filter=self._condition)

    def to_arrow(self) -> Any:
        """Return the rows as a pyarrow.Table."""
        if self._arrow is None:
            rows = self._dataset.to_table(columns=self._columns, filter=self._condition)
            self._arrow = rows.replace_schema_metadata(self._dataset.schema.metadata)
        return self._arrow

    def to_pandas(self, **options: Any) -> Any:
        """Return the rows as a pandas.DataFrame, with the types of pandas.read_feather.

        Texts are categoricals; ranks and lines that may be null are Int32. Columns of
        numbers without null share the memory of the Arrow table if that has one batch,
        and are then read-only. With `types_mapper=pandas.ArrowDtype` all columns share it.
        Options are those of pyarrow.Table.to_pandas.
        """
        optional("pandas", "pandas")
        return self.to_arrow().to_pandas(**{"split_blocks": True, **options})

    def to_polars(self) -> Any:
        """Return the rows as a polars.DataFrame.

        It shares the memory of the Arrow table, except for texts, which are categoricals.
        """
        return optional("polars", "polars").from_arrow(self.to_arrow(), rechunk=False)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def __getitem__(self, key: Any) -> Any:
        return self.to_arrow()[key]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not hasattr(pyarrow.Table, name):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.to_arrow(), name)

    def __repr__(self) -> str:
        return f"<mpitrace.Table with {self.num_rows} rows: {', '.join(self.column_names)}>"
