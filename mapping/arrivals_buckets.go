package mapping

import (
	"context"
	"errors"
	"strconv"
	"unsafe"

	"github.com/redis/go-redis/v9"

	"rivulet/infer"
)

// Of a batch, nearly every id has a bucket of its own, so there are as many keys and commands as ids. Here they are
// made of few allocations: one text for all keys, one list for the arguments of all commands, and arguments that
// point to strings, because a string in an interface is an allocation.

// bucketKeys returns the keys of the buckets of a sorted list under an epoch, each once.
func (t *ArrivalTable) bucketKeys(order []placed, epoch int64) []string {
	text := make([]byte, 0, (len(t.Keys)+32)*len(order))
	ends := make([]int, 0, len(order))
	for i, p := range order {
		if i == 0 || p.bucket != order[i-1].bucket {
			text = t.appendBucket(text, p.bucket, epoch)
			ends = append(ends, len(text))
		}
	}
	return cut(text, ends)
}

// cut returns the parts of a text that end at these places. They share its memory, so nobody may change it any more.
func cut(text []byte, ends []int) []string {
	all, begin := unsafe.String(unsafe.SliceData(text), len(text)), 0
	parts := make([]string, len(ends))
	for k, end := range ends {
		parts[k], begin = all[begin:end], end
	}
	return parts
}

func (t *ArrivalTable) appendBucket(key []byte, bucket uint32, epoch int64) []byte {
	key = append(append(key, t.Keys...), ':')
	key = append(strconv.AppendUint(key, uint64(bucket), 10), ':')
	return strconv.AppendInt(key, epoch, 10)
}

// bucketRead is the command that reads ids of one bucket: HGET for one of them, which costs less, HMGET for several.
type bucketRead struct {
	one  *redis.StringCmd
	many *redis.SliceCmd
}

// readBuckets adds commands to a pipeline that read ids, in the order given, under an epoch.
func (t *ArrivalTable) readBuckets(ctx context.Context, pipe redis.Pipeliner, ids []string, order []placed,
	epoch int64) []bucketRead {
	keys := t.bucketKeys(order, epoch)
	reads := make([]bucketRead, len(keys))
	args := make([]any, 0, 2*len(keys)+len(ids))
	for k := range keys {
		begin, n := len(args), inBucket(order)
		name := "hget"
		if n > 1 {
			name = "hmget"
		}
		args = append(args, name, &keys[k])
		for _, p := range order[:n] {
			args = append(args, &ids[p.at])
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

// inBucket returns how many entries at the beginning of a sorted list share a bucket.
func inBucket(order []placed) int {
	n := 1
	for n < len(order) && order[n].bucket == order[0].bucket {
		n++
	}
	return n
}

// each calls do for each value that was read, with its position in the bucket's ids.
func (r *bucketRead) each(do func(k int, value string)) (ids int, err error) {
	if r.one != nil {
		value, err := r.one.Result()
		if err == nil {
			do(0, value)
		} else if errors.Is(err, redis.Nil) {
			err = nil
		}
		return 1, err
	}
	values, err := r.many.Result()
	for k, value := range values {
		if text, there := value.(string); there {
			do(k, text)
		}
	}
	return len(values), err
}

// decode adds the arrivals of one epoch's answers to those of earlier epochs: the older row is the one to use.
func (a *ArrivalRows) decode(ids []string, order []placed, answers []bucketRead, epoch int64,
	got []*infer.Arrived, of []int64) error {
	for k := range answers {
		n, err := answers[k].each(func(k int, value string) {
			if i := order[k].at; got[i] == nil {
				got[i], of[i] = a.decodeOne(ids[i], value), epoch
			}
		})
		if err != nil {
			return err
		}
		order = order[n:]
	}
	return nil
}

// decodeOne decodes a stored arrival. The row of a damaged one is Unread.
func (a *ArrivalRows) decodeOne(id, value string) *infer.Arrived {
	arrived, err := DecodeArrived([]byte(value), a.table.Synthetic)
	if err != nil {
		a.damaged.Add(1)
		a.o.Log.Error("a stored row of an arrival is damaged: predictions that need it are marked as degraded",
			"id", id, "error", err)
		return &infer.Arrived{Row: infer.Row{Unread: true}}
	}
	return arrived
}
