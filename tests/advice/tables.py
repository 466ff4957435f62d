"""Advice of messages about tables and files."""

from __future__ import annotations

from advice.case import Case

FRAME = "import datetime, pandas; frame = pandas.DataFrame"
READ = "read = lambda text, **how: ((tmp / 'a.csv').write_text(text), qr.tables.read(tmp / 'a.csv', **how).array)[1]"

FRAMES = [
    Case(
        "holds whole numbers: round the column, or name a dtype=qr.fixed(k, f) for it",
        "mpc.input_frame(frame({'n': [1.5, 2.0]}), owner=0, columns={'n': qr.int(8)})['n']",
        "mpc.input_frame(frame({{'n': [1.5, 2.0]}}).round(), owner=0, columns={{'n': qr.int(8)}})['n']",
        [2, 2],
        before=FRAME,
    ),
    Case(
        "holds whole numbers: round the column, or name a dtype=qr.fixed(k, f) for it",
        "mpc.input_frame(frame({'n': [1.5, 2.0]}), owner=0, columns={'n': qr.int(8)})['n']",
        "mpc.input_frame(frame({{'n': [1.5, 2.0]}}), owner=0, columns={{'n': qr.fixed(16, 4)}})['n']",
        [1.5, 2.0],
        before=FRAME,
    ),
    Case(
        "may have lost digits: it was read as a float, which has 53 bits; read whole numbers, {}",
        "mpc.input_frame(pandas.read_csv(path).dropna(), owner=0, columns={'id': qr.int(64)})['id']",
        "mpc.input_frame({0}.dropna(), owner=0, columns={{'id': qr.int(64)}})['id']",
        [123456789012345677, 123456789012345678],
        r"read whole numbers, (pandas\.read_csv\(path, dtype=\{'id': 'Int64'\}\))",
        before="import pandas; path = tmp / 'a.csv'; "
        "_ = path.write_text('id,n\\n123456789012345677,1\\n,2\\n123456789012345678,3\\n')",
    ),
    Case(
        "{} does not fit {}, which holds {}: name a wider dtype",
        "mpc.input_frame(frame({'n': [1, 300]}), owner=0, columns={'n': qr.int(8)})['n']",
        "mpc.input_frame(frame({{'n': [1, 300]}}), owner=0, columns={{'n': qr.int(16)}})['n']",
        [1, 300],
        before=FRAME,
    ),
    Case(
        "is no word: leave out '\\0' and half characters",
        "mpc.input_frame({'t': ['a']}, owner=0, columns={'t': ['a\\0', 'b']})['t'] == 'a'",
        "mpc.input_frame({{'t': ['a']}}, owner=0, columns={{'t': ['a', 'b']}})['t'] == 'a'",
        [True],
    ),
    Case(
        "{} is missing or infinite: fill it in, or drop the row",
        "mpc.input_frame({'n': np.array([1.0, np.inf])}, owner=0, columns={'n': qr.int(8)})['n']",
        "mpc.input_frame({{'n': np.array([1.0])}}, owner=0, columns={{'n': qr.int(8)}})['n']",
        [1],
    ),
    Case(
        "{}: the value{} in row {} {}: fill it in, or drop the row",
        "mpc.input_frame(frame({'n': [1.0, None]}), owner=0, columns={'n': qr.int(8)})['n']",
        "mpc.input_frame(frame({{'n': [1.0, None]}}).fillna(0), owner=0, columns={{'n': qr.int(8)}})['n']",
        [1, 0],
        before=FRAME,
    ),
    Case(
        "{}: the value{} in row {} is missing: fill it in, or drop the row",
        "given(frame({'n': pandas.array([1, None], 'Int64')}))",
        "given(frame({{'n': pandas.array([1, None], 'Int64')}}).dropna())",
        [[1]],
        before=FRAME,
    ),
    Case(
        "not numbers or times of day: give date.date(), or values.astype('datetime64[D]') of many",
        "given([qr.days(date)])",
        "given([qr.days({0})])",
        [10957],
        r"give (date\.date\(\))",
        before="import datetime; date = datetime.datetime(2000, 1, 1, 12, 30)",
    ),
    Case(
        "not numbers or times of day: give date.date(), or values.astype('datetime64[D]') of many",
        "given(qr.days(values))",
        "given(qr.days({0}))",
        [10957],
        r"or (values\.astype\('datetime64\[D\]'\))",
        before="values = np.array(['2000-01-01T12:30'], 'datetime64[m]')",
    ),
    Case(
        "a date is missing: fill it in, or drop the row",
        "given(qr.days(np.array(['2000-01-01', 'NaT'], 'datetime64[D]')))",
        "given(qr.days(np.array(['2000-01-01'], 'datetime64[D]')))",
        [10957],
    ),
    Case(
        "of times of day, write frame[{}] = frame[{}].dt.date first",
        "mpc.input_frame(frame, owner=0, columns={'since': datetime.date})['since'] + 0",
        "{0}; mpc.input_frame(frame, owner=0, columns={{'since': datetime.date}})['since'] + 0",
        [10957, 10958],
        r"write (frame\['since'\] = frame\['since'\]\.dt\.date) first",
        before="import datetime, pandas; "
        "frame = pandas.DataFrame({'since': pandas.to_datetime(['2000-01-01 12:30', '2000-01-02 08:00'])})",
    ),
    Case(
        "the date is missing: fill it in, or drop the row",
        "mpc.input_frame(frame({'d': ['2000-01-01', None]}), owner=0, columns={'d': datetime.date})['d'] + 0",
        "mpc.input_frame(frame({{'d': ['2000-01-01', None]}}).dropna(), owner=0, columns={{'d': "
        "datetime.date}})['d'] + 0",
        [10957],
        before=FRAME,
    ),
    Case(
        "leave it out, or encode it; {}",
        "given(frame({'n': [1], 't': ['a']}))",
        "given(frame({{'n': [1], 't': ['a']}}).drop(columns='t'))",
        [[1]],
        before=FRAME,
    ),
    Case(
        "integers{} are too long to stand beside reals: give them apart, or scale them",
        "given(frame({'id': [2**53 + 1], 'x': [0.5]}))",
        "given(frame({{'id': [2**53 + 1], 'x': [0.5]}})['id'])",
        [2**53 + 1],
        before=FRAME,
    ),
    Case(
        'input_frame: state the columns, such as columns={"age": qr.int(16)}',
        "mpc.input_frame({'age': [1]}, owner=0, columns={})",
        "mpc.input_frame({{'age': [1]}}, owner=0, {0})['age']",
        [1],
        r"such as (columns=\{[^}]*\})",
    ),
    Case(
        "input_frame: party {} is here: give its table",
        "mpc.input_frame(None, owner=0, columns={'age': qr.int(16)})",
        "mpc.input_frame({{'age': [1]}}, owner=0, columns={{'age': qr.int(16)}})['age']",
        [1],
    ),
    Case(
        ": write frame[{}]",
        "mpc.input_frame({'age': [1]}, owner=0, columns={'age': qr.int(16)}).age",
        "frame = mpc.input_frame({{'age': [1]}}, owner=0, columns={{'age': qr.int(16)}}); {0}",
        [1],
        r"write (frame\['age'\])",
    ),
    Case(
        ": write {}",
        "mpc.input_frame({'age': [50, 7], 'income': [3, 4]}, owner=0, columns=kinds).query('age > 40')",
        "frame = mpc.input_frame({{'age': [50, 7], 'income': [3, 4]}}, owner=0, columns=kinds); "
        '(frame["age"] > 40) * frame["income"]',
        [3, 0],
        before="kinds = {'age': qr.int(16), 'income': qr.int(16)}",
    ),
    Case(
        "several columns have one name: rename them, or read it with qr.read",
        "parquet.write_table(table, tmp / 'a.parquet'); mpc.read(tmp / 'a.parquet', owner=0, columns=[0])",
        "parquet.write_table(table.rename_columns(['n', 'm']), tmp / 'a.parquet'); "
        "mpc.read(tmp / 'a.parquet', owner=0, columns=[0])",
        [[1], [2]],
        before="import pyarrow, pyarrow.parquet; parquet = pyarrow.parquet; "
        "table = pyarrow.Table.from_arrays([pyarrow.array([1, 2])] * 2, names=['n', 'n'])",
    ),
    Case(
        "several columns have one name: rename them, or read it with qr.read",
        "parquet.write_table(table, tmp / 'a.parquet'); mpc.read(tmp / 'a.parquet', owner=0, columns=[0])",
        "parquet.write_table(table, tmp / 'a.parquet'); "
        "mpc.input(qr.read(tmp / 'a.parquet', columns=[0]).array, owner=0)",
        [[1], [2]],
        before="import pyarrow, pyarrow.parquet; parquet = pyarrow.parquet; "
        "table = pyarrow.Table.from_arrays([pyarrow.array([1, 2])] * 2, names=['n', 'n'])",
    ),
]

FILES = [
    Case(
        "columns: {} is no column: give names, or whole numbers from 0",
        "read('a,b\\n1,2\\n', columns=[1.5])",
        "read('a,b\\n1,2\\n', columns=['b'])",
        [[2]],
    ),
    Case("no names: give numbers, from 0", "read('1,2\\n', columns=['b'])", "read('1,2\\n', columns=[1])", [[2]]),
    Case("the first line {}: make them alike", "read('a,b\\n1,2,3\\n')", "read('a,b\\n1,2\\n')", [[1, 2]]),
    Case(
        "{}: the value is missing: fill it in, or drop the record",
        "read('a,b\\n1,\\n3,4\\n')",
        "read('a,b\\n3,4\\n')",
        [[3, 4]],
    ),
    Case(
        "true and false stand beside numbers: write 1 and 0",
        "read('a\\n1\\ntrue\\n')",
        "read('a\\n1\\n1\\n')",
        [[1], [1]],
    ),
    Case(
        "does not fit 64 bits: scale or split it",
        "read('a\\n99999999999999999999999\\n')",
        "read('a\\n99999\\n')",
        [[99999]],
    ),
    Case(
        "encode it, or leave the column out;",
        "read('a,t\\n1,Rome\\n')",
        "read('a,t\\n1,Rome\\n', columns=['a'])",
        [[1]],
    ),
    Case(
        "too long beside reals or negative numbers: give them apart, or scale them",
        "read('a\\n9007199254740993\\n0.5\\n')",
        "read('a\\n9007199254740993\\n')",
        [[2**53 + 1]],
    ),
    Case(
        "{} is a folder: name a file",
        "(tmp / 'r.csv').mkdir(); qr.tables.write(np.array([[1]]), tmp / 'r.csv')",
        "qr.tables.write(np.array([[1]]), tmp / 's.csv'); qr.tables.read(tmp / 's.csv').array.tolist() == [[1]]",
        True,
    ),
    Case(
        "is not a table; reshape it, or write .json",
        "qr.tables.write(np.ones((1, 1, 2)), tmp / 'r.csv')",
        "qr.tables.write(np.ones((1, 1, 2)).reshape(1, 2), tmp / 'r.csv'); qr.tables.read(tmp / 'r.csv').array",
        [[1.0, 1.0]],
    ),
    Case(
        "JSON has no {} (at index {}): replace it, or write .csv",
        "qr.tables.write(np.array([np.nan]), tmp / 'r.json')",
        "qr.tables.write(np.array([np.nan]), tmp / 'r.csv')",
        ...,
    ),
    Case(
        "{}: numbers beyond int64: state dtype=qr.uint(64)",
        "(tmp / 'a.csv').write_text('n\\n9223372036854775808\\n'); mpc.input_file(tmp / 'a.csv', owner=0)",
        "(tmp / 'a.csv').write_text('n\\n9223372036854775808\\n'); mpc.input_file(tmp / 'a.csv', owner=0, {0})",
        [[2**63]],
        r"state (dtype=qr\.uint\(64\))",
    ),
    Case(
        "changed while it was read: leave it as it is until the session ends, or read a copy",
        "(tmp / 'a.csv').write_text('n\\n1\\n2\\n'); x = mpc.read(tmp / 'a.csv', owner=0, columns='n'); "
        "(tmp / 'a.csv').write_text('n\\n1\\n2\\n3\\n'); x.sum()",
        "(tmp / 'a.csv').write_text('n\\n1\\n2\\n'); x = mpc.read(tmp / 'a.csv', owner=0, columns='n'); x.sum()",
        3,
    ),
]

CASES = [*FRAMES, *(case._replace(before=READ) for case in FILES)]
