package mapping

import (
	"context"
	"slices"

	"rivulet/artifact"
	"rivulet/infer/attach"
)

// PartLookup looks up rows of an M that is not in memory. Each call reads all of M, so it is for a few calls with many
// ids.
type PartLookup struct {
	bundle *artifact.Bundle
}

// FromBundle returns a lookup of the rows of an artifact's M: in memory, if it is there, or else a [PartLookup].
func FromBundle(b *artifact.Bundle) Lookup {
	if b.Mapping != nil {
		return FromArtifact(b.Mapping)
	}
	return &PartLookup{b}
}

// Rows implements [Lookup].
func (p *PartLookup) Rows(ctx context.Context, ids []string, rows []attach.Row) error {
	CheckLengths(ids, rows)
	asked := make(map[string][]int, len(ids))
	for k, id := range ids {
		rows[k], asked[id] = attach.Row{}, append(asked[id], k)
	}
	for m, err := range p.bundle.Pieces() {
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		for i, id := range m.IDs {
			places := asked[id]
			if len(places) == 0 {
				continue
			}
			row := RowOf(m, i)
			row.Cols, row.Vals = slices.Clone(row.Cols), slices.Clone(row.Vals) // the piece need not stay in memory
			for _, k := range places {
				rows[k] = row
			}
		}
	}
	return nil
}
