// Package parquet reads data sets from Parquet tables. A program that wants the format imports it, for its
// init registers the format; other programs are built without a Parquet library.
//
//	import _ "rivulet/dataset/parquet"
//
// The tables are the tables of the CSV format (see package dataset): nodes.parquet and edges.parquet, or directories
// nodes and edges of such files.
//
//	nodes   id          string or integer, or a float of integer value
//	        features    list of numbers; or every other column is one feature: a number or bool; with names also a
//	                    string, date, timestamp or list of numbers, null (or NaN) where it is missing
//	        label       string, integer, bool, or a float of integer value; null (or NaN): none
//	        split       string; null: no role
//	edges   source, target   as id
//	        weight           a number, 1
//
// The file's annotations give values their meaning: an unsigned integer, a decimal, a float16, a UUID. Types that
// cannot be features are refused by name: durations and intervals (also if only Arrow's or Spark's schema in the file's
// metadata says so), times of day, structs, maps, lists of lists. TestTypes reads every type that pyarrow, polars,
// DuckDB, fastparquet and Spark write, and docs/data.md has the table.
//
// Row groups are read one after another and their columns side by side, one page of each at a time. Errors name
// file, row (the first is 1) and column.
//
// The library is trusted with files that the operator named: sizes in its end and of column chunks are compared with
// the file's, and a panic of the library becomes an error. Codecs are snappy, gzip, zstd and none. Refused are the
// encoding DELTA_BYTE_ARRAY, and booleans in runs (RLE), which the library reads wrong. A list has at most 2²⁰ numbers.
package parquet
