// Package retry classifies errors of Kafka, and waits while those that end by themselves last. The consumer uses it for
// Redis and for the registry, too.
//
//	judge.go        Judge: retriable, the end of a generation, permanent, or about a record's content
//	retry.go        Clock, Patience, Outage, Attempts: pauses that double, and one line in the log for each outage
//	clock.go        the machine's time
//	clock_chaos.go  the same plus an offset, in builds with the tag chaos, for test/chaos
//
// Work that may fail is done like this; Repeat pauses between two attempts, and returns an error where no further attempt
// makes sense:
//
//	err := patience.Outage(retry.StageFetch).Attempts().Repeat(ctx, func() (err error) {
//		records, err = fetch(ctx)
//		return err
//	})
//
// A loop in which more happens between the attempts calls Failed and Over itself.
package retry
