// Package form reads records of every form that a topic may have: a [Reader] finds out which one it is (JSON, Protobuf,
// Avro, the Confluent wire format, a CloudEvent, a row of Kafka Connect or Debezium), finds the arrival or the label in
// it, and names the likely form of an unreadable record.
//
//	forms.go         Reader, and the schemas of a registry
//	content_type.go  the codec of a content-type, and of a setting
//	framing.go        names the likely form of a record that cannot be read
//	mapping.go       Mapping: an arrival inside of a record of another shape; pointer.go: JSON pointers;
//	                 row.go: the row in a record of Kafka Connect or Debezium
//	edge.go          edges of their own, and how they are told from arrivals
//	cloudevents.go   CloudEvents
//	forget.go        records that ask to forget an id: tombstones, deletes, "forget": true
//	features.go      features that stand by themselves, as in a store of features
package form
