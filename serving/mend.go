package serving

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"rivulet/mapping"
)

// fieldMended is the field of a marker that says when a complete version was mended last, in ms of Redis' clock.
const fieldMended = "mended_ms"

// fieldOtherData is the field of a marker that says that consumers may take the version although it was made of other
// data than the one that they serve.
const fieldOtherData = "other_data"

// mend writes again what a complete version has lost since it was published, by eviction or damage. Its rows and
// files are those of the artifact, so consumers may go on using it meanwhile. The marker's field [fieldMended] tells
// those that refused the version to look again.
func (w *writing) mend(ctx context.Context, m *mapping.Grouped, files map[string][]byte,
	told func(done, total int)) error {
	rows, err := m.Mend(ctx, w.client, w.keys.table(w.version, w.publication),
		func(rows int) error {
			if told != nil {
				told(rows, w.meta.Rows)
			}
			return w.hold(ctx)
		})
	if err != nil {
		return err
	}
	parts, err := w.mendFiles(ctx, files)
	if err != nil || rows+parts == 0 {
		return err
	}
	ok, err := mended.Run(ctx, w.client, []string{w.keys.complete(w.version)}, w.id()).Bool()
	if err != nil {
		return fmt.Errorf("noting in the marker that it was mended: %w", err)
	}
	return w.stillOurs(ctx, ok)
}

// mendFiles writes the parts of files that differ, and returns how many those were.
func (w *writing) mendFiles(ctx context.Context, files map[string][]byte) (written int, err error) {
	for _, f := range w.meta.Files {
		for i, part := range parts(files[f.Name]) {
			key := w.keys.part(w.version, w.serial, f.Name, i)
			found, err := w.client.Get(ctx, key).Result()
			if err != nil && !errors.Is(err, redis.Nil) {
				return written, fmt.Errorf("reading file %s, part %d of %d: %w", f.Name, i+1, f.Parts, err)
			}
			if err == nil && found == string(part) {
				continue
			}
			if err := w.client.Set(ctx, key, part, 0).Err(); err != nil {
				return written, fmt.Errorf("writing file %s, part %d of %d: %w", f.Name, i+1, f.Parts, err)
			}
			written++
			if err := w.hold(ctx); err != nil {
				return written, err
			}
		}
	}
	return written, nil
}

// hold renews the publisher's heartbeat on a complete version, and fails if the version was removed.
func (w *writing) hold(ctx context.Context) error {
	ids, err := hold.Run(ctx, w.client, []string{w.keys.holders(), w.keys.complete(w.version)},
		publisherHold.Milliseconds(), holder(w.version, publisherName)).StringSlice()
	if err != nil {
		return fmt.Errorf("renewing the heartbeat: %w", err)
	}
	return w.stillOurs(ctx, len(ids) == 1 && ids[0] == w.id())
}
