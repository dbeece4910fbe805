package serving

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"rivulet/mapping"
	"rivulet/mapping/arrivals"
	"rivulet/serving/keyspace"
	"rivulet/serving/script"
)

// ErrInUse means that a version cannot be removed because CURRENT or a live heartbeat names it.
var ErrInUse = errors.New("the version is in use")

// Prune removes old versions that nobody uses, and returns their names. It removes:
//
//   - data of earlier removals that were interrupted;
//   - complete versions, except CURRENT, versions with a live heartbeat, versions that were published less than a day
//     ago and have never been CURRENT, which somebody may be about to try, and, of the rest, the keep ones that were
//     CURRENT last;
//   - versions that were not published completely, are older than CURRENT, and that nobody is writing.
//
// If CURRENT is not set, or names a version that is not complete, only data of earlier removals are removed.
func (p *Publisher) Prune(ctx context.Context, keep int) (removed []string, err error) {
	if removed, err = p.finishRemovals(ctx); err != nil {
		return removed, err
	}
	infos, err := p.Versions(ctx)
	if err != nil {
		return removed, err
	}
	now, err := p.client.Time(ctx).Result()
	if err != nil {
		return removed, fmt.Errorf("asking Redis for the time: %w", err)
	}
	for _, v := range obsolete(infos, keep, now) {
		switch err := p.remove(ctx, v); {
		case errors.Is(err, ErrInUse):
		case err != nil:
			return removed, err
		default:
			removed = append(removed, v.Version)
		}
	}
	return removed, nil
}

// untriedFor is the time that a version that has never been CURRENT stays although nobody serves it.
const untriedFor = 24 * time.Hour

// obsolete returns the versions that may be removed unless somebody uses them.
func obsolete(infos []VersionInfo, keep int, now time.Time) (old []VersionInfo) {
	at := slices.IndexFunc(infos, func(v VersionInfo) bool { return v.Current && v.State == Complete })
	if at < 0 {
		return nil
	}
	current := infos[at]
	var complete []VersionInfo
	for _, v := range infos {
		switch {
		case v.Current:
		case v.State == Complete && v.LastServed.IsZero() && now.Sub(v.Published) < untriedFor:
		case v.State == Complete:
			complete = append(complete, v)
		case v.State == Writing && v.Serial < current.Serial:
			old = append(old, v)
		}
	}
	slices.SortFunc(complete, func(a, b VersionInfo) int {
		return cmp.Or(b.LastServed.Compare(a.LastServed), cmp.Compare(b.Serial, a.Serial))
	})
	return append(old, complete[min(max(0, keep), len(complete)):]...)
}

// remove retires a version and removes its data.
func (p *Publisher) remove(ctx context.Context, v VersionInfo) error {
	state := p.keys.Complete(v.Version)
	if v.State == Writing {
		state = p.keys.Writing(v.Version)
	}
	field := keyspace.Pending(v.Version, v.Serial)
	answer, err := script.Retire.Run(ctx, p.client,
		[]string{state, p.keys.Current, p.keys.Holders, p.keys.Deleting, p.keys.Versions}, v.Version, v.id,
		field).StringSlice()
	switch {
	case err != nil:
		return fmt.Errorf("removing version %s: %w", v.Version, err)
	case answer[0] == "current":
		return fmt.Errorf("removing version %s: %w: it is CURRENT", v.Version, ErrInUse)
	case answer[0] == "held":
		_, by := keyspace.SplitHolder(answer[1])
		return fmt.Errorf("removing version %s: %w by %s", v.Version, ErrInUse, by)
	case answer[0] == "changed":
		return fmt.Errorf("removing version %s: %w: it was published, or removed, at the same time", v.Version, ErrInUse)
	}
	return p.erase(ctx, field, v.meta)
}

// finishRemovals erases data that earlier calls have retired but not erased completely.
func (p *Publisher) finishRemovals(ctx context.Context) (erased []string, err error) {
	left, err := p.client.HGetAll(ctx, p.keys.Deleting).Result()
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", p.keys.Deleting, err)
	}
	for field, text := range left {
		m, err := keyspace.ParseMeta(text)
		if err != nil {
			return erased, fmt.Errorf("reading %s: field %q: %w", p.keys.Deleting, field, err)
		}
		if err := p.erase(ctx, field, m); err != nil {
			return erased, err
		}
		version, _ := keyspace.SplitHolder(field)
		erased = append(erased, version)
	}
	slices.Sort(erased)
	return erased, nil
}

// erase removes the data of a retired publication. Nothing refers to them and their keys are never used again, so it
// may be interrupted, repeated and run by two processes at once.
func (p *Publisher) erase(ctx context.Context, field string, m keyspace.Meta) error {
	version, serial, err := keyspace.SplitPending(field)
	if err != nil {
		return fmt.Errorf("removing data: %w", err)
	}
	if err := mapping.DeleteRows(ctx, p.client,
		p.keys.Table(version, keyspace.Publication{Serial: serial, Meta: m})); err != nil {
		return fmt.Errorf("removing version %s: %w", version, err)
	}
	if err := arrivals.Delete(ctx, p.client,
		p.keys.Arrivals(version, keyspace.Publication{Serial: serial, Meta: m})); err != nil {
		return fmt.Errorf("removing version %s: %w", version, err)
	}
	pipe := p.client.Pipeline()
	for _, f := range m.Files {
		for i := range f.Parts {
			pipe.Unlink(ctx, p.keys.Part(version, serial, f.Name, i))
		}
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return fmt.Errorf("removing version %s: files: %w", version, err)
	}
	if err := p.client.HDel(ctx, p.keys.Deleting, field).Err(); err != nil {
		return fmt.Errorf("removing version %s: %w", version, err)
	}
	return nil
}
