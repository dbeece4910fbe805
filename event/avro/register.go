package avro

import "rivulet/event/read"

// A program that imports this package reads and writes Avro in the Confluent wire format.
func init() { read.RegisterPayload("avro", Codec{}) }

var _ read.Written = (*Schema)(nil)
