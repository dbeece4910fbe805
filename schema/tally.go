package schema

import (
	"fmt"
	"sync"
)

// Tally counts, by feature, the values of arrivals that their rows do not tell: missing ones, and categories that the
// table did not have, or too rarely. It is safe for concurrent use.
type Tally struct {
	mu     sync.Mutex
	counts []Count // by feature
}

// Count has the values that a [Tally] has counted of one feature.
type Count struct {
	Feature         string
	Missing, Unseen int
	Example         string // the first category that was not known
}

// Counting returns a copy of the schema that counts such values in a tally.
func (s *Schema) Counting(t *Tally) *Schema {
	out := *s
	out.tally = t
	t.counts = make([]Count, len(s.features))
	for k := range s.features {
		t.counts[k].Feature = s.features[k].Name
	}
	return &out
}

// Counts returns the features of which something was counted.
func (t *Tally) Counts() (counts []Count) {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.counts {
		if c.Missing+c.Unseen > 0 {
			counts = append(counts, c)
		}
	}
	return counts
}

func (t *Tally) missing(feature int) {
	if t != nil {
		t.mu.Lock()
		t.counts[feature].Missing++
		t.mu.Unlock()
	}
}

func (t *Tally) unseen(feature int, v *Value) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	c := &t.counts[feature]
	if c.Unseen++; c.Unseen > 1 {
		return
	}
	if c.Example = v.Text; v.Type != Text && v.Type != Numeral {
		var memory [maxCategoryNumber]byte
		c.Example = string(appendCategory(memory[:0], v))
	}
	c.Example = fmt.Sprintf("%.40s", c.Example) // v may be of memory that is used again
}
