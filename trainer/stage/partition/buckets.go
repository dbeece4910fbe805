package partition

import "rivulet/trainer/stage"

// Buckets gather bytes for many blocks and write them as a few records each.
type Buckets struct {
	out    stage.Output
	output int
	head   []byte
	held   map[int64][]byte
}

// bucketBytes is the size at which a bucket is written.
const bucketBytes = 1 << 16

// NewBuckets returns the buckets of an output. Every record begins with head.
func NewBuckets(out stage.Output, output int, head []byte) *Buckets {
	return &Buckets{out, output, head, map[int64][]byte{}}
}

// Add appends bytes to a block's bucket.
func (b *Buckets) Add(key int64, bytes []byte) error {
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
func (b *Buckets) Flush() error {
	for key, held := range b.held {
		if err := b.out.Emit(b.output, stage.Record{Key: key, Payload: held}); err != nil {
			return err
		}
	}
	clear(b.held)
	return nil
}
