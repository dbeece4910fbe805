package config

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"
	"slices"
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
	reflect.TypeFor[Map]():           {"map", func(text string) (any, error) { return parseMap(text) }},
	reflect.TypeFor[bool]():          {"bool", parseBool},
	reflect.TypeFor[int]():           {"int", parseInt},
	reflect.TypeFor[float64]():       {"number", parseNumber},
	reflect.TypeFor[time.Duration](): {"duration", parseDuration},
	reflect.TypeFor[Bytes]():         {"bytes", func(text string) (any, error) { return ParseBytes(text) }},
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

// Map is names with values. A file has it as a section of names and texts; the environment and flags as
// name=value,other=value, where a pair with a comma in it stands in double quotes. A flag may be repeated.
type Map map[string]string

// String returns the pairs as the environment has them, in the order of their names.
func (m Map) String() string {
	pairs := make([]string, 0, len(m))
	for _, name := range slices.Sorted(maps.Keys(m)) {
		pair := name + "=" + m[name]
		if strings.ContainsAny(pair, ",\"\n") {
			pair = `"` + strings.ReplaceAll(pair, `"`, `""`) + `"`
		}
		pairs = append(pairs, pair)
	}
	return strings.Join(pairs, ",")
}

func parseMap(text string) (Map, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	in := csv.NewReader(strings.NewReader(text))
	in.TrimLeadingSpace = true
	pairs, err := in.Read()
	if err == nil {
		if _, more := in.Read(); !errors.Is(more, io.EOF) {
			err = errors.New("a line break outside of quotes")
		}
	}
	if err != nil {
		return nil, errors.New("want name=value,other=value, with double quotes around a pair that has a comma or a quote")
	}
	m := make(Map, len(pairs))
	for _, pair := range pairs {
		name, value, is := strings.Cut(pair, "=")
		name = strings.TrimSpace(name)
		if !is || name == "" {
			return nil, fmt.Errorf("%q: want name=value", pair)
		}
		if _, twice := m[name]; twice {
			return nil, fmt.Errorf("%q is there twice", name)
		}
		m[name] = strings.TrimSpace(value)
	}
	return m, nil
}

// mapOf returns the entries of a section in a file.
func mapOf(entries map[string]any) (Map, error) {
	if len(entries) == 0 {
		return nil, nil
	}
	m := make(Map, len(entries))
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		text, is := entries[name].(string)
		if !is {
			return nil, fmt.Errorf("the value of %q is %v, want a text; put it in quotes", name, entries[name])
		}
		if name == "" {
			return nil, errors.New("a name is empty")
		}
		m[name] = text
	}
	return m, nil
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
