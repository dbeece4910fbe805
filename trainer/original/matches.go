package original

import (
	"fmt"

	"rivulet/artifact"
	"rivulet/schema"
)

// Matches returns an error unless an artifact is for data of these features and classes.
func (t *Tables) Matches(features *schema.Schema, b *artifact.Bundle) error {
	if got, want := t.Graph.Summary.Width, b.Manifest.Data.Features; got != want {
		return fmt.Errorf("the data have %d features, the artifact is for %d", got, want)
	}
	if got, want := schemaHash(features), schemaHash(b.Schema); got != want {
		return fmt.Errorf("the data's features are of schema %s, the artifact's of %s", got, want)
	}
	if more := t.Classes[len(b.Manifest.Data.Classes):]; len(more) > 0 {
		return fmt.Errorf("the data have the label %q, the artifact the classes %q", more[0], b.Manifest.Data.Classes)
	}
	return nil
}

func schemaHash(s *schema.Schema) string {
	if s == nil {
		return "none"
	}
	return s.Hash()
}
