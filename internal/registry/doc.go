// Package registry talks to a Schema Registry (Confluent's, or one with its API, such as Apicurio or Karapace): it
// looks up the schemas that records of the Confluent wire format name by their ids, and the schemas under which
// predictions are published.
//
// A record begins with a byte 0 and four bytes of an id. The schema of an id never changes, so an answer is kept as
// long as the process runs. An id without a schema, or with one that cannot be read as an arrival, is remembered for a
// minute, up to a number of ids. A registry that cannot be reached, that answers with 5xx, 429 or 408, that refuses the
// login or redirects has given no answer: callers wait ([Registry.LearnSchema]).
//
//	Avro         avro.Schema: by the names, aliases and types of the writer's schema
//	Protobuf     Rivulet's own messages by package event; others through their JSON form, by the same field names
//	JSON Schema  the payload is JSON, read by package event; the schema is not applied to it
//
// Logins never leave the registry's own addresses: redirects are not followed.
package registry
