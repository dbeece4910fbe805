package dataset

import (
	"encoding/json"
	"fmt"

	"rivulet/dataset/columns"
	"rivulet/schema"
)

// loadFitted reads them; data without a schema have features by position.
func (d *Dataset) loadFitted(dir string) error {
	var text json.RawMessage
	err := readJSON(dir, schemaFile, &text, func() (err error) {
		d.BagOfWords = false
		if d.Schema, err = schema.Parse(text); err == nil && d.Schema.Width() != d.X.Cols() {
			err = fmt.Errorf("it has %d positions, and the features %d", d.Schema.Width(), d.X.Cols())
		}
		return err
	})
	if err != nil || d.Schema == nil {
		return err
	}
	var in []columns.JSON
	return readJSON(dir, columnsFile, &in, func() error {
		for k := range in {
			c, err := in[k].Column(d.Nodes())
			if err != nil {
				return fmt.Errorf("column %q: %w", in[k].Name, err)
			}
			d.Values = append(d.Values, c)
		}
		return nil
	})
}
