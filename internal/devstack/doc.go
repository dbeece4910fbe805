// Package devstack runs the services that Rivulet needs inside the process: a broker that speaks Kafka's protocol
// (kfake) and a Redis (miniredis). It is for the demo, for trying the real binaries without installing anything, and
// for tests.
//
// It is never a fallback. An external service that cannot be reached is an error; the embedded one is used only if
// it is asked for by name, and only cmd and tests import this package.
//
// The embedded broker has no replication (acks=all means one copy), and no durability unless KafkaOptions.DataDir
// names a directory. It has consumer groups, transactions, compression, long polls, retention and injected faults,
// which the tests of consumer and producer need.
package devstack
