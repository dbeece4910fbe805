// Package event holds the records on the wire (arrivals in, predictions and dead letters out) and the batch in which
// the consumer hands them to the producer. It is a leaf but for packages schema and connect, which import nothing else.
//
// # The way of a record
//
// The consumer asks [ContentTypeOf] for a record's content-type and [ForContentType] for its codec; without one the
// record is a dead letter [ReasonContentType]. Then, with one [Arrival] that is reused:
//
//	err := codec.DecodeArrival(record, &arrival)    // grammar, types, required fields
//	if err == nil {
//		err = arrival.Check(d, maxEdges)        // does it fit the model and the limits?
//	}
//	if err == nil {
//		dropped = arrival.NormaliseEdges()      // distinct, without the arrival itself
//	}
//
// Both errors are a *[FieldError] with the reason, the path of the field and the value; a [DeadLetter] carries
// them, and [DeadLetter.RecordHeaders] writes them as headers. A [Prediction] goes out by Codec.AppendPrediction
// with [AppendPredictionHeaders]. The caller checks the limit on a record's size first: a decoder's memory is
// bounded by a small multiple of the record's size.
//
// README.md is the public contract, field by field; [ArrivalSchema], [PredictionSchema] and the .proto files of
// schema are the same for machines. Tests check all their promises on the example files in testdata, on README's
// examples, by property and by fuzzing.
//
// # What the JSON codec decides
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
// # Records of others
//
// forms.go decides which form a record has and who reads it. mapping.go finds an arrival's fields in records of another shape,
// mapping_row.go the row in a record of Kafka Connect or Debezium; what values mean there is package connect's. cloudevents.go
// reads CloudEvents, content_type.go header values, and framing.go names what a record seems to be that cannot be read.
//
// # Memory
//
// Decoding into a used Arrival costs two allocations in either form: its id, and one string of which all edge ids
// are parts. So an edge id that outlives its record, such as the key of a cache, should be cloned, or it keeps
// the whole text in memory.
//
// # Why jsontext, and a scanner before it
//
// The codec stands on github.com/go-json-experiment/json, the library that becomes encoding/json/v2. Decoding
// walks its tokens, as a struct cannot say "string or number", "list or object" and NaN without reading twice;
// predictions have a plain struct. The tokens were the largest part of what an arrival cost the consumer, so a
// scanner of our own (json_scan.go, json_number.go) reads arrivals that are plain, which is all that producers usually write:
// the fields of the contract in any order, without escapes. It never refuses: what it cannot read is walked by
// tokens from the beginning, so that the library alone says what is right. Predictions are written the other way
// round (json_write.go): by hand, and by the library where something cannot be written, for its error. Tests
// hold both ways together by property and by fuzzing. CPU time on one core, and as ratios to the tokens:
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
//
// # Why protowire
//
// The Protobuf codec walks the fields with google.golang.org/protobuf/encoding/protowire, the tokens of the library,
// as the JSON codec walks JSON's. The generated code (package eventpb) would be less to write, but it says "cannot
// parse" about a broken record without the place; it keeps the last of two ids and merges two records into one; it
// ignores a field of the wrong type; it truncates integers; its bytes may change with its version; and it allocates
// each edge. The numbers of the fields stand in tables, which a test compares with the .proto files; what the walk
// makes of a record is compared with the generated code by property and by fuzzing. CPU time as ratios to JSON, of
// decoding the arrivals of BenchmarkDecodeArrival and of writing the full prediction of BenchmarkAppendPrediction:
//
//	                                            35 sparse features     500 dense     prediction
//	JSON, by the library                        1                      1             1
//	Protobuf, this codec                        0.17                   0.04          0.2
//	Protobuf, generated code, then copied       0.3                    0.06
//	bytes of a record, Protobuf to JSON         0.57                   0.40          0.28
package event
