// Package parts has the parts that a program may be built without: metrics, the schema registry's client, logins by
// tokens, buckets of S3, and Avro. They register themselves. Programs that connect to services of others import this
// package; the demo, whose services are embedded, does not.
package parts

import (
	// Each registers itself.
	_ "rivulet/artifact/remote/s3"
	_ "rivulet/event/avro"
	_ "rivulet/internal/observe"
	_ "rivulet/run/connect/confluent"
	_ "rivulet/run/connect/login"
)
