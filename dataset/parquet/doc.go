// Package parquet reads data sets from Parquet tables. It is a package of its own, and nothing registers it:
// programs that want the format name it, so that other binaries do not carry a Parquet library.
//
//	d, err := dataset.Open(dir, dataset.OpenOptions{More: []dataset.Format{parquet.Format}})
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
// # Files that lie
//
// The library trusts the lengths that a file declares, so each file is checked before the library sees it.
// [metadata] has the library's own Thrift decoder read the footer and the headers of pages, and lets nothing be
// longer than the remaining bytes. [pageCheck] bounds the pages of the columns that will be read: their sizes and
// numbers of values, their size after decompression, and the runs and blocks in them, since a run of two billion
// values takes six bytes and the library allocates them all ([encoded]). The remaining contradictions are found by
// the library itself, or make it panic; a panic becomes an error. Codecs are snappy, gzip, zstd and none. The
// encoding DELTA_BYTE_ARRAY is refused, because the size of its values shows only in decoding. A list has at most
// 2²⁰ numbers. Booleans in runs (RLE) are refused, because the library reads them wrong.
//
// # Files
//
//	parquet.go    Format; panics of the library become errors
//	table.go      an open file: its columns, its rows
//	cursor.go     the values of a column as cells, by their type
//	arrow.go      durations, by the schemas of Arrow and Spark
//	metadata.go   footers and headers of pages within bounds
//	pages.go      the pages of a column within bounds
//	encodings.go  the runs and blocks of a page within bounds
//	rows.go       rows of a Go struct, written and read back
//	save.go       Save: a data set as tables
package parquet
