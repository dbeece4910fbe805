// Package parquet reads data sets that are kept as Parquet tables. It is a package of its own, and nothing registers it:
// who wants the format names it, so that binaries without it do not carry a Parquet library.
//
//	d, err := dataset.Open(dir, dataset.OpenOptions{More: []dataset.Format{parquet.Format}})
//
// The tables are those of the CSV format (see package dataset): nodes.parquet and edges.parquet, or directories nodes and
// edges of such files.
//
//	nodes   id          string or integer
//	        features    list of numbers; or every other column is one feature, of a number or bool
//	        label       string, integer, bool, or a float of integer value; null (or NaN): none
//	        split       string; null: no role
//	edges   source, target   as id
//	        weight           a number, 1
//
// Row groups are read one after another and their columns side by side, a page of each at a time. Errors name file, row
// (the first is 1) and column.
//
// # Files that lie
//
// The library trusts the lengths that a file declares, so each file is checked before the library sees it. [metadata] has
// the library's own Thrift decoder read the footer and the headers of pages, and lets nothing be longer than the bytes that
// are left. [pageCheck] bounds the pages of the columns that will be read: their sizes and numbers of values, what they
// decompress to, and the runs and blocks in them, since a run of two billion values takes six bytes and the library
// allocates them all ([encoded]). What is left are contradictions that the library finds itself or panics over; a panic
// becomes an error. Codecs are snappy, gzip, zstd and none; of the encodings DELTA_BYTE_ARRAY is refused, because what it
// expands to shows only in decoding. A list has at most 2²⁰ numbers.
package parquet
