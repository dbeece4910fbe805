package json

import (
	"sync/atomic"
	"time"
)

// day is a day's date as text.
type day struct {
	number int64 // days since 1970-01-01
	text   [len("2006-01-02T")]byte
}

// lastDays are days of times that were written last: most times that a stream writes are of a few days.
var lastDays [8]atomic.Pointer[day]

const secondsADay = 24 * 60 * 60

// appendRFC3339 appends a time of the years 1 to 9999 in UTC, with the bytes of [time.RFC3339Nano]. It takes less
// than half of AppendFormat's time (BenchmarkTime), and a prediction has three times.
func appendRFC3339(dst []byte, t time.Time) []byte {
	seconds := t.Unix()
	number := seconds / secondsADay
	if seconds < number*secondsADay { // before 1970
		number--
	}
	last := &lastDays[number&7]
	on := last.Load()
	if on == nil || on.number != number {
		on = &day{number: number}
		t.UTC().AppendFormat(on.text[:0], "2006-01-02T")
		last.Store(on)
	}
	of := uint32(seconds - number*secondsADay)
	hour, minute, second := of/3600, of/60%60, of%60
	dst = append(dst, on.text[:]...)
	dst = append(dst, '0'+byte(hour/10), '0'+byte(hour%10), ':', '0'+byte(minute/10), '0'+byte(minute%10), ':',
		'0'+byte(second/10), '0'+byte(second%10))
	if nanos := uint32(t.Nanosecond()); nanos != 0 {
		dst = appendFraction(dst, nanos)
	}
	return append(dst, 'Z')
}

// appendFraction appends a point and 1 to 999,999,999 nanoseconds in nine digits, less the zeros at their end.
func appendFraction(dst []byte, nanos uint32) []byte {
	digits := len("000000000")
	for nanos%1000 == 0 {
		nanos, digits = nanos/1000, digits-3
	}
	for nanos%10 == 0 {
		nanos, digits = nanos/10, digits-1
	}
	text := [...]byte{'.', '0', '0', '0', '0', '0', '0', '0', '0', '0'}
	for at := digits; nanos > 0; at-- {
		text[at], nanos = '0'+byte(nanos%10), nanos/10
	}
	return append(dst, text[:1+digits]...)
}
