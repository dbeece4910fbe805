// Package event is the public contract: the records on the wire (arrivals and labels in, predictions and dead letters
// out), their schemas, and the batch in which the consumer hands predictions to the producer. Its sub-packages write
// and read them:
//
//	json, protobuf        one codec each ([Codec])
//	avro                  the codec of records whose schema a registry has
//	read                  what a record is: its form, and arrivals and edges inside of records of other shapes
//	fields                the one table of fields of each message, and what the codecs share; table: its rows
//	connect               values as Kafka Connect and Debezium write them
//	eventtest             arrivals and predictions for tests
//
// # The way of a record
//
// The consumer gives a record to a read.Reader, which chooses the codec; without one the record is a dead letter
// [ReasonContentType]. Then, with one message that is reused:
//
//	reader.Read(read.Record{Key: key, Value: value, Headers: headers}, &m) // m.Fault: grammar, types, required fields
//	err := m.Arrival.Check(d, maxEdges)                                    // does it fit the model and the limits?
//	if err == nil {
//		dropped = m.Arrival.NormaliseEdges() // distinct, without the arrival itself
//	}
//
// Both faults are a *[FieldError] with the reason, the path of the field and the value; a [DeadLetter] carries
// them, and [DeadLetter.RecordHeaders] writes them as headers. A [Prediction] goes out by Codec.AppendPrediction
// with [AppendPredictionHeaders]. The caller checks the limit on a record's size first: a decoder's memory is
// bounded by a small multiple of the record's size.
//
// README.md is the public contract, field by field; [ArrivalSchema], [PredictionSchema] and the .proto files of
// schema are the same for machines. Tests check all their promises on the example files in testdata, on README's
// examples, by property and by fuzzing. The tests of all forms stand here, because most compare one with another.
//
// # Memory
//
// Decoding into a used Arrival costs two allocations in any form: its id, and one string that holds all edge ids. So an
// edge id that outlives its record, such as the key of a cache, should be cloned, or it keeps the whole text in memory.
package event
