package json

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Times are written as the standard library writes them, of any year that JSON has and with any fraction of a second.
func TestTimesAreWrittenAsByTheLibrary(t *testing.T) {
	first, last := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC).Unix(), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC).Unix()
	rapid.Check(t, func(t *rapid.T) {
		seconds := rapid.Int64Range(first, last).Draw(t, "seconds")
		for range 3 { // of one day or the next one
			nanos := rapid.Int64Range(0, 999).Draw(t, "nanos") * rapid.SampledFrom([]int64{0, 1, 10, 1000, 1_000_000}).Draw(t,
				"of")
			at := time.Unix(seconds, nanos).In(time.FixedZone("", 3600*rapid.IntRange(-11, 11).Draw(t, "zone")))
			if got, want := string(appendRFC3339([]byte("x"), at)), "x"+at.UTC().Format(time.RFC3339Nano); got != want {
				t.Fatalf("got %s, want %s", got, want)
			}
			seconds = min(last, seconds+rapid.Int64Range(0, 20_000).Draw(t, "later"))
		}
	})
}

// BenchmarkTime writes a time with milliseconds, beside the standard library.
func BenchmarkTime(b *testing.B) {
	at, buf := time.Unix(1_800_000_000, 123_000_000), make([]byte, 0, 64)
	b.Run("ours", func(b *testing.B) {
		for b.Loop() {
			buf = appendRFC3339(buf[:0], at)
		}
	})
	b.Run("library", func(b *testing.B) {
		for b.Loop() {
			buf = at.UTC().AppendFormat(buf[:0], time.RFC3339Nano)
		}
	})
}
