package artifact

import (
	"errors"
	"fmt"
	"slices"

	"rivulet/schema"
)

// Parts of format 2. A part is a file that a reader must know, because it would misread the other files without it.
// Manifest.Requires lists the parts of an artifact. A reader refuses the artifact if it does not know one of them.
// Other files that a reader does not know stand in Manifest.Files only, and it ignores them.

// knownParts are the parts that this build reads.
var knownParts = []string{schemaFile, ownFile, binsFile, directionsFile, firstPart}

// format returns the oldest format whose readers read the bundle rightly, and the parts that they must know.
func (b *Bundle) format() (version int, requires []string) {
	if b.Schema != nil {
		requires = append(requires, schemaFile)
	}
	if b.Own != nil {
		requires = append(requires, ownFile)
	}
	if b.Bins != nil {
		requires = append(requires, part(b.Bins))
	}
	if b.hasParts() {
		requires = append(requires, firstPart)
	}
	if len(requires) > 0 {
		return FormatVersion, requires
	}
	return 1, nil
}

// validateParts checks that the build knows the parts that the artifact requires, and that exactly these are there.
func (m *Manifest) validateParts() error {
	for k, name := range m.Requires {
		_, there := m.Files[name]
		switch {
		case !slices.Contains(knownParts, name):
			return fmt.Errorf("requires[%d] is %q, which this build does not know: %w", k, name, errNewer)
		case slices.Contains(m.Requires[:k], name):
			return fmt.Errorf("requires[%d] is %q, which is there twice", k, name)
		case !there:
			return fmt.Errorf("requires[%d] is %q, which files does not list", k, name)
		case m.FormatVersion < 2:
			return fmt.Errorf("requires[%d] is %q in format_version %d, want 2", k, name, m.FormatVersion)
		}
	}
	for _, name := range knownParts {
		if _, there := m.Files[name]; there && !slices.Contains(m.Requires, name) {
			return fmt.Errorf("files lists %q, which requires does not name", name)
		}
	}
	if m.FormatVersion >= 2 && len(m.Requires) == 0 {
		return errors.New("requires is missing, which format_version 2 has")
	}
	return nil
}

// decodeSchema reads schema.json.
func (b *Bundle) decodeSchema(data []byte) (err error) {
	if b.Schema, err = schema.Parse(data); err != nil {
		return fmt.Errorf("%s: %w", schemaFile, err)
	}
	return nil
}
