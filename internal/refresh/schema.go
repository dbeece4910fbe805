package refresh

import (
	"errors"
	"fmt"

	"rivulet/dataset"
	"rivulet/schema"
	"rivulet/serving"
	"rivulet/trainer"
)

// keptSchema returns the schema of the graph's positions: the one that is stored with it, or that of the version that
// serves (was, may be nil) for a graph that knows of none; nil where features have no names.
func (r *Refresher) keptSchema(was *serving.Version) (*schema.Schema, error) {
	if s := r.Graph.schema(); s != nil || was == nil {
		return s, nil
	}
	s := was.Schema()
	if s != nil && s.Width() != r.Graph.features() {
		return nil, fmt.Errorf("the features of %s have %d positions, and the schema of %s has %d", r.Graph.name(),
			r.Graph.features(), was.ID(), s.Width())
	}
	return s, nil
}

// errNoValues is why a schema cannot be fitted anew.
var errNoValues = errors.New("the schema cannot be fitted anew: the graph does not have the named values that its features were made of, as it " +
	"began with features by position, was stored by an older release, or has arrivals by position; begin with the tables again (--data)")

// refit fits a schema on the graph with its arrivals, and makes its features by that.
func (o *Round) refit(options *trainer.Options) (err error) {
	if o.grown.Tables != nil || o.grown.Data.Values == nil {
		return errNoValues
	}
	options.Keep = nil
	o.grown.Data, options.Keep, err = o.encoded(*options)
	return err
}

// encoded returns the graph with features made of its named values.
func (o *Round) encoded(options trainer.Options) (*dataset.Dataset, *schema.Schema, error) {
	named := *o.grown.Data
	named.Columns = named.Values
	return trainer.Encode(&named, options)
}

// positions returns the graph, or the judges of tables, with features in the positions of the version that serves.
func (o *Round) positions(judges *dataset.Dataset, was *serving.Version) (*dataset.Dataset, error) {
	s := o.grown.schema()
	if was == nil || s == nil || was.Schema() == nil || was.Schema().Hash() == s.Hash() {
		return judges, nil
	}
	if judges.Values == nil {
		return nil, fmt.Errorf("the graph has features of the schema %s, and %s those of %s: they cannot be compared", s.Hash(),
			was.ID(), was.Schema().Hash())
	}
	d, _, err := o.encoded(trainer.Options{Keep: was.Schema()})
	return d, err
}
