// Package protobuf is the Protobuf form of Rivulet's records: one message of schema/arrival.proto, label.proto or
// prediction.proto a record.
//
// # Why protowire
//
// The Protobuf codec walks the fields with google.golang.org/protobuf/encoding/protowire, the tokens of the library, as
// the JSON codec walks JSON's. The generated code (package eventpb) would be less to write, but it says "cannot parse"
// about a broken record without the place; it keeps the last of two ids and merges two records into one; it ignores a
// field of the wrong type; it truncates integers; its bytes may change with its version; and it allocates each edge.
// Tests compare the walk's results with the generated code's by property and by fuzzing. CPU time as ratios to JSON, of
// decoding the arrivals of BenchmarkDecodeArrival and of writing the full prediction of BenchmarkAppendPrediction:
//
//	                                            35 sparse features     500 dense     prediction
//	JSON, by the library                        1                      1             1
//	Protobuf, this codec                        0.17                   0.04          0.2
//	Protobuf, generated code, then copied       0.3                    0.06
//	bytes of a record, Protobuf to JSON         0.57                   0.40          0.28
package protobuf
