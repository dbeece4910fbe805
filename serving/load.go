package serving

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"rivulet/artifact"
	"rivulet/artifact/signature"
	"rivulet/mapping"
	"rivulet/serving/keyspace"
	"rivulet/serving/script"
)

// refusal is an error that another attempt would not cure: the version cannot be served.
type refusal struct{ error }

func (r refusal) Unwrap() error { return r.error }

func refuse(format string, args ...any) error { return refusal{fmt.Errorf(format, args...)} }

// loader makes a Version of a publication in Redis.
type loader struct {
	client     mapping.Client
	keys       keyspace.Keys
	options    Options
	cacheBytes int64
	guard      *mapping.Guard
	limit      time.Duration // of a round trip for rows
	log        *slog.Logger
}

// load reads and verifies one publication of a version and makes a Version of it, which it tries on its own synthetic
// nodes. It returns some rows of M, too, if they are wanted. alive is called between round trips. Errors other than a
// [refusal] come from Redis or the context.
func (l *loader) load(ctx context.Context, version, id string, alive func() error) (v *Version,
	sample *artifact.Mapping, warnings []string, err error) {
	p, err := l.publication(ctx, version, id)
	if err != nil {
		return nil, nil, nil, err
	}
	files := make(map[string][]byte, len(p.Meta.Files))
	for _, f := range p.Meta.Files {
		if files[f.Name], err = l.file(ctx, version, p.Serial, f, alive); err != nil {
			return nil, nil, nil, err
		}
	}
	if err := l.signed(ctx, version, files[manifestFile]); err != nil {
		return nil, nil, nil, err
	}
	b, err := artifact.DecodeServing(files)
	if err != nil {
		return nil, nil, nil, refusal{err}
	}
	m := &b.Manifest
	if m.Version != version || m.SyntheticNodes != p.Meta.Synthetic || m.Mapping.Rows != p.Meta.Rows {
		return nil, nil, nil, refuse(
			"the files are of version %s, %d synthetic nodes and %d rows of M; Redis has %s, %d and %d",
			m.Version, m.SyntheticNodes, m.Mapping.Rows, version, p.Meta.Synthetic, p.Meta.Rows)
	}
	rows, err := l.rows(ctx, version, p, alive)
	if err != nil {
		return nil, nil, nil, err
	}
	if whole, is := rows.(*mapping.Memory); is {
		rows = whole.Shared(m.MappingContent())
	}
	if v, warnings, err = New(b, rows, l.options); err != nil {
		return nil, nil, nil, refusal{err}
	}
	sample, err = mapping.NewRedis(l.client, l.keys.Table(version, p)).Sample(ctx, sampleIDs)
	if err != nil {
		return nil, nil, nil, err
	}
	if err := try(v, b, sample); err != nil {
		return nil, nil, nil, refusal{err}
	}
	l.openArrivals(v, p)
	return v, sample, warnings, nil
}

// rows checks that all rows are in Redis and makes their lookup. Redis may have lost some since they were published:
// by a failover to a replica that lagged behind, by the restart of a node of a cluster, or by eviction.
func (l *loader) rows(ctx context.Context, version string, p keyspace.Publication, alive func() error) (mapping.Lookup,
	error) {
	inRedis := mapping.NewRedis(l.client, l.keys.Table(version, p))
	whole, err := l.whole(ctx, inRedis, alive)
	if err != nil {
		return nil, err
	}
	there := 0
	if whole != nil {
		there = whole.Len()
	} else if there, err = inRedis.Count(ctx); err != nil {
		return nil, err
	}
	switch {
	case there != p.Meta.Rows:
		return nil, refuse("Redis has %d of %d rows of M: the others were lost or evicted", there, p.Meta.Rows)
	case whole != nil:
		return whole, nil
	}
	return mapping.NewCached(l.guard.Lookup(inRedis.Within(l.limit)), l.cacheBytes), nil
}

// whole reads all of M into memory if it fits into the cache's memory, while the old version still serves, so
// that the switch causes no burst of lookups. It returns nil if M is larger; its rows are then looked up as
// needed, through the cache.
func (l *loader) whole(ctx context.Context, inRedis *mapping.Redis, alive func() error) (*mapping.Memory, error) {
	if l.cacheBytes <= 0 {
		return nil, nil
	}
	m, err := inRedis.Load(ctx, l.cacheBytes, alive)
	if errors.Is(err, mapping.ErrDamaged) {
		return nil, refuse("%w: publish the artifact again", err)
	}
	return m, err
}

// publication reads the marker of a version, whose id must be the one given.
func (l *loader) publication(ctx context.Context, version, id string) (keyspace.Publication, error) {
	key := l.keys.Complete(version)
	values, err := l.client.HMGet(ctx, key, "generation", "content", "meta").Result()
	if err != nil {
		return keyspace.Publication{}, fmt.Errorf("reading %s: %w", key, err)
	}
	fields := [3]string{}
	for i, value := range values {
		fields[i], _ = value.(string) // a missing field becomes "", which is refused below
	}
	p, err := keyspace.Parse(fields[0], fields[1], fields[2])
	if err != nil {
		return keyspace.Publication{}, refuse("%s: %w", key, err)
	}
	if p.ID() != id {
		return keyspace.Publication{}, refuse("%s has id %s, want %s: it was replaced", key, p.ID(), id)
	}
	return p, nil
}

// file reads the parts of one file and checks their sum.
func (l *loader) file(ctx context.Context, version string, serial int64, f keyspace.File, alive func() error) ([]byte,
	error) {
	data := []byte{}
	for i := range f.Parts {
		part, err := l.client.Get(ctx, l.keys.Part(version, serial, f.Name, i)).Bytes()
		switch {
		case errors.Is(err, redis.Nil):
			return nil, refuse("file %s: part %d of %d is missing", f.Name, i+1, f.Parts)
		case err != nil:
			return nil, fmt.Errorf("reading file %s, part %d of %d: %w", f.Name, i+1, f.Parts, err)
		}
		data = append(data, part...)
		if err := alive(); err != nil {
			return nil, err
		}
	}
	if err := f.Check(data); err != nil {
		return nil, refusal{err}
	}
	return data, nil
}

// manifestFile is the file of a version that is signed.
const manifestFile = "manifest.json"

// signed refuses a version whose manifest none of the expected keys has signed.
func (l *loader) signed(ctx context.Context, version string, manifest []byte) error {
	if l.options.Signers == nil {
		return nil
	}
	text, err := l.client.HGet(ctx, l.keys.Complete(version), script.FieldSignature).Result()
	if mapping.Failed(err) {
		return fmt.Errorf("reading %s: %w", l.keys.Complete(version), err)
	}
	if err := signature.Check(manifest, []byte(text), l.options.Signers); err != nil {
		return refusal{err}
	}
	return nil
}

// sign notes the signature of a version's manifest in its marker, before anything points at the version.
func (p *Publisher) sign(ctx context.Context, version string, manifest []byte, key ed25519.PrivateKey) error {
	done, err := script.Sign.Run(ctx, p.client, []string{p.keys.Complete(version)}, ed25519.Sign(key, manifest)).Bool()
	if err == nil && !done {
		err = ErrIncomplete
	}
	if err != nil {
		return fmt.Errorf("signing version %s: %w", version, err)
	}
	return nil
}
