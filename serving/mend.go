package serving

import (
	"context"
	"errors"
	"fmt"

	"rivulet/artifact"
	"rivulet/mapping"
	"rivulet/mapping/arrivals"
	"rivulet/serving/keyspace"
	"rivulet/serving/script"
)

// fieldMended is the field of a marker that says when a complete version was mended last, in ms of Redis' clock.
const fieldMended = "mended_ms"

// fieldOtherData is the field of a marker that says that consumers may take the version although it was made of other
// data than the one that they serve.
const fieldOtherData = "other_data"

// mend writes again the parts of a complete version that eviction or damage took. Its rows and files are the
// artifact's, so consumers may go on using it meanwhile. The marker's field [fieldMended] tells consumers that refused
// the version to look again.
func (w *publishRun) mend(ctx context.Context, m *mapping.GroupedRows, files map[string][]byte,
	told func(done, total int)) error {
	rows, err := m.Mend(ctx, w.client, w.keys.Table(w.version, w.Publication), func(rows int) error {
		if told != nil {
			told(rows, w.Meta.Rows)
		}
		return w.hold(ctx)
	})
	if err != nil {
		return err
	}
	parts, err := w.mendFiles(ctx, files)
	if err != nil {
		return err
	}
	if err := arrivals.Mend(ctx, w.client, w.keys.Arrivals(w.version, w.Publication)); err != nil {
		return err
	}
	ok, err := script.Mended.Run(ctx, w.client, []string{w.keys.Complete(w.version)}, w.ID(), rows+parts, m.Seal()).Bool()
	if err != nil {
		return fmt.Errorf("noting in the marker that it was mended: %w", err)
	}
	return w.stillOurs(ctx, ok)
}

// mendFiles writes the parts of files that differ, and returns their number.
func (w *publishRun) mendFiles(ctx context.Context, files map[string][]byte) (written int, err error) {
	err = w.compareFiles(ctx, files, func(key, what string, part []byte) error {
		if err := w.client.Set(ctx, key, part, 0).Err(); err != nil {
			return fmt.Errorf("writing %s: %w", what, err)
		}
		written++
		return w.hold(ctx)
	})
	return written, err
}

// compareFiles calls differs with each part of a file that is missing in Redis or not as in the artifact, its key and
// its name.
func (w *publishRun) compareFiles(ctx context.Context, files map[string][]byte,
	differs func(key, what string, part []byte) error) error {
	for _, f := range w.Meta.Files {
		for i, part := range keyspace.Parts(files[f.Name]) {
			key, what := w.keys.Part(w.version, w.Serial, f.Name, i), fmt.Sprintf("file %s, part %d of %d", f.Name, i+1, f.Parts)
			found, err := w.client.Get(ctx, key).Result()
			if mapping.Failed(err) {
				return fmt.Errorf("reading %s: %w", what, err)
			}
			if err == nil && found == string(part) {
				continue
			}
			if err := differs(key, what, part); err != nil {
				return err
			}
		}
	}
	return nil
}

// DamageError means that a complete version in Redis is not as its artifact is.
type DamageError struct {
	What string // the first difference, with its key
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("it is damaged: %s. Publish the artifact again to mend it", e.What)
}

// Verify compares a complete version in Redis with its artifact, and returns a [*DamageError] that names the first
// bucket of rows, or part of a file, that is missing or differs. It changes nothing. o's Progress and TempDir count.
func (p *Publisher) Verify(ctx context.Context, b *artifact.Bundle, o PublishOptions) (err error) {
	w := &publishRun{Publisher: p, version: b.Manifest.Version}
	defer func() {
		if err != nil {
			err = fmt.Errorf("verifying version %s: %w", w.version, err)
		}
	}()
	files, err := artifact.EncodeServing(b)
	if err != nil {
		return err
	}
	rows, err := mapping.GroupOf(ctx, b, o.TempDir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	marker := w.keys.Complete(w.version)
	fields, err := p.client.HMGet(ctx, marker, mapping.MarkerField, mapping.MarkerSeal).Result()
	if err != nil {
		return fmt.Errorf("reading %s: %w", marker, err)
	}
	id, _ := fields[0].(string)
	if id == "" {
		return ErrIncomplete
	}
	if w.Publication, err = (&loader{client: p.client, keys: p.keys}).publication(ctx, w.version, id); err != nil {
		return err
	}
	if _, content := keyspace.Describe(b, rows.Layout(), files); content != w.Content {
		return fmt.Errorf("it was published from another artifact (content %s, this one has %s)", w.Content, content)
	}
	damaged := func(format string, args ...any) error { return &DamageError{fmt.Sprintf(format, args...)} }
	table := w.keys.Table(w.version, w.Publication)
	err = rows.Compare(ctx, p.client, table, func(bucket int, found string, want []byte) error {
		return damaged("bucket %d of %d of the rows of M (key %s) %s", bucket, table.Buckets, table.Key(bucket),
			difference(found, want))
	}, func(done int) error {
		if o.Progress != nil {
			o.Progress(done, w.Meta.Rows)
		}
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	if seal, _ := fields[1].(string); seal != rows.Seal() {
		return damaged("the checksum of all rows in the marker (key %s, field %s) is %q in place of %s", marker,
			mapping.MarkerSeal, seal, rows.Seal())
	}
	return w.compareFiles(ctx, files, func(key, what string, _ []byte) error {
		return damaged("%s (key %s) is missing or differs", what, key)
	})
}

// difference says how bytes in Redis differ from the ones that should be there.
func difference(found string, want []byte) string {
	if found == "" {
		return "is missing"
	}
	at := 0
	for at < len(found) && at < len(want) && found[at] == want[at] {
		at++
	}
	text := fmt.Sprintf("differs from byte %d on", at)
	if len(found) != len(want) {
		text += fmt.Sprintf(", and has %d bytes in place of %d", len(found), len(want))
	}
	return text
}

// hold renews the publisher's heartbeat on a complete version, and fails if the version was removed.
func (w *publishRun) hold(ctx context.Context) error {
	ids, err := script.Hold.Run(ctx, w.client, []string{w.keys.Holders, w.keys.Complete(w.version)},
		publisherHold.Milliseconds(), keyspace.Holder(w.version, publisherName)).StringSlice()
	if err != nil {
		return fmt.Errorf("renewing the heartbeat: %w", err)
	}
	return w.stillOurs(ctx, len(ids) == 1 && ids[0] == w.ID())
}
