package arrivals

import (
	"context"
	"errors"

	"github.com/cespare/xxhash/v2"
	"github.com/redis/go-redis/v9"

	"rivulet/mapping"
)

// Rows of arrivals are spread over hashes, their buckets.

// rowsPerBucket is the average number of rows of arrivals in a bucket. Redis packs hashes of up to 128 fields whose
// ids and rows have up to 64 bytes (hash-max-listpack-entries, -value); around an average of 48 a bucket of more than
// 128 does not happen (12 standard deviations), and a bucket's own key of some 90 bytes is 2 bytes a row. Reading a
// row walks through its bucket, so more of them in one would save little and cost time.
const rowsPerBucket = 48

// bucketsFor returns the number of buckets for up to n rows.
func bucketsFor(n int) int { return max(1, (n+rowsPerBucket-1)/rowsPerBucket) }

// bucketOf returns the bucket of an id.
func bucketOf(id string, buckets int) uint32 { return uint32(xxhash.Sum64String(id) % uint64(buckets)) }

// byBucket returns the positions of ids, sorted by their buckets.
func byBucket(ids []string, buckets int) []mapping.Position {
	return mapping.SortByPart(ids, func(id string) uint32 { return bucketOf(id, buckets) })
}

// idsPerPipeline bounds the ids of arrivals of one round trip, with some 100 KiB there and 200 KiB back where ids are
// short.
const idsPerPipeline = 4096

// Of a batch, nearly every id has a bucket of its own, so there are as many keys and commands as ids. Here they are
// made of few allocations: one text for all keys, one list for the arguments of all commands, and arguments that
// point to strings, because a string in an interface is an allocation.

// bucketKeys returns the keys of the buckets of a sorted list, each once. add appends the key of one, of about so
// many bytes.
func bucketKeys(order []mapping.Position, bytes int, add func(key []byte, bucket uint32) []byte) []string {
	text := make([]byte, 0, bytes*len(order))
	ends := make([]int, 0, len(order))
	for i, p := range order {
		if i == 0 || p.Part != order[i-1].Part {
			text = add(text, p.Part)
			ends = append(ends, len(text))
		}
	}
	return mapping.CutText(text, ends)
}

// bucketRead is the command that reads ids of one bucket: HGET for one id, which costs less, HMGET for several.
type bucketRead struct {
	one  *redis.StringCmd
	many *redis.SliceCmd
}

// askBuckets adds commands to a pipeline that read ids, in the order given, from the buckets at these keys.
func askBuckets(ctx context.Context, pipe redis.Pipeliner, keys, ids []string, order []mapping.Position) []bucketRead {
	reads := make([]bucketRead, len(keys))
	args := make([]any, 0, 2*len(keys)+len(ids))
	for k := range keys {
		begin, n := len(args), mapping.SamePart(order)
		name := "hget"
		if n > 1 {
			name = "hmget"
		}
		args = append(args, name, &keys[k])
		for _, p := range order[:n] {
			args = append(args, &ids[p.At])
		}
		order = order[n:]
		own := args[begin:len(args):len(args)]
		if n == 1 {
			reads[k].one = redis.NewStringCmd(ctx, own...)
			_ = pipe.Process(ctx, reads[k].one) // it is queued
		} else {
			reads[k].many = redis.NewSliceCmd(ctx, own...)
			_ = pipe.Process(ctx, reads[k].many)
		}
	}
	return reads
}

// each calls do for each value that was read, with its position in the bucket's ids.
func (r *bucketRead) each(do func(k int, value string)) error {
	if r.one != nil {
		value, err := r.one.Result()
		if err == nil {
			do(0, value)
		} else if errors.Is(err, redis.Nil) {
			err = nil
		}
		return err
	}
	values, err := r.many.Result()
	for k, value := range values {
		if text, there := value.(string); there {
			do(k, text)
		}
	}
	return err
}
