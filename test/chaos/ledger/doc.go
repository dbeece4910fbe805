// Package ledger compares the answers of a stream with its arrivals, and finds arrivals that are lost, answered twice,
// out of order, for the wrong reason, or by other bits than their version's. Package chaos fills a ledger from what a
// reader of Kafka sees, and asks for its judgement at the end.
package ledger
