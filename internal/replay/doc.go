// Package replay turns nodes of a data set, its test nodes above all, into a stream of arrivals, as they would come in
// production: raw features, all neighbours by id (unknown ones, too), in the order of the data set.
//
// Arrivals go to a [Sink]: a Kafka topic or JSON lines. [Replay] keeps to a rate if one is asked for. It sends other
// streams too, such as the demo's, by which the graph grows.
//
// [Letters] reads dead letters and feeds their arrivals in again, each once.
package replay
