// Package app wires a configuration to running parts: the one place that knows all of them.
//
//	consumer.go  settings -> versions, producer, consumer, metrics; runs and ends them in order
//	versions.go  where versions come from: Redis, or a pinned directory
//	connect.go   settings -> clients of Kafka and Redis
//	lines.go     the path of a record without services: JSON lines in, JSON lines out
package app
