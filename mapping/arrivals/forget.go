package arrivals

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"rivulet/mapping"
)

// countForgotten adds to the number of forgotten ids, if the marker is still the version's.
//
//	KEYS  marker
//	ARGV  marker's id, field of the number, how many more
var countForgotten = redis.NewScript(`
if redis.call('HGET', KEYS[1], 'id') == ARGV[1] then redis.call('HINCRBY', KEYS[1], ARGV[2], ARGV[3]) end
return 0
`)

// Forget removes the rows of ids under the version of a table, and sets known[i] if ids[i] had one. Consumers that have
// the rows in memory drop them at their next lookup: the count of forgotten ids rises after the rows are gone, and also
// if there were none, because an earlier call may have ended between the two. It may be called again.
//
// limit bounds the time of a round trip; 0: no limit.
func Forget(ctx context.Context, client mapping.Client, table Table, limit time.Duration, ids []string,
	known []bool) error {
	for lo := 0; lo < len(ids); lo += idsPerPipeline {
		hi := min(lo+idsPerPipeline, len(ids))
		if err := forget(ctx, client, table, limit, ids[lo:hi], known[lo:hi]); err != nil {
			return fmt.Errorf("removing the rows of %d arrivals: %w", hi-lo, mapping.Permanent(err))
		}
	}
	return nil
}

func forget(ctx context.Context, client mapping.Client, table Table, limit time.Duration, ids []string,
	known []bool) error {
	ctx, cancel := mapping.Within(ctx, limit)
	defer cancel()
	there, err := unlink(ctx, client, table.keysOf(slices.Values(ids), len(ids)))
	if err != nil {
		return err
	}
	for k, was := range there {
		known[k] = known[k] || was
	}
	return countForgotten.Run(ctx, client, []string{table.Marker}, table.MarkerID, ForgottenField, len(ids)).Err()
}

// unlink removes keys, on whichever nodes they are, and returns which were there.
func unlink(ctx context.Context, client mapping.Client, keys []string) (there []bool, err error) {
	pipe := client.Pipeline()
	answers := make([]*redis.IntCmd, len(keys))
	for k, key := range keys {
		answers[k] = pipe.Unlink(ctx, key)
	}
	if len(keys) > 0 {
		_, err = pipe.Exec(ctx)
	}
	there = make([]bool, len(keys))
	for k := range answers {
		there[k] = answers[k].Val() > 0
	}
	return there, err
}

// Delete removes all rows of a version whose marker is gone. It looks through all keys of Redis for them. It may be
// interrupted and called again.
func Delete(ctx context.Context, client mapping.Client, table Table) error {
	err := mapping.EachMaster(ctx, client, func(ctx context.Context, node mapping.Client) error {
		for cursor := uint64(0); ; {
			keys, next, err := node.Scan(ctx, cursor, table.Rows+"*", mapping.KeysPerPipeline).Result()
			if err == nil {
				_, err = unlink(ctx, node, keys)
			}
			if err != nil || next == 0 {
				return err
			}
			cursor = next
		}
	})
	if err == nil {
		err = client.Unlink(ctx, table.Counts).Err()
	}
	if err != nil {
		return fmt.Errorf("removing rows of arrivals: %w", err)
	}
	return nil
}
