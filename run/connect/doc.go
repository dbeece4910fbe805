// Package connect opens the connections that settings name: to Kafka, Redis, a schema registry and a store of features,
// with their TLS and logins; and what servers need of the kind, certificates and tokens. Each connection is made by one
// function, which returns an error that names the setting. Most do not reach out yet; see each.
//
// Files of passwords, tokens and certificates are read again while the process runs, so that they can be renewed. An
// error by which Kafka or Redis refuses this client gets advice: what to set, or which right to give.
package connect
