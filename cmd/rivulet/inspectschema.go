package main

import (
	"fmt"

	"rivulet/schema"
)

// describeSchema returns the lines of inspect about named features, each a heading and a text. A nil schema has none.
func describeSchema(s *schema.Schema) (lines [][2]string) {
	if s == nil {
		return nil
	}
	lines = append(lines, [2]string{"schema", fmt.Sprintf("%d features at %d positions, hash %s", len(s.Features()),
		s.Width(), s.Hash())})
	for k := range s.Features() {
		f := &s.Features()[k]
		lines = append(lines, [2]string{"", fmt.Sprintf("%q: %s, missing: %s, positions %d to %d", f.Name, f.Describe(),
			f.Missing, f.Start(), f.Start()+f.Width()-1)})
	}
	for _, u := range s.Unused() {
		lines = append(lines, [2]string{"", fmt.Sprintf("%q: not used, %s", u.Name, u.Reason)})
	}
	return lines
}
