// Package check tries each service of a consumer once, with the clients that the consumer uses, and judges the
// settings of the topics that it reads and writes. Each [Result] is a line: what was tried, what was found and, after a
// failure or where a setting will hurt later, what to do. Nothing is written to Kafka, and no member joins the group.
//
// The advice for codes by which brokers refuse a client is also what a running consumer prints ([AdviseKafka]).
package check
