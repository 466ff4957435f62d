"""Tables: data frames and files as inputs, and files of results.

pandas, polars and pyarrow are used only where their objects are given, and pyarrow for Parquet and Arrow files. CSV and
JSON need none of them.
"""

from quorate.tables._read import Table, read
from quorate.tables._write import output, write

__all__ = ["Table", "output", "read", "write"]
