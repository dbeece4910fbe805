// Package form reads records of every form that a topic may have: a [Reader] finds out which one it is (JSON, Protobuf,
// the Confluent wire format, a CloudEvent, a row of Kafka Connect or Debezium), finds the arrival or the label in it,
// and names the likely form of an unreadable record.
package form
