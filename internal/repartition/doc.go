// Package repartition brings the records of several topics to the topic of arrivals, each under the key of the node
// that it belongs to. It is for sources that are tables of their own, such as accounts and transfers: each comes as a
// topic with its own key and number of partitions, and a consumer that has arrivals wait for their edges
// ([rivulet/consumer/window]) must find both in one partition.
//
//	accounts   key: number of the row     ──┐
//	                                        ├─▶ arrivals   key: id of the node ─▶ consumers
//	transfers  key: number of the transfer ─┘
//
// A record of an arrival is written as it came, under its id. An edge is written under the ids of both ends, once for
// each, or of one end ([Options.Ends]); it stays as it came where it is already the edge of that end, and is otherwise
// JSON of Rivulet's own form. A record that asks to forget an id goes the same way as the id's arrivals. Headers and
// timestamps are kept, as the wait for edges is counted in timestamps.
//
// # Order
//
// What is written under one key keeps the order of each partition that it comes from. A [Router] also reads its
// partitions side by side in the order of timestamps, as Kafka Streams does: a partition that is known to have more
// records is waited for. Otherwise a backlog of transfers would arrive after the accounts' wait. Partitions of
// different members of the group have no common order.
//
// # Exactly once
//
// Records, dead letters and offsets are one transaction ([rivulet/kafka.Transactions]). Whoever reads committed records
// sees each of them once, also after a crash.
//
//	router.go  Router: a member of a consumer group; one transaction after the other
//	inflow.go  records of many partitions in the order of their timestamps
//	route.go   what becomes of one record
package repartition
