package refresh

import (
	"errors"
	"fmt"

	"rivulet/dataset"
	"rivulet/schema"
	"rivulet/serving"
	"rivulet/trainer"
	"rivulet/trainer/features"
)

// keptSchema returns the schema of the graph's positions: the one stored with it or, if there is none, the serving
// version's (was, may be nil); nil if features have no names.
func (o *round) keptSchema(was *serving.Version) (*schema.Schema, error) {
	if s := o.Graph.Schema; s != nil || was == nil {
		return s, nil
	}
	s := was.Info().Schema
	if s != nil && s.Width() != o.Graph.X.Cols() {
		return nil, fmt.Errorf("the features of %s have %d positions, and the schema of %s has %d", o.Graph.Name,
			o.Graph.X.Cols(), was.ID(), s.Width())
	}
	return s, nil
}

// errNoValues is why a schema cannot be fitted anew.
var errNoValues = errors.New(
	"the schema cannot be fitted anew: the graph does not have the named values that its features were made of, as it " +
		"began with features by position or has arrivals by position; begin with the " +
		"tables again (--data)")

// refit fits a schema on the graph with its arrivals, and makes its features by that.
func (o *round) refit(options *trainer.Options) (err error) {
	d := o.grown.Dataset
	if d.Values == nil {
		return errNoValues
	}
	options.Keep = nil
	if d, options.Keep, err = encoded(d, *options); err == nil {
		o.grown.Dataset = d
	}
	return err
}

// encoded returns a data set with features made of its named values.
func encoded(d *dataset.Dataset, options trainer.Options) (*dataset.Dataset, *schema.Schema, error) {
	named := *d
	named.Columns = d.Values
	return features.Encode(&named, options.Keep, options.Schema)
}

// positions returns the validation nodes with features in the positions of the version that serves.
func (o *round) positions(d *dataset.Dataset, was *serving.Version) (*dataset.Dataset, error) {
	s := o.grown.Schema
	if was == nil || s == nil || was.Info().Schema == nil || was.Info().Schema.Hash() == s.Hash() {
		return d, nil
	}
	if d.Values == nil {
		return nil, fmt.Errorf("the graph has features of the schema %s, and %s those of %s: they cannot be compared",
			s.Hash(),
			was.ID(), was.Info().Schema.Hash())
	}
	d, _, err := encoded(d, trainer.Options{Keep: was.Info().Schema})
	return d, err
}
