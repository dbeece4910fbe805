package main

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/spf13/pflag"

	"rivulet/internal/help"
	"rivulet/schema"
	"rivulet/trainer"
)

// schemaFlags holds the flags that choose the kinds of named columns.
type schemaFlags struct{ kinds, missing map[string]string }

func registerSchema(flags *pflag.FlagSet, o *trainer.Options) *schemaFlags {
	f := &schemaFlags{}
	help.Group(flags, "Named columns", func() {
		flags.StringToStringVar(&f.kinds, "feature", nil,
			"kind of a named column, NAME=number, bool, category, text[:BUCKETS], time[:PART+PART], age[:DATE or :COLUMN] or "+
				"vector; may be given again")
		flags.StringToStringVar(&f.missing, "missing", nil,
			"what a missing value of a named column becomes: NAME=mean, zero, column (one that says so) or refuse; may be "+
				"given again")
		flags.IntVar(&o.Schema.MinCount, "min-count", schema.DefaultMinCount,
			"original nodes that a category must have to be one of its own; rarer ones share one with values never seen")
		flags.IntVar(&o.Schema.Buckets, "buckets", schema.DefaultBuckets,
			"positions of the hashed words of a text, where --feature does not say")
	})
	return f
}

// apply puts the flags into the options of a run.
func (f *schemaFlags) apply(o *trainer.Options) error {
	o.Schema.Seed, o.Schema.Kinds, o.Schema.Missing = o.Seed, f.kinds, map[string]schema.Rule{}
	for _, name := range slices.Sorted(maps.Keys(f.kinds)) {
		if _, err := schema.ParseKind(f.kinds[name]); err != nil {
			return fmt.Errorf("--feature %s: %w", name, err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.missing)) {
		rule, err := schema.ParseRule(f.missing[name])
		if err != nil {
			return fmt.Errorf("--missing %s: %w", name, err)
		}
		o.Schema.Missing[name] = rule
	}
	return nil
}

// printSchema prints the columns that are used and the unused ones.
func printSchema(w io.Writer, s *schema.Schema) {
	if s == nil {
		return
	}
	for k := range s.Features() {
		f := &s.Features()[k]
		fmt.Fprintf(w, "column %q is used: %s, missing: %s, %d of %d positions\n", f.Name, f.Describe(), f.Missing, f.Width(),
			s.Width())
	}
	for _, u := range s.Unused() {
		fmt.Fprintf(w, "column %q is not used: %s\n", u.Name, u.Reason)
	}
}
