package mapping

import (
	"context"

	"rivulet/infer/attach"
)

// Lookup returns the rows of M of original nodes.
type Lookup interface {
	// Rows fills rows[i] for ids[i]; an id that is not in T gives a row with Known false. len(rows) == len(ids). The
	// slices in a row are shared and must not be changed. Only a lookup that may degrade ([GuardOptions]) gives
	// rows that are Unread.
	Rows(ctx context.Context, ids []string, rows []attach.Row) error
}
