package page

import (
	"math/bits"
	"strconv"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"

	"rivulet/event"
	"rivulet/kafka"
)

// Bounds of the memory of predictions.
const (
	feedLength  = 512     // samples, for the page's feed
	placesKept  = 1 << 17 // places of arrivals by the hash of their key
	idShown     = 256     // bytes of an id
	wantSamples = 300     // a second at most, and at least half as many where there are so many predictions
)

// mix is a hash of an arrival's place (splitmix64): which arrivals are samples depends on nothing else, so that
// every reader chooses the same ones.
func mix(partition int, offset int64) uint64 {
	z := uint64(offset)*0x9e3779b97f4a7c15 + uint64(partition)*0xd1b54a32d192ed03 + 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// chance sets the share of arrivals that are samples: arrivals whose hash ends with as many zeros.
type chance int

// chanceFor returns the chance by which a rate gives about as many samples a second as are wanted.
func chanceFor(rate float64) chance {
	return chance(bits.Len(uint(rate / wantSamples)))
}

func (c chance) takes(partition int, offset int64) bool {
	return bits.TrailingZeros64(mix(partition, offset)) >= int(c)
}

// Sample is a prediction of the feed.
type Sample struct {
	Seq         uint64  `json:"seq"` // ascending
	ID          string  `json:"id"`
	Class       int     `json:"class"`
	ClassName   string  `json:"class_name"`
	Probability float32 `json:"probability"`
	Abstained   bool    `json:"abstained,omitempty"`
	Degraded    bool    `json:"degraded,omitempty"`
	Artifact    string  `json:"artifact"`
	Known       int     `json:"known"`
	Arrived     int     `json:"arrived"`
	InBatch     int     `json:"in_batch"`
	Unknown     int     `json:"unknown"`
	Partition   int     `json:"partition"` // of the arrival
	Offset      int64   `json:"offset"`
	Time        int64   `json:"time"`       // of the prediction's record, ms since 1970
	Latency     float64 `json:"latency_ms"` // to publish; below 0: not known
}

// sampleOf makes a sample of a prediction. It owns its texts.
func sampleOf(p *event.Prediction, at time.Time) Sample {
	s := Sample{ID: shown(p.ID), Class: p.Class, ClassName: shown(p.ClassName), Probability: p.Probability,
		Abstained: p.Abstained, Degraded: p.Degraded, Artifact: shown(p.Artifact), Known: p.Known, Arrived: p.Arrivals,
		InBatch: p.InBatch, Unknown: p.Unknown, Partition: p.Source.Partition, Offset: p.Source.Offset,
		Time: at.UnixMilli(), Latency: -1}
	if !p.IngestTime.IsZero() {
		s.Latency = max(0, float64(at.Sub(p.IngestTime))/float64(time.Millisecond))
	}
	return s
}

// shown returns a copy of a text, cut to the length that a page shows.
func shown(text string) string { return cut(text, idShown) }

// cut returns a copy of a text of at most so many bytes and an ellipsis.
func cut(text string, bytes int) string {
	if len(text) > bytes {
		text = strings.ToValidUTF8(text[:bytes], "") + "…"
	}
	return strings.Clone(text)
}

// ring holds the last values.
type ring[V any] struct {
	values []V
	next   int
}

func (r *ring[V]) put(v V, length int) {
	if len(r.values) < length {
		r.values = append(r.values, v)
		return
	}
	r.values[r.next] = v
	r.next = (r.next + 1) % length
}

// each calls see with the values, newest first, until it returns false.
func (r *ring[V]) each(see func(*V) bool) {
	for k := range r.values {
		at := r.next - 1 - k
		if at < 0 {
			at += len(r.values)
		}
		if !see(&r.values[at]) {
			return
		}
	}
}

// Place is where an arrival stands in its topic.
type Place struct {
	Partition int   `json:"partition"`
	Offset    int64 `json:"offset"`
}

// idCache holds the last values of ids, up to a number of them. It keeps a hash of each id, not the id.
type idCache[V any] struct {
	by    map[uint64]int32 // the index of the id's last value
	order []cacheEntry[V]
	next  int
}

type cacheEntry[V any] struct {
	hash  uint64
	value V
}

// put remembers a value of an id, in place of the oldest one where there are most already.
func (c *idCache[V]) put(id string, v V, most int) {
	if c.by == nil {
		// at once, so that the heap does not grow for minutes
		c.by, c.order = make(map[uint64]int32), make([]cacheEntry[V], 0, most)
	}
	k, of := len(c.order), cacheEntry[V]{xxhash.Sum64String(id), v}
	if k < most {
		c.order = append(c.order, of)
	} else {
		k = c.next
		if old := c.order[k].hash; c.by[old] == int32(k) {
			delete(c.by, old)
		}
		c.order[k] = of
		c.next = (k + 1) % most
	}
	c.by[of.hash] = int32(k)
}

// find returns the last value of an id.
func (c *idCache[V]) find(id string) (v V, ok bool) {
	k, ok := c.by[xxhash.Sum64String(id)]
	if ok {
		v = c.order[k].value
	}
	return v, ok
}

// take is find, and forgets the value.
func (c *idCache[V]) take(id string) (V, bool) {
	v, ok := c.find(id)
	delete(c.by, xxhash.Sum64String(id))
	return v, ok
}

// sourceOf reads the place of an arrival from the headers of its prediction or dead letter.
func sourceOf(headers []kafka.Header) (Place, bool) {
	p := Place{-1, -1}
	for _, h := range headers {
		switch h.Key {
		case event.HeaderSourcePartition:
			p.Partition = int(decimal(h.Value))
		case event.HeaderSourceOffset:
			p.Offset = decimal(h.Value)
		}
	}
	return p, p.Partition >= 0 && p.Offset >= 0
}

// decimal reads a number, -1 where it is none.
func decimal(text []byte) int64 {
	of, err := strconv.ParseUint(string(text), 10, 63)
	if err != nil {
		return -1
	}
	return int64(of)
}
