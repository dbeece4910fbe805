package event

import "time"

// The times that every form can hold are those of the years 1 to 9999 in UTC: RFC 3339 has four digits for the year, and
// google.protobuf.Timestamp, which these are the bounds of, begins with the year 1. In seconds since 1970:
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

// timestamp is a record's timestamp in UTC, or zero where it is none that can be written: whoever wrote the record chose
// it, microseconds in the place of milliseconds included, and it must not keep a prediction back.
func timestamp(t time.Time) time.Time {
	if !inYears(t) {
		return time.Time{}
	}
	return t.UTC()
}
