// Package integration has no code of its own: its tests build the real binaries and run them as processes, from
// their configuration files alone, against devstack's broker and Redis in a process of their own, or against the
// Redis that RIVULET_TEST_REDIS names.
//
// Tests that end in OnARealBroker, ToARealBroker or OfARealBroker want an Apache Kafka and say so if there is none:
// RIVULET_TEST_KAFKA_DIR is the directory of one that tools/kafka/kafka.sh runs, which has TLS, SASL and ACLs. make
// integration starts one.
package integration
