// Package wire speaks Kafka's protocol where kafka-go does not do it as is needed here. It knows no topic, no group
// and no settings; package kafka does.
//
// A [Request] goes over a connection of kafka-go's transport, which calls RawExchange instead of writing a message of
// its own. The version is the newest that this program, the broker and the request's bounds allow; [Dial] makes
// connections that remember the broker's versions.
package wire
