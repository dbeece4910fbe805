// Package harness holds the shared parts of tests of whole programs, and of test/chaos, which is such a test as a
// program. It knows nothing of this module but event.
//
//	process.go         programs as processes: build, start, signal, drain, kill; their output and memory; a command
//	                   line in the test's own process
//	workshop.go        a directory with programs, a data set and artifacts
//	await.go           waiting for a condition
//	proxy.go           a network between client and server that can be cut
//	kafka.go           a client of external brokers
//	kafka_broker.go    an Apache Kafka that tools/kafka/kafka.sh runs: a broker or a cluster
//	kafka_tap.go       a proxy that is told of each request
//	redis.go           real Redis servers, which end with the test, and how much memory they use
//	redis_cluster.go   Redis as a cluster
//	redis_sentinel.go  Redis as a master and a replica, watched by a sentinel
//	redis_each.go      one test on the embedded Redis, a real one and a cluster
//	certificates.go    an authority of the test's own, and its certificates
//	prediction.go      the content of a prediction, bit for bit
//
// RIVULET_TEST_REDIS_SERVER names the program of Redis servers that tests start, a path or redis-server (7.0 or newer),
// RIVULET_TEST_REDIS the URL of a server to use, RIVULET_TEST_KAFKA_DIR the directory of a broker, and
// RIVULET_TEST_REGISTRY the address of a schema registry (tools/registry/registry.sh). If a variable is not set, the
// tests that need it are skipped and say so, or take the embedded service instead.
package harness
