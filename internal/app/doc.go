// Package app wires a configuration to running parts: the one place that knows all of them.
//
//	consumer.go  settings -> versions, producer, consumer, metrics; runs and ends them in order
//	versions.go  where versions come from: Redis, or a pinned directory
//	check.go     settings -> checks of all connections
//	kafka.go     settings -> connections to Kafka: TLS, SASL, logins
//	connect.go   settings -> a client of Redis
//	advice.go    what to do where Redis refuses the client
//	lines.go     the path of a record without services: JSON lines in, JSON lines out
package app
