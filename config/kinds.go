package config

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// kind is a type that a field may have.
type kind struct {
	name string // its name in help and reference
	// parse reads the text of a value, as it stands in the environment and on the command line.
	parse func(text string) (any, error)
}

var kinds = map[reflect.Type]kind{
	reflect.TypeFor[string]():        {"string", func(text string) (any, error) { return text, nil }},
	reflect.TypeFor[RedisURL]():      {"url", func(text string) (any, error) { return RedisURL(text), nil }},
	reflect.TypeFor[Secret]():        {"secret", func(text string) (any, error) { return Secret(text), nil }},
	reflect.TypeFor[[]string]():      {"list", func(text string) (any, error) { return parseList(text), nil }},
	reflect.TypeFor[bool]():          {"bool", parseBool},
	reflect.TypeFor[int]():           {"int", parseInt},
	reflect.TypeFor[float64]():       {"number", parseNumber},
	reflect.TypeFor[time.Duration](): {"duration", parseDuration},
	reflect.TypeFor[Bytes]():         {"bytes", func(text string) (any, error) { return ParseBytes(text) }},
}

func kindOf(t reflect.Type) (kind, bool) {
	k, ok := kinds[t]
	return k, ok
}

// isText reports whether any text is a value of the kind.
func (k kind) isText() bool { return k.name == "string" || k.name == "url" || k.name == "secret" }

func parseList(text string) []string {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	parts := strings.Split(text, ",")
	for i, p := range parts {
		parts[i] = strings.TrimSpace(p)
	}
	return parts
}

func parseBool(text string) (any, error) {
	switch text {
	case "true", "false":
		return text == "true", nil
	}
	return nil, errors.New("want true or false")
}

func parseInt(text string) (any, error) {
	n, err := strconv.Atoi(text)
	if err != nil {
		return nil, errors.New("want a whole number")
	}
	return n, nil
}

func parseNumber(text string) (any, error) {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
		return nil, errors.New("want a number such as 0.9")
	}
	return x, nil
}

func parseDuration(text string) (any, error) {
	d, err := time.ParseDuration(text)
	if err != nil {
		return nil, errors.New("want a duration with its unit, such as 5ms, 1.5s or 2m")
	}
	return d, nil
}

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
