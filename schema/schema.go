package schema

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
)

// formatVersion is the version of schema.json.
const formatVersion = 1

// maxWidth bounds the positions of a schema.
const maxWidth = 1 << 24

// Schema is an ordered list of features. It is immutable and may be used by many goroutines at once.
type Schema struct {
	features []Feature
	unused   []Unused
	seed     uint64
	width    int
	blocks   []block        // blocks.go: of the positions, for measures
	measures []string       // their names
	sparse   bool           // rows have mostly zeros
	slots    map[string]int // by name: of features, then of unused columns
	names    []string       // per slot
	numbers  []int32        // per feature: the position of a number, −1 for another kind
	text     []byte         // the canonical JSON
	hash     string
	tolerant bool
	tally    *Tally // counts values that rows do not tell; nil: nothing does
	typed    int    // the feature that is a node's type; -1: nodes have none
	table    bool   // nodes come from a table and may have any type; else they arrive, and need a type with a task
	// optional reports whether a field without a feature is passed over; nil: none is.
	optional func(name string) bool
}

// Unused is a column of the table that is no feature. An arrival may have a field of this name, which has no
// influence.
type Unused struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// document is schema.json.
type document struct {
	Version  int       `json:"schema_version"`
	Seed     uint64    `json:"seed"` // for hashed words
	Features []Feature `json:"features"`
	Unused   []Unused  `json:"unused,omitempty"`
}

// Parse reads schema.json. An error names the field and the value. Unknown fields are refused, as they may change the
// meaning of positions.
func Parse(data []byte) (*Schema, error) {
	var d document
	if err := json.Unmarshal(data, &d, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("reading a schema: %w", err)
	}
	if d.Version != formatVersion {
		return nil, fmt.Errorf("schema_version is %d, this build reads %d", d.Version, formatVersion)
	}
	return build(d)
}

// build checks a schema and prepares it for use.
func build(d document) (*Schema, error) {
	s := &Schema{features: d.Features, unused: d.Unused, seed: d.Seed, slots: map[string]int{}}
	if len(s.features) == 0 {
		return nil, errors.New("features is empty, want at least one")
	}
	for k := range s.features {
		f := &s.features[k]
		if err := s.add(f, k); err != nil {
			return nil, fmt.Errorf("features[%d].%w", k, err)
		}
	}
	for k, u := range s.unused {
		if err := s.name(u.Name, len(s.features)+k); err != nil {
			return nil, fmt.Errorf("unused[%d].%w", k, err)
		}
	}
	for k := range s.features {
		f := &s.features[k]
		if f.until = -1; f.UntilFeature == "" {
			continue
		}
		slot, ok := s.slots[f.UntilFeature]
		if !ok {
			return nil, fmt.Errorf("features[%d].until_feature is %q, which is no feature and no unused column", k,
				f.UntilFeature)
		}
		f.until = slot
	}
	s.sparse = s.entries()*4 <= s.width
	if err := s.checkTypes(); err != nil {
		return nil, err
	}
	return s, s.seal()
}

// seal computes the canonical JSON, its hash, and everything else that follows from the features.
func (s *Schema) seal() error {
	s.divide()
	text, err := json.Marshal(document{formatVersion, s.seed, s.features, s.unused}, json.Deterministic(true))
	if err != nil {
		return fmt.Errorf("writing a schema: %w", err)
	}
	sum := sha256.Sum256(text)
	s.text, s.hash = text, hex.EncodeToString(sum[:])
	return nil
}

// name assigns a slot to a name.
func (s *Schema) name(name string, slot int) error {
	if name == "" || !utf8.ValidString(name) {
		return fmt.Errorf("name is %q, want a name in UTF-8", name)
	}
	if _, twice := s.slots[name]; twice {
		return fmt.Errorf("name is %q, which is there twice", name)
	}
	s.slots[name] = slot
	s.names = append(s.names, name)
	return nil
}

// add checks feature k and gives it its positions.
func (s *Schema) add(f *Feature, k int) error {
	if err := s.name(f.Name, k); err != nil {
		return err
	}
	if _, err := ParseRule(string(f.Missing)); err != nil {
		return err
	}
	if err := f.validate(); err != nil {
		return err
	}
	f.start = s.width
	number := int32(-1)
	if f.Kind == KindNumber {
		number = int32(f.start)
	}
	s.numbers = append(s.numbers, number)
	if f.Width() > maxWidth-s.width {
		return fmt.Errorf("name is %q, with which there are more than %d positions", f.Name, maxWidth)
	}
	s.width += f.Width()
	return nil
}

// textEntries estimates how many distinct words a text has.
const textEntries = 16

// entries estimates how many numbers of a row are not 0.
func (s *Schema) entries() int {
	n := 0
	for k := range s.features {
		f := &s.features[k]
		switch f.Kind {
		case KindCategory:
			n++
		case KindText:
			n += min(f.Buckets, textEntries)
		default:
			n += f.Width()
		}
	}
	return n
}

// Features returns the features in the order of their positions. The caller must not change them.
func (s *Schema) Features() []Feature { return s.features }

// Unused returns the columns of the table that are no features.
func (s *Schema) Unused() []Unused { return s.unused }

// Width returns the number of positions, d.
func (s *Schema) Width() int { return s.width }

// Sparse reports whether rows are stored as sparse rows, because most of their numbers are 0.
func (s *Schema) Sparse() bool { return s.sparse }

// Names returns the names of all positions, such as "country=DE".
func (s *Schema) Names() []string {
	names := make([]string, 0, s.width)
	for k := range s.features {
		for p := range s.features[k].Width() {
			names = append(names, s.features[k].position(p))
		}
	}
	return names
}

// MarshalJSON returns the canonical JSON, the content of schema.json: the same bytes for the same schema.
func (s *Schema) MarshalJSON() ([]byte, error) { return slices.Clone(s.text), nil }

// Hash returns the SHA-256 of the canonical JSON, in hexadecimal digits.
func (s *Schema) Hash() string { return s.hash }

// WithOptional returns a copy of the schema that ignores a field with an unknown name if optional returns true for the
// name. In a row of a table the column of the id is such a field.
func (s *Schema) WithOptional(optional func(name string) bool) *Schema {
	out := *s
	out.optional = optional
	return &out
}

// IgnoringUnknown returns a copy of the schema that ignores fields with unknown names.
func (s *Schema) IgnoringUnknown() *Schema {
	out := *s
	out.tolerant = true
	return &out
}
