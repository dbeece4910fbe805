package event

import "time"

// Every form can hold times of the years 1 to 9999 in UTC: RFC 3339 has four digits for the year, and
// google.protobuf.Timestamp, whose bounds these are, begins with the year 1. In seconds since 1970:
const (
	minSeconds = -62135596800
	maxSeconds = 253402300799
)

func inYears(t time.Time) bool {
	s := t.Unix()
	return s >= minSeconds && s <= maxSeconds
}

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
