package table

import (
	"fmt"
	"strings"

	"rivulet/dataset/numpy"
	"rivulet/schema"
)

// Column collects the values of a feature with a name.
type Column struct {
	schema.Column
	survey *survey
	commas bool
	rows   int
	absent int
	texts  map[string]string // one copy of each
	first  Place             // of a vector's length
	width  int
	spans  []numpy.Span                // of the number, or one for each of a vector's
	text   func(*Cell) (string, error) // reads categories
}

func (c *Column) add(cell *Cell, at Place) (err error) {
	if c.text == nil {
		c.text = c.survey.names(true)
		if c.Type == schema.Number {
			c.spans = make([]numpy.Span, 1)
		}
	}
	missing := cell.missing()
	if missing && c.Missing == nil {
		c.Missing = make([]bool, c.rows)
	}
	if c.Missing != nil {
		c.Missing = append(c.Missing, missing)
	}
	c.rows++
	if missing {
		c.absent++
		cell = &Cell{}
	}
	switch c.Type {
	case schema.Number:
		var v float64
		if !missing {
			v, err = cell.number(c.commas)
			c.spans[0].See(v)
		}
		c.Numbers = append(c.Numbers, v)
	case schema.Bool:
		var v bool
		if !missing {
			v, err = cell.bool()
		}
		c.Bools = append(c.Bools, v)
	case schema.Text:
		err = c.addText(cell, missing)
	case schema.Vector:
		err = c.addVector(cell, at, missing)
	case schema.Time:
		v := cell.Time
		if !missing {
			v, err = cell.time()
		}
		c.Times = append(c.Times, v)
	}
	return err
}

func (c *Column) addText(cell *Cell, missing bool) (err error) {
	text := ""
	if !missing {
		if text, err = c.text(cell); err != nil {
			return err
		}
	}
	kept, known := c.texts[text]
	if !known {
		kept = strings.Clone(text)
		c.texts[kept] = kept
	}
	c.Texts = append(c.Texts, kept)
	return nil
}

func (c *Column) addVector(cell *Cell, at Place, missing bool) error {
	if missing {
		c.Vectors = append(c.Vectors, nil)
		return nil
	}
	list, err := cell.list()
	if err != nil {
		return err
	}
	x := make([]float32, len(list))
	if c.width == 0 {
		c.width, c.first = len(x), at
	}
	if len(x) != c.width || len(x) == 0 {
		return fmt.Errorf("%d values, want %d as in %s", len(x), c.width, c.first)
	}
	if c.spans == nil {
		c.spans = make([]numpy.Span, len(x))
	}
	for k, v := range list {
		x[k] = float32(v)
		c.spans[k].See(v)
	}
	c.Vectors = append(c.Vectors, x)
	return nil
}

// describe returns the column's name and type as text. elsewhere is the number of nodes of types that lack the column.
func (c *Column) describe(elsewhere int) string {
	what := c.Type.String()
	switch {
	case c.Categorical:
		what = "category"
	case c.Type == schema.Text:
		what = "text"
	case c.Type == schema.Vector:
		what = fmt.Sprintf("list of %d", c.width)
	case c.Type == schema.Time && c.survey.kinds[Raw] > 0 && c.survey.zones < c.survey.kinds[Raw]:
		what = "time, UTC where no zone is given"
	}
	if c.absent > elsewhere {
		what += fmt.Sprintf(", %d missing", c.absent-elsewhere)
	}
	return fmt.Sprintf("%s (%s)", c.Name, what)
}
