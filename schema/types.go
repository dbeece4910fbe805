package schema

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Nodes of several types have features of their own each: "of" names the type. A row then has the positions of all
// types side by side, and a linear map of it is a projection for each type, with the type's category as its bias. Where
// a node is of another type, a feature has its mean, which standardising makes 0, or zeros; it is never "missing".

// checkTypes finds the feature that is a node's type, and checks that the other features are of its types.
func (s *Schema) checkTypes() error {
	s.typed = slices.IndexFunc(s.features, func(f Feature) bool { return f.Arriving != nil })
	for k := range s.features {
		f := &s.features[k]
		switch {
		case f.Of != "" && s.typed < 0:
			return fmt.Errorf("features[%d].of is %q, and no feature has arriving: the types of nodes", k, f.Of)
		case f.Of != "" && !slices.Contains(s.features[s.typed].Categories, f.Of):
			return fmt.Errorf("features[%d].of is %q, want one of %s", k, f.Of,
				strings.Join(s.features[s.typed].Categories, ", "))
		case f.Arriving == nil || k == s.typed && f.Kind == KindCategory && f.Of == "" && len(f.Arriving) > 0:
		default:
			return fmt.Errorf("features[%d].arriving is %q, want some of the categories of one feature", k, f.Arriving)
		}
		for _, name := range f.Arriving {
			if _, ok := f.category[name]; !ok {
				return fmt.Errorf("features[%d].arriving has %q, which is no category", k, name)
			}
		}
	}
	return nil
}

// typeOf returns the type of the node with these fields; empty: nodes have no types.
func (s *Schema) typeOf(slots []int32, fields []Field) (string, error) {
	if s.typed < 0 {
		return "", nil
	}
	f := &s.features[s.typed]
	v := value(slots, s.typed, fields)
	if v.Type == Missing && len(f.Arriving) == 1 && !s.table {
		return f.Arriving[0], nil
	}
	if v.Type == Missing {
		return "", faultf(Refused, f.Name, "is missing, want the node's type: %s", strings.Join(f.Arriving, " or "))
	}
	k, err := f.slot(v)
	if err != nil {
		return "", err
	}
	if k == len(f.Categories) || !s.table && !slices.Contains(f.Arriving, f.Categories[k]) {
		return "", faultf(WrongType, f.Name, "%s, want the type of an arriving node: %s", v.describe(),
			strings.Join(f.Arriving, " or "))
	}
	return f.Categories[k], nil
}

// foreign returns an error if a node of another type has a value of the feature.
func (f *Feature) foreign(v *Value, kind string) error {
	if v.Type == Missing {
		return nil
	}
	return faultf(WrongType, f.Name, "it is a feature of nodes of the type %s, and the node is of the type %s", f.Of,
		kind)
}

// absent writes the numbers of a feature that nodes of the row's type do not have.
func (f *Feature) absent(r *row) {
	if f.Missing == RuleZero {
		return
	}
	for k, m := range f.Mean {
		r.put(f.start+k, float32(m))
	}
}

// rows returns the original nodes that a column is learned from.
func (t *Types) rows(columns []Column, rows []int32) func(column string) []int32 {
	if t == nil {
		return func(string) []int32 { return rows }
	}
	by := map[string][]int32{"": rows}
	for k := range columns {
		if columns[k].Name == t.Column {
			for _, i := range rows {
				name := columns[k].Texts[i]
				by[name] = append(by[name], i)
			}
		}
	}
	return func(column string) []int32 { return by[t.Of[column]] }
}

// feature returns the category of the column that names each node's type.
func (t *Types) feature(c *Column, rows []int32) (Feature, error) {
	f := Feature{Name: c.Name, Kind: KindCategory, Missing: RuleZero, Arriving: t.Arriving}
	counts := map[string]bool{}
	for _, i := range rows {
		counts[c.Texts[i]] = true
	}
	for _, name := range t.Arriving { // also one that no original node has
		counts[name] = true
	}
	for _, name := range t.Of {
		counts[name] = true
	}
	f.Categories = slices.Sorted(maps.Keys(counts))
	return f, f.validate()
}

// own assigns a feature to the type whose table has its column.
func (o *FitOptions) own(f *Feature) {
	if o.Types == nil {
		return
	}
	if f.Of = o.Types.Of[f.Name]; f.Of != "" && o.Zero && f.Missing != RuleColumn {
		f.Missing = RuleZero
	}
}
