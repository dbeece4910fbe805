// Package shadow tries candidates on the live stream: the arrivals of a batch are answered by each of them after the
// predictions of the version that serves are delivered, and the two answers are compared.
//
// A [Shadow] observes the consumer's batches. It keeps references to their records until it has answered them, in a
// queue of few batches, and one goroutine ([Shadow.Run]) answers them on a pipeline of its own. The stream never waits
// for it: a batch that finds the queue full is dropped, and counted. While the stream is behind, only a share of the
// time goes into the candidate, because the processors are the stream's then.
//
// Where a candidate serves as a canary, the version that serves answers the canary's arrivals here, so that every pair
// has an answer of both.
package shadow
