// Package collector holds no code. Its test has the consumer send its traces to the receiver of OpenTelemetry's own
// collector. That wants the collector's libraries, so it is a module of its own: nobody who builds Rivulet downloads
// these. `make collector` runs it, on an embedded and on a real Kafka.
package collector
