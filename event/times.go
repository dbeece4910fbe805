package event

import (
	"time"

	"rivulet/event/connect"
)

// Timestamp returns a record's timestamp in UTC, or zero if it cannot be written: the record's producer chose
// it, perhaps in microseconds instead of milliseconds, and it must not prevent a prediction.
func Timestamp(t time.Time) time.Time {
	if !connect.InYears(t) {
		return time.Time{}
	}
	return t.UTC()
}
