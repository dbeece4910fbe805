// Package literal reads values that other programs have written as text: numbers, times, and lists of numbers
// as Python, NumPy, R, Spark and Postgres print them.
package literal

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// marks are the texts by which programs say that a value is missing, in small letters: pandas, SQL's COPY (\N), R and
// people. True are those that a person may have meant as a value, too.
var marks = map[string]bool{
	"": false, "nan": false, "-nan": false, "nat": false, "<na>": false, "#n/a": false, "null": false, "(null)": false,
	`\n`: false, "na": true, "n/a": true, "none": true, "nil": true, "unknown": true, "missing": true, "?": true,
	"-": true, "--": true,
}

// Missing reports whether a text stands for a missing value, in a label as in a feature of any type.
func Missing(text string) bool {
	_, is := marks[lower(text)]
	return is
}

// MaybeMissing reports whether a text that [Missing] takes for a missing value may be a value: the class none beside
// fraud, or - beside +.
func MaybeMissing(text string) bool { return marks[lower(text)] }

// lower returns a text in small letters, unless it is longer than any mark.
func lower(text string) string {
	if text = strings.TrimSpace(text); len(text) > len("unknown") {
		return text
	}
	return strings.ToLower(text)
}

// Number returns a finite number within the range of float32. With commas the decimal point is a comma: 1,5.
func Number(text string, commas bool) (float64, error) {
	plain := text
	if commas {
		plain = strings.Replace(text, ",", ".", 1)
	}
	v, err := strconv.ParseFloat(plain, 64)
	switch {
	case errors.Is(err, strconv.ErrRange) || err == nil && !math.IsInf(v, 0) && math.IsInf(float64(float32(v)), 0):
		return 0, fmt.Errorf("%.40q is beyond the range of float32", text)
	case err != nil || commas && strings.Contains(text, "."):
		return 0, fmt.Errorf("%.40q is not a number", text)
	case math.IsNaN(v) || math.IsInf(v, 0):
		return 0, fmt.Errorf("%.40q is not a finite number", text)
	}
	return v, nil
}

// timeLayouts are the forms of dates and times that mean the same everywhere. Go reads fractions of seconds
// after each.
var timeLayouts = []string{
	"2006-01-02", "2006-01-02 15:04:05", "2006-01-02T15:04:05", "2006-01-02 15:04:05Z07:00", "2006-01-02T15:04:05Z07:00",
	"2006-01-02 15:04:05-0700", "2006-01-02T15:04:05-0700", "2006-01-02 15:04", "2006-01-02T15:04",
	"2006-01-02 15:04:05 UTC", "2006-01-02 15:04Z07:00", "2006-01-02T15:04Z07:00",
}

// Time reads a date or time. zoned reports whether the text has a zone; without one it is UTC.
func Time(text string) (t time.Time, zoned bool, err error) {
	if len(text) >= len("2006-01-02") && text[4] == '-' && text[7] == '-' {
		for k, layout := range timeLayouts {
			if t, err = time.Parse(layout, text); err == nil {
				return t.UTC(), k > 2 && k != 7 && k != 8, nil
			}
		}
	}
	return t, false, fmt.Errorf("%.40q is not a date or time such as 2026-11-21 or 2026-11-21T09:30:00+01:00", text)
}
