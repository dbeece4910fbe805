// Package retry classifies errors of Kafka, and waits while those that end by themselves last. The consumer uses it for
// Redis and for the registry, too.
//
// Work that may fail is done like this; Repeat pauses between two attempts, and returns an error where no further
// attempt makes sense:
//
//	err := patience.Outage(retry.StageFetch).Attempts().Repeat(ctx, func() (err error) {
//		records, err = fetch(ctx)
//		return err
//	})
//
// A loop in which more happens between the attempts calls Failed and Over itself.
package retry
