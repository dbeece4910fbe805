// Package harness holds the shared parts of tests of whole programs, and of test/chaos, which is such a test as a
// program. It knows nothing of this module but event.
//
// RIVULET_TEST_REDIS_SERVER names the program of Redis servers that tests start, a path or redis-server (7.0 or newer),
// RIVULET_TEST_REDIS the URL of a server to use, RIVULET_TEST_KAFKA_DIR the directory of a broker, and
// RIVULET_TEST_REGISTRY the address of a schema registry (tools/registry/registry.sh). If a variable is not set, the
// tests that need it are skipped and say so, or take the embedded service instead.
package harness
