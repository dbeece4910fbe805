package config

import (
	"errors"
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
