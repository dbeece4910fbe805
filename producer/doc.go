// Package producer makes records of a batch's predictions and dead letters, and has package kafka publish them: at
// least once, or exactly once in transactions.
//
// A prediction is published under its arrival's key, so the predictions of one key keep the order of its arrivals.
// Headers name the arrival's topic, partition and offset, and the artifact; a prediction that is repeated is recognised
// by them, and in frozen node batches it has the same bits. A dead letter is the record as it came, with the reason and
// its origin in headers; one that is too large to be published goes without the headers and the value of its record.
//
// # Refused records
//
// A record that a broker refuses for its content comes back from package kafka, when all other records are published.
// It gets a key, if a missing key may be the reason; a prediction then becomes a dead letter, a dead letter a
// small one, and a record that is still refused is dropped: logged here, counted by the consumer. In a transaction
// all of this is part of the transaction of its batch.
//
// # At least once
//
// [Producer.Publish] returns when all in-sync replicas have everything; the consumer commits the offsets after that.
// Whatever breaks in between repeats predictions and loses none.
//
// # Exactly once
//
// With [Options.Transactions] the records and the offsets of a batch are in one transaction, which the consumer ends.
// Any failure ends the generation: the consumer joins again, and reads on from the committed offsets. The doc of
// package kafka says how, and how other members are kept out.
package producer
