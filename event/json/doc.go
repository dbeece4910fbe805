// Package json is the JSON form of Rivulet's records: one object a record, described by the JSON Schemas of package
// event. It is strict: UTF-8 throughout, no name twice in an object, nothing after the object.
//
// # What it decides
//
//	an id is a number            its decimal digits, as written; 1.5, 1e3 and -0 are refused
//	null for id or features      refused; the same for features.indices
//	null for edges, time, values like a missing field: none, zero, all 1
//	null, NaN, ±Infinity, 1e39   in features: ReasonNotFinite; elsewhere no JSON, or the wrong type
//	indices in any order         sorted; one given twice is refused
//	time with an offset          converted to UTC; refused if that leaves the years 1 to 9999
//	a name twice in an object    refused, even inside fields that are ignored
//	another field                ignored
//
// # Why jsontext, and a scanner before it
//
// The codec stands on github.com/go-json-experiment/json, the library that becomes encoding/json/v2. Decoding walks its
// tokens, as a struct cannot say "string or number", "list or object" and NaN without reading twice. Tokens took
// most of the consumer's time for an arrival, so a scanner of our own reads plain arrivals, the form that
// producers usually write: the fields of the contract in any order, without escapes. It never refuses a record: one
// that it cannot read is walked by tokens from the beginning, so that the library alone decides. Predictions are
// written by the table, with the bytes that the library gives a struct. Tests hold the ways together by property and by
// fuzzing. CPU time on one core, and as ratios to the tokens:
//
//	                                            35 sparse features     500 dense
//	this codec, plain                           0.34 (2.7 µs)          0.25 (13 µs)
//	this codec, by tokens                       1 (8 µs)               1 (51 µs)
//	encoding/json, raw messages, read twice     3.6                    3.5
//	segmentio/encoding/json, the same           0.85                   0.97
//	bytedance/sonic, the same                   0.86                   0.65
//	segmentio, fixed struct without unions      0.51                   0.74
//	bytedance/sonic, fixed struct               0.26                   0.31
//	valyala/fastjson                            0.37                   0.26
//
// The last three accept a name that occurs twice and broken UTF-8, two of them turning it into U+FFFD, which
// would be another node's id; fastjson reads 2 in 10,000 float32 in their shortest form as a neighbouring value,
// but replayed arrivals must have the same bits; sonic compiles machine code at run time against the runtime's
// internals.
package json
