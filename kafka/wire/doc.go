// Package wire speaks Kafka's protocol where kafka-go does not do it as is needed here. It knows no topic, no group
// and no settings; package kafka does.
//
//	record.go   records, read or to be published, and their Damage
//	dial.go     connections: of kafka-go's transport, and of a group's member
//	login.go    SASL: logins
//	request.go  requests that kafka-go lacks: kmsg describes them, kafka-go's transport carries them
//	topics.go   the topic that was meant by one that does not exist
//	epochs.go   which leader's epoch each record was written in
//	reader.go   the records of a fetch's answer, piece by piece, without aborted transactions
//	unpack.go   gzip, snappy, lz4 and zstd as streams in bounded memory
//	batch.go    record batches, written byte by byte
//	rewrite.go  batches made anew of the records of one: split, without some records, with other timestamps
//	span.go     the timestamps that a broker takes, read from its refusal of one
//
// A [Request] goes over a connection of kafka-go's transport, which calls RawExchange instead of writing a message of
// its own. The version is the newest that this program, the broker and the request's bounds allow; [Dial] makes
// connections that remember the broker's versions.
package wire
