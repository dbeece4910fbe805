// Package devstack runs the services that Rivulet needs inside the process: a broker that speaks Kafka's protocol
// (kfake) and a Redis (miniredis). It is for the demo, for trying the real binaries without installing anything, and for
// tests.
//
// It is never a fallback. An external service that cannot be reached is an error; whoever wants the embedded one asks
// for it by name, and only cmd and tests import this package.
//
// What the embedded broker does not have: replication (acks=all means one copy), and durability unless
// KafkaOptions.DataDir says where to. It does have consumer groups, transactions, compression, long polls, retention
// and injected faults, which is what the tests of consumer and producer are about.
package devstack
