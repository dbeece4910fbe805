// Package ledger compares the answers of a stream with its arrivals, and finds arrivals that are lost, answered twice,
// out of order, or answered by other bits than their version's. Package chaos fills a ledger from the answers that a
// reader of Kafka sees, and asks for its judgement at the end.
//
//	ledger.go        what happened to each arrival
//	judge.go         which promises that breaks, counted for each window of the run
//	transactions.go  arrivals in transactions: which count as sent
//	groups.go        graph batches that can be predicted again
package ledger
