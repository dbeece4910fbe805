package serving

import (
	"context"
	"fmt"

	"rivulet/mapping"
	"rivulet/mapping/arrivals"
	"rivulet/serving/keyspace"
)

// Forget removes the rows of arrivals with these ids, under all complete versions in Redis, and sets known[i] if ids[i]
// had a row under one of them. It may be called again. Rows of a version that is being removed go with it.
func (w *Watcher) Forget(ctx context.Context, ids []string, known []bool) error {
	l := &w.loader
	names, err := l.client.SMembers(ctx, l.keys.Versions).Result()
	if err != nil {
		return fmt.Errorf("listing versions: %w", mapping.Permanent(err))
	}
	for _, name := range names {
		values, err := l.client.HMGet(ctx, l.keys.Complete(name), "generation", "content", "meta").Result()
		if err != nil {
			return fmt.Errorf("version %s: %w", name, err)
		}
		fields := [3]string{}
		for i, value := range values {
			fields[i], _ = value.(string)
		}
		if fields[0] == "" {
			continue // it is being written or removed
		}
		p, err := keyspace.Parse(fields[0], fields[1], fields[2])
		if err == nil {
			err = arrivals.Forget(ctx, l.client, l.keys.Arrivals(name, p), l.limit, ids, known)
		}
		if err != nil {
			return fmt.Errorf("version %s: %w", name, err)
		}
	}
	return nil
}
