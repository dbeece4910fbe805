// Package event is the public contract: the records on the wire (arrivals and labels in, predictions and dead letters
// out) in JSON, Protobuf and Avro, and the batch in which the consumer hands predictions to the producer. It imports
// only its own sub-packages and package schema.
//
// # One table
//
// fields.go has one table a message, with one row a field: its name, its Protobuf number, its kind and its place in
// the Go struct. The writers and readers of all three forms walk the rows (package table), and a test compares the
// rows with the structs and with the files of schema/. A new field is a row, a field of the struct, and a line in
// each file of schema/. Beside the readers by table stand fast ones for arrivals in the form that producers usually
// write; they give up where a record is not plain.
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
// # Files
//
// The messages:
//
//	event.go          Arrival, Prediction, Explanation, DeadLetter, Batch; the reasons of dead letters
//	label.go          Label: the class of a node that becomes known later
//	fields.go         the tables of these messages, and the checks that all forms share
//	arrival.go        Check and NormaliseEdges; edgetable.go: the hash table for long lists of edges
//	named.go          features by their names, in memory that is used again from record to record
//	features.go       features that stand by themselves, as in a store of features
//	field_error.go    FieldError: reason, path and value
//	times.go          times that every form can hold
//	schema.go         the files of schema/ as strings; confluent.go: prediction.proto for a registry
//	codec.go          Codec: what every form can do
//	inplace.go        ids that share the memory of their record
//
// The forms of records:
//
//	forms.go          Forms: which form a record has, and who reads it
//	content_type.go   the codec of a content-type; headers.go: the headers of records
//	framing.go        names what a record seems to be that cannot be read
//	mapping.go        an arrival inside of a record of another shape; mapping_find.go: JSON pointers;
//	                  mapping_row.go: the row in a record of Kafka Connect or Debezium (package connect says what
//	                  its values mean)
//	cloudevents.go    CloudEvents
//
// JSON:
//
//	json.go           the codec, and errors of the library in our words
//	json_fields.go    the writer by table; json_encode.go: features; json_time.go: times
//	json_decode.go    the reader by table, from the library's tokens
//	json_scan.go      the fast reader of plain arrivals; json_number.go: its numbers
//	json_named.go     named features, in both readers and the writer
//
// Protobuf:
//
//	protobuf.go       the codec, and the fields of a message from the library's tokens
//	protobuf_fields.go    writer and reader by table
//	protobuf_encode.go    the writer of features; protobuf_decode.go: the reader of arrivals
//	protobuf_plain.go     the fast reader of plain arrivals
//	protobuf_named.go     named features
//
// Avro:
//
//	avro.go           the codec, and the writer of features
//	avro_fields.go    writer and reader by table
//	avro_schema.go    the schema of a writer, and which of its fields are ours
//	avro_read.go      the values of a record by that schema; avro_decode.go: the fields of an arrival
//	avro_named.go     named features; avro_connect.go: rows of Connect and Debezium
//	avro_json.go      a record as JSON text, for a mapping
//
// # Memory
//
// Decoding into a used Arrival costs two allocations in either form: its id, and one string of which all edge ids
// are parts. So an edge id that outlives its record, such as the key of a cache, should be cloned, or it keeps
// the whole text in memory.
//
// # Why jsontext, and a scanner before it
//
// The codec stands on github.com/go-json-experiment/json, the library that becomes encoding/json/v2. Decoding walks
// its tokens, as a struct cannot say "string or number", "list or object" and NaN without reading twice. The tokens
// were the largest part of what an arrival cost the consumer, so a scanner of our own reads plain arrivals, which is
// all that producers usually write: the fields of the contract in any order, without escapes. It never refuses: what
// it cannot read is walked by tokens from the beginning, so that the library alone says what is right. Predictions
// are written by the table, with the bytes that the library gives a struct. Tests hold the ways together by property
// and by fuzzing. CPU time on one core, and as ratios to the tokens:
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
// each edge. What the walk makes of a record is compared with the generated code by property and by fuzzing. CPU time
// as ratios to JSON, of decoding the arrivals of BenchmarkDecodeArrival and of writing the full prediction of
// BenchmarkAppendPrediction:
//
//	                                            35 sparse features     500 dense     prediction
//	JSON, by the library                        1                      1             1
//	Protobuf, this codec                        0.17                   0.04          0.2
//	Protobuf, generated code, then copied       0.3                    0.06
//	bytes of a record, Protobuf to JSON         0.57                   0.40          0.28
package event
