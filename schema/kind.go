package schema

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Spec is the kind that a person chooses for a column. [Fit] chooses the details that are zero.
type Spec struct {
	Kind    Kind
	Buckets int       // of text
	Parts   []string  // of a time
	Until   time.Time // of an age
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
