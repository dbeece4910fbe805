package schema

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// FitOptions are the choices of a fit. The zero value leaves all of them to the data.
type FitOptions struct {
	Kinds   map[string]string // the kind of a column by the column's name, see [ParseKind]; Fit chooses the others
	Missing map[string]Rule   // the rule for missing values by the column's name; Fit chooses the others
	// MinCount is the number of nodes that a category must have to get a position of its own; 0 is [DefaultMinCount].
	MinCount int
	Buckets  int      // positions of hashed words where the kind does not say; 0 is [DefaultBuckets]
	Seed     uint64   // for hashed words
	Drop     []string // columns that do not become features
	Dropped  []string // columns that the table has and its reader left out; arrivals may still bring them
	Types    *Types   // of nodes; nil: all are of one
	// Zero writes 0 for a feature that nodes of another type have: features are not centred. Otherwise the feature's mean
	// is written, which centring makes 0.
	Zero bool
}

// Types are the types of nodes that a table has.
type Types struct {
	Column   string            `json:"column"`   // names each node's type
	Arriving []string          `json:"arriving"` // the types that arrivals may have
	Of       map[string]string `json:"of"`       // the type whose nodes have a column, by the column's name
}

// Defaults of [FitOptions].
const (
	DefaultMinCount = 5
	DefaultBuckets  = 256
)

// Fit returns a schema of the columns. It learns categories, means and dates from the given rows, the original nodes.
//
// For a column that Kinds does not name, Fit chooses the kind:
//   - numbers and bools keep their own kind;
//   - times, and texts that are all dates, become the age up to the latest of them;
//   - texts that repeat become categories, texts of several words become hashed words;
//   - a column that is constant or looks like an id becomes no feature, and Unused says why.
//
// With types of nodes a column is learned from the nodes of its type.
//
// For a column that Missing does not name, the rule is column if values are missing in the rows, else mean if the
// kind has a mean, else zero. An error names the column and the value.
func Fit(columns []Column, rows []int32, o FitOptions) (*Schema, error) {
	if err := o.check(columns, rows); err != nil {
		return nil, err
	}
	of := o.Types.rows(columns, rows)
	d := document{Version: formatVersion, Seed: o.Seed}
	for k := range columns {
		c := &columns[k]
		if slices.Contains(o.Drop, c.Name) {
			d.Unused = append(d.Unused, Unused{c.Name, "dropped"})
			continue
		}
		if o.Types != nil && c.Name == o.Types.Column {
			f, err := o.Types.feature(c, rows)
			if err != nil {
				return nil, fmt.Errorf("column %q: %w", c.Name, err)
			}
			d.Features = append(d.Features, f)
			continue
		}
		f, reason, err := o.feature(c, of(c.Name))
		switch {
		case err != nil:
			return nil, fmt.Errorf("column %q: %w", c.Name, err)
		case reason != "":
			d.Unused = append(d.Unused, Unused{c.Name, reason})
		default:
			o.own(f)
			d.Features = append(d.Features, *f)
		}
	}
	for _, name := range o.Dropped {
		if !slices.ContainsFunc(columns, func(c Column) bool { return c.Name == name }) {
			d.Unused = append(d.Unused, Unused{name, "dropped"})
		}
	}
	if len(d.Features) == 0 {
		return nil, errors.New("no column can be a feature")
	}
	if err := d.average(columns, rows); err != nil {
		return nil, err
	}
	return build(d)
}

// check refuses options for columns that do not exist, and columns that are the row numbers of a table.
func (o *FitOptions) check(columns []Column, rows []int32) error {
	names := map[string]bool{}
	for k := range columns {
		switch name := columns[k].Name; {
		case name == "" || name == "Unnamed: 0" || name == "__index_level_0__":
			return fmt.Errorf("column %q is pandas' row number and no feature: write the table with index=False, or drop it",
				name)
		case names[name]:
			return fmt.Errorf("column %q is there twice", name)
		default:
			names[name] = true
		}
	}
	for _, of := range [][]string{o.Drop, slices.Sorted(maps.Keys(o.Kinds)), slices.Sorted(maps.Keys(o.Missing))} {
		for _, name := range of {
			if !names[name] {
				return fmt.Errorf("there is no column %q", name)
			}
			if _, kind := o.Kinds[name]; kind && slices.Contains(o.Drop, name) {
				return fmt.Errorf("column %q is dropped and has a kind", name)
			}
		}
	}
	switch {
	case len(rows) == 0:
		return errors.New("no nodes to fit a schema on")
	case o.MinCount < 0:
		return fmt.Errorf("the least count of a category is %d, want 0 (%d) or more", o.MinCount, DefaultMinCount)
	case o.Buckets < 0 || o.Buckets > maxWidth:
		return fmt.Errorf("the number of buckets is %d, want 0 (%d) to %d", o.Buckets, DefaultBuckets, maxWidth)
	}
	return nil
}

// feature returns the feature of a column, or the reason why the column becomes none.
func (o *FitOptions) feature(c *Column, rows []int32) (f *Feature, reason string, err error) {
	var spec Spec
	text, chosen := o.Kinds[c.Name]
	if chosen {
		if spec, err = ParseKind(text); err != nil {
			return nil, "", err
		}
	}
	is := summarize(c, rows, spec.Kind == KindCategory)
	if !chosen {
		if spec, reason = is.kind(); reason != "" {
			return nil, reason, nil
		}
	}
	if is.missing == len(rows) {
		return nil, "", errors.New("all values of the original nodes are missing")
	}
	f = &Feature{Name: c.Name, Kind: spec.Kind, Missing: o.Missing[c.Name], Parts: spec.Parts, Until: spec.Until,
		UntilFeature: spec.UntilColumn, Buckets: spec.Buckets}
	if err := o.learn(f, is); err != nil {
		if !chosen && f.Kind == KindCategory {
			return nil, err.Error(), nil
		}
		return nil, "", err
	}
	if f.Missing == "" {
		switch {
		case is.missing > 0:
			f.Missing = RuleColumn
		case f.Kind == KindCategory || f.Kind == KindText:
			f.Missing = RuleZero
		default:
			f.Missing = RuleMean
		}
	}
	return f, "", f.validate()
}

// learn gives a feature what its kind needs, except the means.
func (o *FitOptions) learn(f *Feature, is *summary) (err error) {
	width := 1
	switch f.Kind {
	case KindCategory:
		f.Categories, err = o.categories(is)
		return err
	case KindText:
		f.Buckets = cmp.Or(f.Buckets, o.Buckets, DefaultBuckets)
		return nil
	case KindTime:
		if len(f.Parts) == 0 {
			f.Parts = []string{PartYear, PartMonth, PartDay, PartWeekday, PartHour}
		}
		width = len(f.Parts)
	case KindAge:
		if f.Until.IsZero() && f.UntilFeature == "" {
			f.Until, err = is.latest, is.notTime
		}
	case KindVector:
		width = max(width, is.length)
	}
	f.Mean = make([]float64, width)
	return err
}

// categories returns the values that at least MinCount rows have, sorted.
func (o *FitOptions) categories(is *summary) ([]string, error) {
	if is.notCategory != nil {
		return nil, is.notCategory
	}
	least := cmp.Or(o.MinCount, DefaultMinCount)
	most := 0
	for _, n := range is.counts {
		most = max(most, n)
	}
	if most < least {
		return nil, fmt.Errorf("no value is there %d times, the most frequent one %d times: choose a smaller least count, "+
			"another kind, or drop it", least, most)
	}
	maps.DeleteFunc(is.counts, func(_ string, n int) bool { return n < least })
	return slices.Sorted(maps.Keys(is.counts)), nil
}

// average sets the means over the rows whose values are not missing.
func (d *document) average(columns []Column, rows []int32) error {
	plain := *d
	plain.Features = slices.Clone(d.Features)
	for k := range plain.Features {
		plain.Features[k].Missing = RuleZero
		plain.Features[k].Of, plain.Features[k].Arriving = "", nil // a value is missing where a node is of another type
	}
	s, err := build(plain)
	if err != nil {
		return err
	}
	used, _, err := s.pick(columns)
	if err != nil {
		return err
	}
	fields, counts := make([]Field, len(used)), make([]float64, len(d.Features))
	sums := make([]float64, s.width)
	one := row{dense: make([]float32, s.width)}
	var m scratch
	for _, i := range rows {
		for k, c := range used {
			fields[k] = Field{c.Name, c.At(int(i))}
		}
		if err := s.assign(&m, fields); err != nil {
			return fmt.Errorf("node %d: %w", i, err)
		}
		clear(one.dense)
		for k := range s.features {
			missing, err := s.feature(&one, k, value(m.slots, k, fields), m.slots, fields)
			if err != nil {
				return fmt.Errorf("node %d: %w", i, err)
			}
			if !missing {
				counts[k]++
			}
		}
		for p, x := range one.dense {
			sums[p] += float64(x)
		}
	}
	for k := range d.Features {
		for p := range d.Features[k].Mean {
			d.Features[k].Mean[p] = sums[s.features[k].start+p] / max(1, counts[k])
		}
	}
	return nil
}
