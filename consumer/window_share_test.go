package consumer

import (
	"testing"
	"time"

	"rivulet/consumer/window"
	"rivulet/test/expect"
)

// The bytes that wait for edges are bounded for all partitions of a consumer together, whatever the group assigns.
func TestPartitionsShareTheBytesOfTheWait(t *testing.T) {
	c := &Consumer{opts: Options{Window: window.Options{Wait: time.Minute, Ahead: time.Second, Bytes: 64 << 20}}}
	for _, partitions := range []int{1, 2, 3, 50, 1000} {
		o := c.windowOf(partitions)
		if all := o.Bytes * partitions; all > 64<<20 || all < 64<<20-partitions {
			t.Errorf("%d partitions have %d bytes together, want 64 MiB", partitions, all)
		}
		expect.Same(t, time.Minute, o.Wait, "the wait")
		expect.Same(t, time.Second, o.Ahead, "how far a timestamp may be ahead")
	}
	expect.Same(t, 1, c.windowOf(100<<20).Bytes, "the share of more partitions than bytes") // 0 would mean the default
	expect.Same(t, 64<<20, c.opts.Window.Bytes, "the consumer's own bound")
}
