package connect

import (
	"math"
	"time"
)

// Guess as the unit of [Options], says that an integer is also a time if its magnitude leaves one unit only.
const Guess = -1

// The units of a number since 1970 are told apart by its magnitude: 292 years (until 2262) have as many milliseconds as
// 107 days have microseconds, and so on. So each number below has one unit, unless the time is within 107 days of
// 1970-01-01; for such times the unit must be set. Seconds are written by no connector, and are not guessed.
const (
	mostDays   = 106_751 // 292 years
	mostMillis = 9_223_372_036_854
	mostMicros = 9_223_372_036_854_775
)

// guess returns the time of a number since 1970, with its unit by magnitude: 20000 is a day of 2024, 1704067200000 are
// milliseconds. It returns false for a number that would be seconds.
func guess(v int64) (time.Time, bool) {
	m := max(v, -math.MaxInt64)
	if m < 0 {
		m = -m
	}
	switch {
	case m <= mostDays:
		return Since(v, Days.Nanoseconds()), true
	case m <= mostMillis/1000:
		return time.Time{}, false
	case m <= mostMillis:
		return Since(v, Millis.Nanoseconds()), true
	case m <= mostMicros:
		return Since(v, Micros.Nanoseconds()), true
	}
	return Since(v, Nanos.Nanoseconds()), true
}

// Since returns the time v units of so many nanoseconds after 1970, in UTC. Far outside of the years that can be
// written it is some time there.
func Since(v, unit int64) time.Time {
	if unit >= 1e9 {
		seconds := unit / 1e9
		if v > math.MaxInt64/seconds/4 || v < math.MinInt64/seconds/4 {
			return time.Unix(math.MaxInt64/4, 0).UTC()
		}
		return time.Unix(v*seconds, 0).UTC()
	}
	each := int64(1e9) / unit // units of a second
	return time.Unix(v/each, v%each*unit).UTC()
}

// Every form of records can hold times of the years 1 to 9999 in UTC: RFC 3339 has four digits for the year, and
// google.protobuf.Timestamp begins with the year 1. In seconds since 1970:
const (
	MinSeconds = -62135596800
	MaxSeconds = 253402300799
)

// InYears reports whether a time has a form in records.
func InYears(t time.Time) bool { return t.Unix() >= MinSeconds && t.Unix() <= MaxSeconds }
