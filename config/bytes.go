package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Bytes is a size in bytes, written as 256MiB, 10MB or 4096.
type Bytes int64

// byteUnits lists the units by their names, the largest binary one first.
var byteUnits = []struct {
	name string
	size int64
}{
	{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
	{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"B", 1},
}

// ParseBytes reads a whole number, with one of the units B, kB, MB, GB, TB (powers of 1000) and KiB, MiB, GiB, TiB
// (powers of 1024) in any case, or without one.
func ParseBytes(text string) (Bytes, error) {
	number, unit := strings.TrimSpace(text), int64(1)
	for _, u := range byteUnits {
		if at := len(number) - len(u.name); at > 0 && strings.EqualFold(number[at:], u.name) {
			number, unit = strings.TrimSpace(number[:at]), u.size
			break
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("want a size in bytes such as 512KiB, 256MiB or 4096")
	}
	if n > math.MaxInt64/unit || n < math.MinInt64/unit {
		return 0, fmt.Errorf("larger than %d bytes", int64(math.MaxInt64))
	}
	return Bytes(n * unit), nil
}

// String returns the size in the largest binary unit that divides it; ParseBytes reads it back.
func (b Bytes) String() string {
	for _, u := range byteUnits[:4] {
		if b != 0 && int64(b)%u.size == 0 {
			return strconv.FormatInt(int64(b)/u.size, 10) + u.name
		}
	}
	return strconv.FormatInt(int64(b), 10) + "B"
}

// MarshalText returns the text of String, for logs.
func (b Bytes) MarshalText() ([]byte, error) { return []byte(b.String()), nil }
