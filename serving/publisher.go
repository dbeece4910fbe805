package serving

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"rivulet/artifact"
	"rivulet/mapping"
	"rivulet/serving/keyspace"
	"rivulet/serving/script"
)

// Publisher writes artifacts to Redis and moves CURRENT. It is safe for concurrent use, also by several processes.
type Publisher struct {
	client mapping.Client
	keys   keyspace.Keys
}

// NewPublisher returns a publisher for keys with a prefix. The caller still owns the client.
func NewPublisher(client mapping.Client, prefix string) (*Publisher, error) {
	k, err := keyspace.New(prefix)
	if err != nil {
		return nil, err
	}
	return &Publisher{client: client, keys: k}, nil
}

// PublishOptions are the choices of one publication.
type PublishOptions struct {
	// Expect is the version that CURRENT must name for it to be moved, "" for none; nil is the one that it names at the
	// start.
	Expect *string
	// Progress, if set, is called after each round trip with the number of rows in Redis and of all rows.
	Progress func(done, total int)
	// Warn, if set, is called with a fault in Redis that does not keep the artifact from being published.
	Warn func(text string)
	// TempDir is where rows of an M in parts are sorted on their way, about as many bytes as they take in Redis; "" is the
	// system's directory for such files.
	TempDir string
	// OtherData lets an artifact follow that was made of other data than the version that serves.
	OtherData bool
	// Sign signs the manifest; nil: nobody does.
	Sign ed25519.PrivateKey
	// Inactive leaves CURRENT as it is, so that consumers which are pinned to the version can try it; old versions stay.
	Inactive bool
	// Keep is the number of older versions that stay for rolling back, the most recent CURRENT ones; 0 means one, below 0
	// all of them.
	Keep int
}

// publisherHold is the time that a publication counts as under way after its publisher's last sign of life. It is far
// longer than a round trip with all its retries.
const publisherHold = 10 * time.Minute

// publisherName is the holder's name of a process that publishes a version.
const publisherName = "publisher"

// ConflictError means that CURRENT was not the expected version.
type ConflictError struct {
	Version  string // the version to become CURRENT
	Expected string // the version that CURRENT should have named, "" for none
	Found    string // the version that CURRENT named, "" for none
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("CURRENT is %s, expected %s: it was not set to %q", quoted(e.Found), quoted(e.Expected), e.Version)
}

func quoted(version string) string {
	if version == "" {
		return "not set"
	}
	return strconv.Quote(version)
}

// ErrIncomplete means that a version has no complete marker: it was never published completely, or has been removed.
var ErrIncomplete = errors.New("the version has no complete marker")

// Publish writes a sealed artifact under its version: rows of M first, then the other files, then the marker. It sets
// CURRENT if that still names the expected version, and removes old versions that nobody uses. An interrupted
// publication is continued by the next call with the same artifact; a version that is complete is written again as a
// whole, in case Redis lost or damaged parts of it, and made CURRENT. An artifact is refused if another one has its
// name. Publish returns an [*OtherDataError] if the artifact was made of other data than the version that serves,
// an [ErrNotFinite] if its predictions are not finite, a [*ConflictError] if somebody else moved CURRENT, and
// [mapping.ErrEvicts] if Redis would evict the version when its memory is full.
func (p *Publisher) Publish(ctx context.Context, b *artifact.Bundle, o PublishOptions) error {
	if err := p.publish(ctx, b, o); err != nil {
		return fmt.Errorf("publishing version %s: %w", b.Manifest.Version, err)
	}
	return nil
}

func (p *Publisher) publish(ctx context.Context, b *artifact.Bundle, o PublishOptions) error {
	if b.Mapping == nil && b.Parts == nil {
		return errors.New("the artifact has no mapping M")
	}
	files, err := artifact.EncodeServing(b)
	if err != nil {
		return err
	}
	expected, err := p.expected(ctx, o.Expect, b.Manifest.Version)
	if err != nil {
		return err
	}
	if err := p.checkEviction(ctx, o.Warn); err != nil {
		return err
	}
	if err := p.admit(ctx, b, expected, o); err != nil {
		return err
	}
	if err := p.write(ctx, b, files, o); err != nil {
		return err
	}
	if o.Sign != nil {
		if err := p.sign(ctx, b.Manifest.Version, files[manifestFile], o.Sign); err != nil {
			return err
		}
	}
	if o.OtherData {
		if err := p.allowOther(ctx, b.Manifest.Version); err != nil {
			return err
		}
	}
	if !o.Inactive {
		if err := p.move(ctx, b.Manifest.Version, expected); err != nil {
			return err
		}
	}
	// CURRENT names the version by now, or it is too young to be removed. If this fails the heartbeat lapses by itself.
	_ = p.client.ZRem(ctx, p.keys.Holders, keyspace.Holder(b.Manifest.Version, publisherName)).Err()
	if o.Keep < 0 || o.Inactive {
		return nil
	}
	if _, err := p.Prune(ctx, max(1, o.Keep)); err != nil {
		return fmt.Errorf("it is CURRENT, but removing old versions failed: %w", err)
	}
	return nil
}

// checkEviction refuses a Redis that would evict versions.
func (p *Publisher) checkEviction(ctx context.Context, warn func(string)) error {
	_, warning, err := mapping.CheckEviction(ctx, p.client)
	if warning != "" && warn != nil {
		warn(warning)
	}
	return err
}

// expected returns the version that CURRENT must name, and fails at the start if it already names another one.
func (p *Publisher) expected(ctx context.Context, expect *string, version string) (string, error) {
	found, err := p.Current(ctx)
	if err != nil {
		return "", err
	}
	if expect == nil {
		return found, nil
	}
	if found != *expect && found != version {
		return "", &ConflictError{Version: version, Expected: *expect, Found: found}
	}
	return *expect, nil
}

// Current returns the version that CURRENT names, "" if it is not set.
func (p *Publisher) Current(ctx context.Context) (string, error) {
	return readCurrent(ctx, p.client, p.keys)
}

func readCurrent(ctx context.Context, client mapping.Client, k keyspace.Keys) (string, error) {
	current, err := client.Get(ctx, k.Current).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return "", fmt.Errorf("reading %s: %w", k.Current, err)
	}
	return current, nil
}

// SetCurrent makes a complete version CURRENT, to roll back or forward. It returns [ErrIncomplete] if the version
// has no marker, an [*OtherDataError] if it was made of other data than the one that serves and otherData is not set,
// and a [*ConflictError] if somebody else moved CURRENT at the same time.
func (p *Publisher) SetCurrent(ctx context.Context, version string, otherData bool) error {
	if err := artifact.ValidVersion(version); err != nil {
		return fmt.Errorf("setting CURRENT: %w", err)
	}
	found, err := p.Current(ctx)
	if err != nil {
		return err
	}
	if otherData {
		err = p.allowOther(ctx, version)
	} else {
		err = p.admitStored(ctx, version, found)
	}
	if err != nil {
		return err
	}
	return p.move(ctx, version, found)
}

// Activate makes a complete version CURRENT if that names the expected version, "" for none. It returns the errors of
// [Publisher.SetCurrent].
func (p *Publisher) Activate(ctx context.Context, version, expected string) error {
	if err := artifact.ValidVersion(version); err != nil {
		return fmt.Errorf("setting CURRENT: %w", err)
	}
	// A Redis user with the right to move CURRENT only cannot read versions here: consumers still compare them.
	if err := p.admitStored(ctx, version, expected); err != nil && !mapping.Refused(err) {
		return err
	}
	return p.move(ctx, version, expected)
}

// move makes a version CURRENT if that names the expected one.
func (p *Publisher) move(ctx context.Context, version, expected string) error {
	before := version
	if expected != "" {
		before = expected
	}
	answer, err := script.MoveCurrent.Run(ctx, p.client,
		[]string{p.keys.Current, p.keys.Complete(version), p.keys.Complete(before)}, version, expected).StringSlice()
	switch {
	case err != nil:
		return fmt.Errorf("setting %s: %w", p.keys.Current, err)
	case answer[0] == "incomplete":
		return fmt.Errorf("setting CURRENT to %q: %w", version, ErrIncomplete)
	case answer[0] == "conflict":
		return &ConflictError{Version: version, Expected: expected, Found: answer[1]}
	}
	return nil
}

// publishRun is the state of one publication while it is written.
type publishRun struct {
	*Publisher
	version string
	keyspace.Publication
	progress int // buckets written
}

// write writes a version up to its marker, and continues where an earlier call stopped. Two publishers of the same
// artifact write the same bytes to the same keys.
func (p *Publisher) write(ctx context.Context, b *artifact.Bundle, files map[string][]byte,
	o PublishOptions) (err error) {
	w := &publishRun{Publisher: p, version: b.Manifest.Version}
	rows, err := mapping.GroupOf(ctx, b, o.TempDir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	if err := w.begin(ctx, b, rows.Layout(), files); err != nil {
		return err
	}
	if err := w.writeRows(ctx, rows, o.Progress); err != nil {
		return err
	}
	if err := w.writeFiles(ctx, files); err != nil {
		return err
	}
	if err := w.verify(ctx); err != nil {
		return err
	}
	ok, err := script.Finish.Run(ctx, w.client, []string{w.keys.Writing(w.version), w.keys.Complete(w.version)},
		w.ID(), rows.Seal()).Bool()
	if err != nil {
		return fmt.Errorf("writing the complete marker: %w", err)
	}
	return there(ok)
}

// begin registers the publication, or finds out where to continue.
func (w *publishRun) begin(ctx context.Context, b *artifact.Bundle, rows mapping.Layout,
	files map[string][]byte) (err error) {
	described, content := keyspace.Describe(b, rows, files)
	text, err := json.Marshal(described)
	if err != nil {
		return fmt.Errorf("encoding meta: %w", err)
	}
	answer, err := script.Begin.Run(ctx, w.client,
		[]string{w.keys.Writing(w.version), w.keys.Complete(w.version), w.keys.LastSerial, w.keys.Holders,
			w.keys.Versions},
		w.version, content, text, keyspace.Holder(w.version, publisherName), publisherHold.Milliseconds()).StringSlice()
	if err != nil {
		return fmt.Errorf("registering it: %w", err)
	}
	if answer[0] == "other" {
		return fmt.Errorf("the name is taken by other content (%s in Redis, %s in this artifact): remove that "+
			"version or give this one another name",
			answer[2], content)
	}
	if w.Publication, err = keyspace.Parse(answer[1], content, answer[2]); err != nil {
		return fmt.Errorf("reading its meta in Redis: %w", err)
	}
	if w.progress, err = strconv.Atoi(answer[3]); err != nil || w.progress < 0 || w.progress > w.Meta.Buckets {
		return fmt.Errorf("progress is %q, want 0 to %d buckets", answer[3], w.Meta.Buckets)
	}
	return nil
}

func (w *publishRun) writeRows(ctx context.Context, m *mapping.GroupedRows, told func(done, total int)) error {
	return m.Write(ctx, w.client, w.keys.Table(w.version, w.Publication), w.progress, func(buckets, rows int) error {
		if told != nil {
			told(rows, w.Meta.Rows)
		}
		return w.advance(ctx, buckets)
	})
}

func (w *publishRun) writeFiles(ctx context.Context, files map[string][]byte) error {
	for _, f := range w.Meta.Files {
		for i, part := range keyspace.Parts(files[f.Name]) {
			if err := w.client.Set(ctx, w.keys.Part(w.version, w.Serial, f.Name, i), part, 0).Err(); err != nil {
				return fmt.Errorf("writing file %s, part %d of %d: %w", f.Name, i+1, f.Parts, err)
			}
			if err := w.advance(ctx, w.Meta.Buckets); err != nil {
				return err
			}
		}
	}
	return nil
}

// advance stores the progress, and fails if the publication was removed.
func (w *publishRun) advance(ctx context.Context, buckets int) error {
	ok, err := script.Advance.Run(ctx, w.client,
		[]string{w.keys.Writing(w.version), w.keys.Complete(w.version), w.keys.Holders}, w.ID(), buckets,
		keyspace.Holder(w.version, publisherName), publisherHold.Milliseconds()).Bool()
	if err != nil {
		return fmt.Errorf("storing the progress: %w", err)
	}
	return there(ok)
}

// there returns an error if a publication was removed.
func there(ok bool) error {
	if !ok {
		return errors.New("it was removed while it was being written")
	}
	return nil
}

// verify counts the rows and bytes in Redis before the marker says that all are there: a restart may have cost Redis
// data that it had acknowledged, or an eviction policy may have removed keys. The next call then writes everything
// again.
func (w *publishRun) verify(ctx context.Context) error {
	err := w.count(ctx)
	if err == nil {
		return nil
	}
	return errors.Join(err, w.advance(ctx, 0))
}

func (w *publishRun) count(ctx context.Context) error {
	rows, err := mapping.CountRows(ctx, w.client, w.keys.Table(w.version, w.Publication))
	if err != nil {
		return err
	}
	if rows != w.Meta.Rows {
		return fmt.Errorf("Redis has %d mapping rows after %d were written: did it restart, or does it evict keys?",
			rows, w.Meta.Rows)
	}
	for _, f := range w.Meta.Files {
		size := int64(0)
		for i := range f.Parts {
			n, err := w.client.StrLen(ctx, w.keys.Part(w.version, w.Serial, f.Name, i)).Result()
			if err != nil {
				return fmt.Errorf("counting file %s: %w", f.Name, err)
			}
			size += n
		}
		if size != f.Bytes {
			return fmt.Errorf("Redis has %d bytes of file %s after %d were written: did it restart, or does it evict keys?",
				size,
				f.Name, f.Bytes)
		}
	}
	return nil
}
