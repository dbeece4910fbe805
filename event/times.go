package event

import (
	"time"

	"rivulet/event/connect"
)

// Seconds since 1970 of the first and the last time that a record can have.
const (
	minSeconds = connect.MinSeconds
	maxSeconds = connect.MaxSeconds
)

// inYears reports whether every form can hold a time.
func inYears(t time.Time) bool { return connect.InYears(t) }

// checkYears refuses a time that cannot be written.
func checkYears(t time.Time, field string) error {
	if !inYears(t) {
		return fieldErrorf(ReasonUnparsable, field, "%v is outside the years 1…9999 in UTC", t)
	}
	return nil
}

// timestamp returns a record's timestamp in UTC, or zero if it cannot be written: the record's producer chose
// it, perhaps in microseconds instead of milliseconds, and it must not prevent a prediction.
func timestamp(t time.Time) time.Time {
	if !inYears(t) {
		return time.Time{}
	}
	return t.UTC()
}
