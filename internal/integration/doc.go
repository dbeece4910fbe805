// Package integration has no code of its own: its tests build the real binaries and run them as processes, from their
// configuration files alone, against devstack's broker and Redis in a process of their own, or against the Redis that
// RIVULET_TEST_REDIS names.
package integration
