package partition

import "rivulet/trainer/stage"

// buckets gather bytes for many blocks and write them as a few records each.
type buckets struct {
	out    stage.Output
	output int
	head   []byte // begins every record
	held   map[int64][]byte
}

// bucketBytes is the size at which a bucket is written.
const bucketBytes = 1 << 16

func NewBuckets(out stage.Output, output int, head []byte) *buckets {
	return &buckets{out, output, head, map[int64][]byte{}}
}

// Add appends bytes to a block's bucket.
func (b *buckets) Add(key int64, bytes []byte) error {
	held := b.held[key]
	if held == nil {
		held = append(held, b.head...)
	}
	held = append(held, bytes...)
	if len(held) < bucketBytes {
		b.held[key] = held
		return nil
	}
	delete(b.held, key)
	return b.out.Emit(b.output, stage.Record{Key: key, Payload: held})
}

// Flush writes the held records.
func (b *buckets) Flush() error {
	for key, held := range b.held {
		if err := b.out.Emit(b.output, stage.Record{Key: key, Payload: held}); err != nil {
			return err
		}
	}
	clear(b.held)
	return nil
}
