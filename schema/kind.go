package schema

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Spec is the kind that a person chooses for a column. [Fit] chooses the details that are zero.
type Spec struct {
	Kind    Kind
	Buckets int       // for a text
	Parts   []string  // for a time
	Until   time.Time // for an age
	// UntilColumn names the column with the time up to which an age counts.
	UntilColumn string
}

const kindsText = "number, bool, category, text[:BUCKETS], time[:PART+PART…], age[:DATE or :COLUMN] or vector"

// ParseKind reads a kind: number, bool, category, text or text:1024, time or time:year+month, age, age:2026-01-31 or
// age:COLUMN, vector.
func ParseKind(text string) (Spec, error) {
	word, detail, has := strings.Cut(text, ":")
	s := Spec{Kind: Kind(word)}
	if has && detail == "" {
		return s, fmt.Errorf("kind is %q, want %s", text, kindsText)
	}
	switch s.Kind {
	case KindText:
		if !has {
			return s, nil
		}
		n, err := strconv.Atoi(detail)
		if err != nil || n < 1 || n > maxWidth {
			return s, fmt.Errorf("kind is %q, want 1 to %d buckets", text, maxWidth)
		}
		s.Buckets = n
		return s, nil
	case KindTime:
		if !has {
			return s, nil
		}
		s.Parts = strings.Split(detail, "+")
		return s, checkParts(s.Parts)
	case KindAge:
		if t, err := parseTime(detail); err == nil {
			s.Until = t
		} else {
			s.UntilColumn = detail
		}
		return s, nil
	case KindNumber, KindBool, KindCategory, KindVector:
		if !has {
			return s, nil
		}
	}
	return s, fmt.Errorf("kind is %q, want %s", text, kindsText)
}

var parts = []string{PartYear, PartMonth, PartDay, PartWeekday, PartHour}

func checkParts(of []string) error {
	for k, part := range of {
		if !slices.Contains(parts, part) {
			return fmt.Errorf("parts[%d] is %q, want one of %s", k, part, strings.Join(parts, ", "))
		}
		if slices.Contains(of[:k], part) {
			return fmt.Errorf("parts[%d] is %q, which is there twice", k, part)
		}
	}
	if len(of) == 0 {
		return fmt.Errorf("parts is empty, want some of %s", strings.Join(parts, ", "))
	}
	return nil
}

// ParseRule reads a rule for missing values.
func ParseRule(text string) (Rule, error) {
	switch r := Rule(text); r {
	case RuleMean, RuleZero, RuleColumn, RuleRefuse:
		return r, nil
	}
	return "", fmt.Errorf("missing is %q, want %q, %q, %q or %q", text, RuleMean, RuleZero, RuleColumn, RuleRefuse)
}

// validate checks that the feature has its kind's parameters and no others.
func (f *Feature) validate() error {
	var allowed Feature // the kind's own parameters
	means := 0
	switch f.Kind {
	case KindNumber, KindBool:
		means = 1
	case KindCategory:
		if f.Missing == RuleMean {
			return fmt.Errorf("missing is %q, a category has no mean", f.Missing)
		}
		allowed = Feature{Categories: f.Categories}
		if err := f.index(); err != nil {
			return err
		}
	case KindText:
		if f.Missing == RuleMean {
			return fmt.Errorf("missing is %q, a text has no mean", f.Missing)
		}
		allowed = Feature{Buckets: f.Buckets}
		if f.Buckets < 1 || f.Buckets > maxWidth {
			return fmt.Errorf("buckets is %d, want 1 to %d", f.Buckets, maxWidth)
		}
	case KindTime:
		means, allowed = len(f.Parts), Feature{Parts: f.Parts}
		if err := checkParts(f.Parts); err != nil {
			return err
		}
	case KindAge:
		means, allowed = 1, Feature{Until: f.Until, UntilFeature: f.UntilFeature}
		if f.Until.IsZero() == (f.UntilFeature == "") {
			return fmt.Errorf("until is %v and until_feature %q, want one of the two", f.Until, f.UntilFeature)
		}
		f.Until = f.Until.UTC()
	case KindVector:
		means = max(1, len(f.Mean))
	default:
		return fmt.Errorf("kind is %q, want number, bool, category, text, time, age or vector", f.Kind)
	}
	return f.validateRest(&allowed, means)
}

// validateRest checks the number of means, and that no field of another kind is set.
func (f *Feature) validateRest(allowed *Feature, means int) error {
	if len(f.Mean) != means {
		return fmt.Errorf("mean has %d values, want %d", len(f.Mean), means)
	}
	for k, m := range f.Mean {
		if !(math.Abs(m) <= math.MaxFloat32) {
			return fmt.Errorf("mean[%d] is %v, want a number that float32 holds", k, m)
		}
	}
	switch {
	case len(f.Categories) != len(allowed.Categories):
		return fmt.Errorf("categories has %d values, a %s has none", len(f.Categories), f.Kind)
	case f.Buckets != allowed.Buckets:
		return fmt.Errorf("buckets is %d, a %s has none", f.Buckets, f.Kind)
	case len(f.Parts) != len(allowed.Parts):
		return fmt.Errorf("parts is %q, a %s has none", strings.Join(f.Parts, "+"), f.Kind)
	case !f.Until.Equal(allowed.Until) || f.UntilFeature != allowed.UntilFeature:
		return fmt.Errorf("until is %v and until_feature %q, a %s has neither", f.Until, f.UntilFeature, f.Kind)
	}
	return nil
}

// index builds the map from a category to its position.
func (f *Feature) index() error {
	f.category = make(map[string]int, len(f.Categories))
	for k, c := range f.Categories {
		if _, twice := f.category[c]; twice {
			return fmt.Errorf("categories[%d] is %q, which is there twice", k, c)
		}
		f.category[c] = k
	}
	return nil
}
