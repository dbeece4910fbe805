package featurestore

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"rivulet/mapping"
)

// Entry is the features of one node, encoded.
type Entry struct {
	ID    string
	Value []byte
}

// Put writes entries in one request, over the values of their ids. They expire after ttl; 0: never.
func (s *Store) Put(ctx context.Context, entries []Entry, ttl time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, s.o.Timeout)
	defer cancel()
	pipe := s.o.Client.Pipeline()
	for _, e := range entries {
		pipe.Set(ctx, s.o.Prefix+e.ID, e.Value, ttl)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return fmt.Errorf("writing the features of %d ids: %w", len(entries), mapping.Final(s.o.Client, err))
	}
	return nil
}

// Remove removes the features of ids, and sets known[i] if ids[i] had some.
func (s *Store) Remove(ctx context.Context, ids []string, known []bool) error {
	ctx, cancel := context.WithTimeout(ctx, s.o.Timeout)
	defer cancel()
	pipe := s.o.Client.Pipeline()
	removed := make([]*redis.IntCmd, len(ids))
	for i, id := range ids {
		removed[i] = pipe.Unlink(ctx, s.o.Prefix+id)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return fmt.Errorf("removing the features of %d ids: %w", len(ids), mapping.Final(s.o.Client, err))
	}
	for i := range ids {
		known[i] = known[i] || removed[i].Val() > 0
	}
	return nil
}
