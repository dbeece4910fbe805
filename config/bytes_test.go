package config

import (
	"testing"

	"pgregory.net/rapid"
)

func TestParseBytes(t *testing.T) {
	for text, want := range map[string]Bytes{
		"0": 0, "512": 512, "7B": 7, "10kB": 10_000, "64KiB": 64 << 10, "256 MiB": 256 << 20, "1gib": 1 << 30, "3TB": 3e12,
		"-1": -1,
	} {
		if got, err := ParseBytes(text); err != nil || got != want {
			t.Errorf("%q: got %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "MiB", "1.5GiB", "12 apples", "1MiBMiB", "9223372036854775807KiB",
		"-9223372036854775807KiB", "0x10"} {
		if got, err := ParseBytes(text); err == nil {
			t.Errorf("%q: got %d, want an error", text, got)
		}
	}
}

// What String writes, ParseBytes reads back.
func TestBytesRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := Bytes(rapid.Int64().Draw(t, "n") << rapid.IntRange(0, 40).Draw(t, "shift"))
		if got, err := ParseBytes(want.String()); err != nil || got != want {
			t.Fatalf("%s: got %d, %v, want %d", want, got, err, want)
		}
	})
}
