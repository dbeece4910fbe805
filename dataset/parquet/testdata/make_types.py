"""Writes the fixtures of TestTypes: python make_types.py

pyarrow, polars, DuckDB and Spark each write a table with a column of every type that they have, and two rows of nulls
or of other values. Beside each file stands NAME.json: the values as the library that wrote the file reads them, each
as "kind value". Needs pyarrow, pandas, polars, duckdb, pyspark and Java; a library whose version lacks a type leaves it out.
"""
import datetime, decimal, glob, json, os, shutil, sys, uuid

import duckdb, pandas as pd, polars as pl, pyarrow as pa, pyarrow.parquet as pq

os.environ["TZ"] = "UTC"
os.chdir(os.path.dirname(os.path.abspath(__file__)))
os.makedirs("types", exist_ok=True)
D, DT, TD = decimal.Decimal, datetime.datetime, datetime.timedelta
UTC = datetime.timezone.utc
day, moment, clock = datetime.date(1969, 12, 30), DT(1965, 3, 4, 5, 6, 7, 891234), datetime.time(1, 2, 3, 456789)
later = DT(2262, 1, 1)
some_uuid = uuid.UUID("fedcba98-7654-3210-8000-00000000000f")


def tagged(v):
    """A value of Python as "kind value"; times in UTC, with all digits."""
    if v is None or v is pd.NaT:
        return None
    if isinstance(v, bool):
        return f"bool {str(v).lower()}"
    if isinstance(v, int):
        return f"int {v}"
    if isinstance(v, float):
        return f"float {v!r}"
    if isinstance(v, D):
        return f"decimal {v:f}"
    if isinstance(v, pd.Timestamp):
        v = v.tz_convert("UTC") if v.tzinfo else v
        return f"time {v.strftime('%Y-%m-%dT%H:%M:%S')}.{v.microsecond * 1000 + v.nanosecond:09d}Z"
    if isinstance(v, DT):
        v = v.astimezone(UTC) if v.tzinfo else v
        return f"time {v.strftime('%Y-%m-%dT%H:%M:%S')}.{v.microsecond * 1000:09d}Z"
    if isinstance(v, datetime.date):
        return f"time {v.isoformat()}T00:00:00.000000000Z"
    if isinstance(v, str):
        return f"text {v}"
    if isinstance(v, uuid.UUID):
        return f"text {v}"
    if isinstance(v, (bytes, bytearray)):
        return f"bytes {bytes(v).hex()}"
    if isinstance(v, (list, tuple)) and not hasattr(v, "_fields"):
        return "list " + json.dumps([tagged(x) for x in v])
    return f"{type(v).__name__} {v}"


def keep(name, values):
    with open(f"types/{name}.json", "w") as f:
        lines = (json.dumps(c) + ": " + json.dumps([tagged(v) for v in column], ensure_ascii=False) for c, column in values.items())
        f.write("{\n" + ",\n".join(lines) + "\n}\n")


def arrow():
    a, columns = pa.array, {}
    for kind, v in [("int8", -128), ("int16", -2**15), ("int32", -2**31), ("int64", -2**63), ("uint8", 255), ("uint16", 2**16 - 1),
                    ("uint32", 2**32 - 1), ("uint64", 2**64 - 1)]:
        columns[kind] = a([v, 1, None], kind)
        columns[f"list_{kind}"] = a([[v, 1], [2], None], pa.list_(getattr(pa, kind)()))
        columns[f"dictionary_{kind}"] = a([v, 1, None], kind).dictionary_encode()
    columns["float16"] = a([65504, 5.960464477539063e-08, None], pa.float16())
    columns["float32"] = a([3.4028234663852886e38, 1e-45, None], pa.float32())
    columns["float64"] = a([0.1, 2.5e-300, float("nan")], pa.float64())
    columns["bool"] = a([True, False, None])
    columns["decimal_5_2"] = a([D("-123.45"), D("0.01"), None], pa.decimal128(5, 2))
    columns["decimal_18_0"] = a([D(-(10**18 - 1)), D(7), None], pa.decimal128(18, 0))
    columns["decimal_38_10"] = a([D("-1234567890123456789012345678.0123456789"), D("0.5"), None], pa.decimal128(38, 10))
    columns["decimal256"] = a([D("-1" * 1 + "9" * 60 + ".25"), D("0.75"), None], pa.decimal256(70, 2))
    columns["decimal_negative_scale"] = a([D("-12300"), D("100"), None], pa.decimal128(5, -2))
    columns["decimal32"] = a([D("-1.25"), D("9999.99"), None], pa.decimal32(6, 2))
    columns["decimal64"] = a([D("-1.25"), D("9999999999.99"), None], pa.decimal64(12, 2))
    for kind, v in [("string", "né 5"), ("large_string", "007"), ("string_view", "1e5"), ("binary", b"abc"), ("large_binary", b"\xff\x00"),
                    ("binary_view", b"view")]:
        columns[kind] = a([v, v[:0], None], getattr(pa, kind)())
    columns["fixed_binary"] = a([b"abcd", b"\0\0\0\0", None], pa.binary(4))
    columns["dictionary_string"] = a(["gold", "7", None]).dictionary_encode()
    columns["date32"] = a([day, datetime.date(2026, 1, 2), None], pa.date32())
    columns["date64"] = a([day, datetime.date(2026, 1, 2), None], pa.date64())
    for unit in ["s", "ms", "us", "ns"]:
        v = moment.replace(microsecond={"s": 0, "ms": 891000}.get(unit, 891234))
        columns[f"timestamp_{unit}"] = a([v, later, None], pa.timestamp(unit))
        columns[f"timestamp_{unit}_zone"] = a([v, later, None], pa.timestamp(unit, "Asia/Kathmandu"))
        columns[f"duration_{unit}"] = a([-5, 7, None], pa.duration(unit))
    for kind, v in [(pa.time32("s"), clock.replace(microsecond=0)), (pa.time32("ms"), clock.replace(microsecond=456000)), (pa.time64("us"), clock),
                    (pa.time64("ns"), clock)]:
        columns[str(kind).replace("[", "_").rstrip("]")] = a([v, None, v], kind)
    columns["list_float"] = a([[0.5, 1.5], [], None], pa.list_(pa.float64()))
    columns["list_null_element"] = a([[0.5, None], [1, 2], None], pa.list_(pa.float64()))
    columns["large_list"] = a([[1, 2], [3, 4], None], pa.large_list(pa.float32()))
    columns["fixed_list"] = a([[1, 2], [3, 4], None], pa.list_(pa.float32(), 2))
    columns["list_view"] = a([[1, 2], [3, 4], None], pa.list_view(pa.float32()))
    columns["list_float16"] = a([[1.5, -2], [3, 4], None], pa.list_(pa.float16()))
    columns["list_bool"] = a([[True, False], [False], None])
    columns["list_decimal"] = a([[D("1.25"), D("-3.50")], [D("0.00")], None], pa.list_(pa.decimal128(5, 2)))
    columns["list_string"] = a([["a", "b"], [], None])
    columns["list_timestamp"] = a([[moment], [later], None], pa.list_(pa.timestamp("us")))
    columns["list_duration"] = a([[5], [7], None], pa.list_(pa.duration("s")))
    columns["list_list"] = a([[[1.0]], [[2.0, 3.0]], None])
    columns["struct"] = a([{"a": 1, "b": 2.5}, {"a": 3, "b": 0}, None])
    columns["struct_of_one"] = a([{"a": 1}, {"a": 3}, None])
    columns["struct_duration"] = a([{"a": 1}, {"a": 3}, None], pa.struct([("a", pa.duration("s"))]))
    columns["list_struct"] = a([[{"a": 1}], [{"a": 3}], None])
    columns["map"] = a([[("k", 1)], [], None], pa.map_(pa.string(), pa.int32()))
    columns["null"] = a([None] * 3)
    columns["json"] = pa.ExtensionArray.from_storage(pa.json_(), a(['{"k": 1}', "5", None]))
    columns["uuid"] = pa.ExtensionArray.from_storage(pa.uuid(), a([some_uuid.bytes, bytes(16), None], pa.binary(16)))
    columns["bool8"] = pa.ExtensionArray.from_storage(pa.bool8(), a([1, 0, None], pa.int8()))
    columns["tensor"] = pa.ExtensionArray.from_storage(pa.fixed_shape_tensor(pa.float32(), [2, 2]), a([[1, 2, 3, 4]] * 3, pa.list_(pa.float32(), 4)))
    for column in list(columns):  # types that this version of pyarrow writes into no Parquet file
        try:
            pq.write_table(pa.table({column: columns[column]}), "types/try.parquet")
        except (pa.lib.ArrowException, NotImplementedError, OSError) as e:
            print("pyarrow cannot write", column, str(e).splitlines()[0])
            del columns[column]
    pq.write_table(pa.table(columns), "types/pyarrow.parquet", write_statistics=False, compression="zstd")
    keep("pyarrow", read_arrow("types/pyarrow.parquet"))
    os.remove("types/try.parquet")
    # The same values in every encoding and both versions of pages; times of Spark before 3.0 and Impala.
    many = {"bool": a([k % 3 == 0 or None if k % 7 == 0 else k % 3 == 0 for k in range(40)]), "int32": a([k * 1000003 % 2**31 - 2**30 for k in range(40)], pa.int32()),
            "uint32": a([2**32 - 1 - k for k in range(40)], pa.uint32()), "int64": a([None if k % 9 == 0 else -(3**k % 2**62) for k in range(40)], pa.int64()),
            "uint64": a([2**64 - 1 - k * k for k in range(40)], pa.uint64()), "float": a([k / 3 for k in range(40)], pa.float32()),
            "double": a([k / 7 for k in range(40)]), "half": a([k / 4 for k in range(40)], pa.float16()), "string": a([f"name {k * k % 11}" for k in range(40)]),
            "time": a([moment + TD(days=k) for k in range(40)], pa.timestamp("us")), "fixed": a([D(k) / 8 for k in range(40)], pa.decimal128(25, 3)),
            "list": a([[k, k / 2] for k in range(40)], pa.list_(pa.float32()))}
    suits = {"PLAIN": list(many), "DELTA_BINARY_PACKED": ["int32", "uint32", "int64", "uint64", "time"], "DELTA_LENGTH_BYTE_ARRAY": ["string"],
             "DELTA_BYTE_ARRAY": ["string", "fixed"], "BYTE_STREAM_SPLIT": ["int32", "uint64", "float", "double", "half", "fixed", "list"], "RLE": ["bool"], "dictionary": list(many)}
    for version in ["1.0", "2.0"]:
        columns, how = {}, {}
        for encoding, names in suits.items():
            for name in names:
                columns[f"{name}_{encoding}"] = many[name]
                if encoding != "dictionary":
                    how[f"{name}_{encoding}" + (".list.element" if name == "list" else "")] = encoding
        name = f"pages{version[0]}"
        pq.write_table(pa.table(columns), f"types/{name}.parquet", use_dictionary=[c for c in columns if c.endswith("_dictionary")] + ["list_dictionary.list.element"],
                       column_encoding=how, data_page_version=version, write_statistics=False, compression="zstd", row_group_size=25)
    keep("pages", read_arrow("types/pages1.parquet"))
    pq.write_table(pa.table({"int96": columns["time_PLAIN"][:3]}), "types/int96.parquet", use_deprecated_int96_timestamps=True)
    keep("int96", read_arrow("types/int96.parquet"))


def read_arrow(path):
    t = pq.read_table(path)
    # bool8 is known to Arrow alone: for all others it is a column of int8.
    return {c: (t[c].cast(pa.int8()) if c == "bool8" else t[c]).to_pylist() for c in t.column_names}


def polars():
    columns = {}
    for kind, v in [("Int8", -128), ("Int16", -2**15), ("Int32", -2**31), ("Int64", -2**63), ("Int128", -2**100), ("UInt8", 255), ("UInt16", 2**16 - 1),
                    ("UInt32", 2**32 - 1), ("UInt64", 2**64 - 1), ("UInt128", 2**127 + 1)]:
        if hasattr(pl, kind):
            columns[kind] = ([v, 1, None], getattr(pl, kind))
            columns[f"List_{kind}"] = ([[v, 1], [2], None], pl.List(getattr(pl, kind)))
    if hasattr(pl, "Float16"):
        columns["Float16"] = ([65504, 5.960464477539063e-08, None], pl.Float16)
    columns |= {
        "Float32": ([3.4028234663852886e38, 1e-45, None], pl.Float32), "Float64": ([0.1, 2.5e-300, float("nan")], pl.Float64),
        "Boolean": ([True, False, None], pl.Boolean), "Decimal": ([D("-123.45"), D("0.01"), None], pl.Decimal(12, 2)),
        "Decimal_wide": ([D("-1234567890123456789012345678.0123456789"), D("0.5"), None], pl.Decimal(38, 10)),
        "String": (["né 5", "", None], pl.String), "Binary": ([b"abc", b"\xff\x00", None], pl.Binary), "Categorical": (["gold", "7", None], pl.Categorical),
        "Enum": (["gold", "7", None], pl.Enum(["7", "gold"])), "Date": ([day, datetime.date(2026, 1, 2), None], pl.Date), "Time": ([clock, None, clock], pl.Time),
        "List": ([[0.5, 1.5], [], None], pl.List(pl.Float64)), "Array": ([[1, 2], [3, 4], None], pl.Array(pl.Float32, 2)),
        "List_Duration": ([[TD(seconds=5)], [], None], pl.List(pl.Duration("us"))), "List_String": ([["a"], [], None], pl.List(pl.String)),
        "List_List": ([[[1.0]], [], None], pl.List(pl.List(pl.Float64))), "Struct": ([{"a": 1, "b": 2.5}, {"a": 3, "b": 0.0}, None], None),
        "Struct_of_one": ([{"a": 1}, {"a": 3}, None], None), "Null": ([None] * 3, pl.Null)}
    for unit in ["ms", "us", "ns"]:
        v = moment.replace(microsecond=891000 if unit == "ms" else 891234)
        columns[f"Datetime_{unit}"] = ([v, later, None], pl.Datetime(unit))
        columns[f"Datetime_{unit}_zone"] = ([v.replace(tzinfo=UTC), later.replace(tzinfo=UTC), None], pl.Datetime(unit, "UTC"))
        columns[f"Duration_{unit}"] = ([TD(seconds=-5), TD(milliseconds=7), None], pl.Duration(unit))
    series = []
    for name, (values, kind) in columns.items():
        s = pl.Series(name, values, dtype=kind)
        try:
            s.to_frame().write_parquet("types/try.parquet")
            series.append(s)
        except BaseException as e:
            print("polars cannot write", name, str(e).splitlines()[0])
    os.remove("types/try.parquet")
    pl.DataFrame(series).write_parquet("types/polars.parquet", statistics=False)
    values = {}
    t = pl.read_parquet("types/polars.parquet")
    for c in t.columns:
        nano = str(t[c].dtype).startswith("Datetime")
        values[c] = t[c].to_arrow().to_pylist() if nano else t[c].to_list()
    keep("polars", values)


def duck():
    con = duckdb.connect()
    con.execute("set TimeZone = 'UTC'")
    columns = {
        "TINYINT": "'-128'", "SMALLINT": "'-32768'", "INTEGER": "'-2147483648'", "BIGINT": "'-9223372036854775808'", "HUGEINT": "'-170141183460469231731687303715884105728'",
        "UTINYINT": "255", "USMALLINT": "65535", "UINTEGER": "4294967295", "UBIGINT": "18446744073709551615", "UHUGEINT": "340282366920938463463374607431768211455",
        "BIGNUM": "'123456789012345678901234567890123456789012'", "FLOAT": "0.1", "DOUBLE": "0.1", "DECIMAL(4,2)": "-12.34", "DECIMAL(9,2)": "-12.34", "DECIMAL(18,3)": "-12.345",
        "DECIMAL(38,10)": "-1234567890123456789012345678.0123456789", "BOOLEAN": "true", "VARCHAR": "'007'", "BLOB": "'\\xFF\\x00abc'::BLOB", "BIT": "'10110'",
        "ENUM('x', 'y')": "'y'", "UUID": f"'{some_uuid}'", "DATE": "'1969-12-30'", "TIME": "'01:02:03.456789'", "TIMETZ": "'01:02:03+05'", "TIME_NS": "'01:02:03.456789123'",
        "TIMESTAMP": "'1965-03-04 05:06:07.891234'", "TIMESTAMP_S": "'1965-03-04 05:06:07'", "TIMESTAMP_MS": "'1965-03-04 05:06:07.891'",
        "TIMESTAMP_NS": "'1965-03-04 05:06:07.891234567'", "TIMESTAMPTZ": "'1965-03-04 05:06:07.891234+05:45'", "TIMESTAMPTZ_NS": "'1965-03-04 05:06:07.891234567+05:45'",
        "INTERVAL": "interval '1 month 2 days 3 seconds'", "JSON": "'{\"k\": 1}'", "FLOAT[]": "[0.5, 1.5]", "UBIGINT[]": "[18446744073709551615, 1]", "DOUBLE[2]": "[0.5, 1.5]",
        "INTEGER[][]": "[[1], [2]]", "VARCHAR[]": "['a']", "STRUCT(a INTEGER, b DOUBLE)": "{'a': 1, 'b': 2.5}", "STRUCT(a INTEGER)": "{'a': 1}",
        "MAP(VARCHAR, INTEGER)": "map {'k': 1}", "UNION(n INTEGER, t VARCHAR)": "'x'", "VARIANT": "5", "GEOMETRY": "'POINT(1 2)'", "INTERVAL[]": "[interval '1 day']"}
    parts = []
    for kind, v in columns.items():
        part = f'[{v}::{kind}, NULL::{kind}]' if "INTERVAL" != kind else f"[{v}, NULL]"
        try:
            con.execute(f"copy (select unnest({part}) as c) to 'types/try.parquet'")
            parts.append(f"unnest({part}) as \"{kind}\"")
        except duckdb.Error as e:
            print("DuckDB cannot write", kind, str(e).splitlines()[0])
    os.remove("types/try.parquet")
    for version in ["V1", "V2"]:
        name = "duckdb" + version[1].replace("1", "").replace("2", "_v2")
        con.execute(f"copy (select {', '.join(parts)}) to 'types/{name}.parquet' (parquet_version {version})")
        t = con.sql(f"select * from 'types/{name}.parquet'")
        values = {}
        for c in t.columns:
            column = con.sql(f"select \"{c}\" from 'types/{name}.parquet'")
            values[c] = column.to_arrow_table()[c].to_pylist() if c.startswith("TIMESTAMP") else [r[0] for r in column.fetchall()]
    keep("duckdb", values)  # of both files


def fast():
    """fastparquet annotates types in the older way alone, as converted types."""
    import fastparquet, numpy as np
    columns = {k: np.array([np.iinfo(k).max, np.iinfo(k).min], k) for k in ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]}
    columns |= {"float32": np.array([0.1, np.nan], "float32"), "float64": [0.1, np.nan], "bool": [True, False], "timedelta": pd.to_timedelta([5, 7], "s"),
                "datetime": pd.to_datetime([moment, later]).astype("datetime64[us]"), "zoned": pd.to_datetime([moment, later], utc=True).astype("datetime64[us, UTC]"),
                "category": pd.Categorical(["gold", "7"]), "text": pd.array(["né 5", "007"], dtype=object), "bytes": pd.array([b"abc", b"\xff\x00"], dtype=object),
                "json": [{"k": 1}, [1, 2]], "Int64": pd.array([2**62, None], "Int64"), "UInt64": pd.array([2**64 - 1, None], "UInt64"),
                "decimal": [D("1.25"), D("-0.50")]}
    how = {"text": "utf8", "bytes": "bytes", "json": "json", "decimal": "decimal"}
    for name in list(columns):
        one = {name: columns[name]}
        try:
            fastparquet.write("types/try.parquet", pd.DataFrame(one), object_encoding=how.get(name, "infer"))
        except Exception as e:
            print("fastparquet cannot write", name, str(e).splitlines()[0])
            del columns[name]
    os.remove("types/try.parquet")
    fastparquet.write("types/fastparquet.parquet", pd.DataFrame(columns), object_encoding={c: how.get(c, "infer") for c in columns}, stats=False)
    keep("fastparquet", read_arrow("types/fastparquet.parquet"))


def spark():
    from pyspark.sql import SparkSession
    s = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").config("spark.sql.session.timeZone", "UTC").config(
        "spark.driver.bindAddress", "127.0.0.1").getOrCreate()
    columns = {
        "tinyint": "-128", "smallint": "-32768", "int": "-2147483648", "bigint": "-9223372036854775808", "float": "0.1", "double": "0.1", "decimal(4,2)": "-12.34",
        "decimal(18,3)": "-12.345", "decimal(38,10)": "-1234567890123456789012345678.0123456789", "boolean": "true", "string": "'007'", "binary": "X'FF00'",
        "date": "'1969-12-30'", "timestamp": "'1965-03-04 05:06:07.891234+05:45'", "timestamp_ntz": "'1965-03-04 05:06:07.891234'",
        "interval day to second": "interval '1 02:03:04.5' day to second", "interval year to month": "interval '1-2' year to month", "interval hour": "interval '5' hour",
        "time(6)": "'01:02:03.456789'", "array<float>": "array(0.5, 1.5)", "array<bigint>": "array(-1, 2)", "array<interval hour>": "array(interval '5' hour)",
        "array<string>": "array('a')", "struct<a:int,b:double>": "struct(1, 2.5)", "struct<a:int>": "struct(1)", "map<string,int>": "map('k', 1)", "char(4)": "'ab'",
        "varchar(4)": "'ab'", "variant": "parse_json('5')", "timestamp_ntz(9)": "'1965-03-04 05:06:07.891234567'"}
    for legacy in [False, True]:
        name = "spark_legacy" if legacy else "spark"
        s.conf.set("spark.sql.parquet.writeLegacyFormat", str(legacy).lower())
        s.conf.set("spark.sql.parquet.outputTimestampType", "INT96" if legacy else "TIMESTAMP_MICROS")
        kept = []
        for kind, v in columns.items():
            try:
                one = s.sql(f"select cast({v} as {kind}) as c union all select cast(null as {kind})").coalesce(1)
                one.write.mode("overwrite").parquet("types/try")
                kept.append(f"cast(if(id = 0, {v}, null) as {kind}) as `{kind}`".replace("`", "\x60"))
            except Exception as e:
                print("Spark cannot write", kind, str(e).splitlines()[0][:150])
        t = s.sql("select " + ", ".join(f"{k}" for k in kept) + " from range(2)").coalesce(1)
        t = t.toDF(*[f.name.replace(",", " ").replace("(", " ").replace(")", "").replace("<", " ").replace(">", "").replace(":", " ") for f in t.schema.fields])
        t.write.mode("overwrite").option("compression", "gzip").parquet("types/try")
        shutil.copy(glob.glob("types/try/part-*.parquet")[0], f"types/{name}.parquet")
        read = s.read.parquet(f"types/{name}.parquet")
        for f in read.schema.fields:  # Python has no such value
            if "year" in f.dataType.simpleString():
                read = read.withColumn(f.name, read[f.name].cast("string"))
        rows = read.collect()
    keep("spark", {c: [r[c] for r in rows] for c in t.columns})  # of both files
    shutil.rmtree("types/try")
    s.stop()


for f in (globals()[name] for name in sys.argv[1:] or ["arrow", "polars", "duck", "fast", "spark"]):
    f()
