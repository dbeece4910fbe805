package gather_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"rivulet/internal/gather"
	"rivulet/kafka/retry"
	"rivulet/test/expect"
)

// All elements are handed on once and in order. No batch is beyond its bounds, unless it is one large element, and none
// could have taken the next element, too.
func TestBatches(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bounds := gather.Bounds{Records: rapid.IntRange(1, 5).Draw(t, "records"), Bytes: rapid.IntRange(0, 20).Draw(t, "bytes")}
		sizes := rapid.SliceOf(rapid.IntRange(0, 30)).Draw(t, "sizes")
		var batches [][]int
		b := gather.Batch[int]{Bounds: bounds, Size: func(size *int) int { return *size },
			Do: func(_ context.Context, batch []int) error {
				batches = append(batches, slices.Clone(batch))
				return nil
			}}
		for _, size := range sizes {
			expect.OK(t, b.Add(t.Context(), size))
		}
		expect.OK(t, b.Flush(t.Context()))
		expect.OK(t, b.Flush(t.Context()))
		if got := slices.Concat(batches...); !slices.Equal(got, sizes) {
			t.Fatalf("%v of %v", got, sizes)
		}
		sum := func(batch []int) (bytes int) {
			for _, size := range batch {
				bytes += size
			}
			return bytes
		}
		for i, batch := range batches {
			if len(batch) > bounds.Records || bounds.Bytes > 0 && len(batch) > 1 && sum(batch) > bounds.Bytes {
				t.Fatalf("%v is beyond %+v", batch, bounds)
			}
			if i+1 < len(batches) && bounds.Admit(len(batch), sum(batch), 1, batches[i+1][0]) {
				t.Fatalf("%d would fit into %v", batches[i+1][0], batch)
			}
		}
	})
}

// A batch that fails is the error of the element that closed it, and is not held any more.
func TestABatchFails(t *testing.T) {
	broken := errors.New("broken")
	b := gather.Batch[int]{Bounds: gather.Bounds{Records: 2}, Do: func(context.Context, []int) error { return broken }}
	expect.OK(t, b.Add(t.Context(), 1))
	if err := b.Add(t.Context(), 2); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	expect.OK(t, b.Flush(t.Context()))
}

func TestQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := make(chan int, 2)
		q := gather.Queue[int]{C: c, Linger: time.Second, Clock: retry.SystemClock{}}
		begun := time.Now()
		c <- 1
		c <- 2
		if v, ok := q.First(t.Context()); !ok || v != 1 {
			t.Errorf("%d %v", v, ok)
		}
		time.Sleep(2 * time.Second)
		if v, ok := q.Next(t.Context(), begun); !ok || v != 2 { // it is there, although the time is over
			t.Errorf("%d %v", v, ok)
		}
		if _, ok := q.Next(t.Context(), begun); ok || time.Since(begun) != 2*time.Second {
			t.Errorf("it waited for %v", time.Since(begun))
		}
		if _, ok := q.Next(t.Context(), time.Now().Add(time.Hour)); ok || time.Since(begun) != 3*time.Second {
			t.Errorf("after the clock was stepped back it waited for %v", time.Since(begun))
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, ok := q.First(ctx); ok {
			t.Error("there is an element")
		}
		c <- 3
		if v, ok := q.First(ctx); !ok || v != 3 {
			t.Errorf("%d %v", v, ok)
		}
	})
}
