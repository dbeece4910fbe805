package schema

import (
	"fmt"
	"strconv"
	"time"
)

// Kind describes how the values of a feature become numbers.
type Kind string

// Kinds of features.
const (
	KindNumber   Kind = "number"
	KindBool     Kind = "bool"
	KindCategory Kind = "category"
	KindText     Kind = "text"
	KindTime     Kind = "time"
	KindAge      Kind = "age"
	KindVector   Kind = "vector"
)

// Rule describes how a missing value is encoded.
type Rule string

// Rules for missing values.
const (
	RuleMean   Rule = "mean"   // the mean of the values that the schema was fitted on
	RuleZero   Rule = "zero"   // zeros
	RuleColumn Rule = "column" // as mean if the feature has means, else zeros; and 1 in a position that says "missing"
	RuleRefuse Rule = "refuse" // an error, a dead letter
)

// Feature is one named feature. Fields that do not belong to its kind are zero.
type Feature struct {
	Name    string `json:"name"`
	Kind    Kind   `json:"kind"`
	Missing Rule   `json:"missing"`
	// Mean has the mean of each position, for a number, a bool, the parts of a time, an age or a vector.
	Mean []float64 `json:"mean,omitempty"`
	// Categories are the values with a position of their own, distinct.
	Categories []string `json:"categories,omitempty"`
	// Buckets is the number of positions of hashed words.
	Buckets int `json:"buckets,omitzero"`
	// Parts are the parts of a time: year, month, day, weekday, hour.
	Parts []string `json:"parts,omitempty"`
	// Until is the date up to which an age counts; zero if it counts up to UntilFeature.
	Until time.Time `json:"until,omitzero"`
	// UntilFeature is the time or age feature, or the unused column, up to whose time an age counts.
	UntilFeature string `json:"until_feature,omitempty"`
	// Of is the type of the nodes that have the feature; empty: all do. A node of another type has its means, or zeros.
	Of string `json:"of,omitempty"`
	// Arriving is set on the category that is a node's type: the types that an arrival may have. If there is one only,
	// arrivals need not say it.
	Arriving []string `json:"arriving,omitempty"`

	start    int            // first position
	category map[string]int // index of each category
	until    int            // slot of UntilFeature; -1 without
}

// Parts of a time, in UTC.
const (
	PartYear    = "year"
	PartMonth   = "month"   // 1 to 12
	PartDay     = "day"     // of the month, 1 to 31
	PartWeekday = "weekday" // Monday is 0
	PartHour    = "hour"    // 0 to 23
)

// values is the number of positions without the one that says "missing".
func (f *Feature) values() int {
	switch f.Kind {
	case KindCategory:
		return len(f.Categories) + 1
	case KindText:
		return f.Buckets
	case KindTime:
		return len(f.Parts)
	case KindVector:
		return len(f.Mean)
	}
	return 1
}

// Width returns the number of positions.
func (f *Feature) Width() int {
	if f.Missing == RuleColumn {
		return f.values() + 1
	}
	return f.values()
}

// Start returns the first position.
func (f *Feature) Start() int { return f.start }

// position returns the name of position k of the feature.
func (f *Feature) position(k int) string {
	if k == f.values() {
		return f.Name + "=(missing)"
	}
	switch f.Kind {
	case KindCategory:
		if k == len(f.Categories) {
			return f.Name + "=(other)"
		}
		return f.Name + "=" + f.Categories[k]
	case KindText:
		return f.Name + "#" + strconv.Itoa(k)
	case KindTime:
		return f.Name + "." + f.Parts[k]
	case KindVector:
		return f.Name + "[" + strconv.Itoa(k) + "]"
	}
	return f.Name
}

// Describe returns the kind with its details, as [ParseKind] reads it where it can: "text:256".
func (f *Feature) Describe() string {
	switch f.Kind {
	case KindCategory:
		return fmt.Sprintf("category of %d values and others", len(f.Categories))
	case KindText:
		return fmt.Sprintf("text:%d", f.Buckets)
	case KindTime:
		text := "time:"
		for k, part := range f.Parts {
			if k > 0 {
				text += "+"
			}
			text += part
		}
		return text
	case KindAge:
		if f.UntilFeature != "" {
			return "age:" + f.UntilFeature
		}
		return "age:" + f.Until.Format(time.RFC3339Nano)
	case KindVector:
		return fmt.Sprintf("vector of %d", len(f.Mean))
	}
	return string(f.Kind)
}
