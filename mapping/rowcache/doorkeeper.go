package rowcache

// doorkeeper remembers ids that were asked for a short while ago, by a bit of their hashes: a Bloom filter of one hash.
// Where ids are many, most come once and are not worth a place in a cache, nor the work of putting them there. The name
// is from Einziger, Friedman and Manes, "TinyLFU: A Highly Efficient Cache Admission Policy".
//
// It mistakes up to one unknown id in 16 for a known one. It is not safe for concurrent use.
type doorkeeper struct {
	words []uint64
	bits  int // bits that are set
}

// Sizes of a doorkeeper. It has so many bits for each row of four entries that the cache has room for, and forgets all
// ids when one bit in 16 is set: early, because ids that come again soon are the ones to keep.
const (
	doorBits     = 8
	doorRowBytes = 80
	doorShare    = 16
	wordBits     = 64
)

func newDoorkeeper(cacheBytes int64) *doorkeeper {
	return &doorkeeper{words: make([]uint64, 1+cacheBytes/doorRowBytes*doorBits/wordBits)}
}

// knows reports whether an id with this hash was asked for before, and remembers it.
func (d *doorkeeper) knows(hash uint32) bool {
	at := uint64(hash) * uint64(len(d.words)*wordBits) >> 32
	word, bit := &d.words[at/wordBits], uint64(1)<<(at%wordBits)
	if *word&bit != 0 {
		return true
	}
	if d.bits == len(d.words)*wordBits/doorShare {
		clear(d.words)
		d.bits = 0
	}
	*word |= bit
	d.bits++
	return false
}

// bytes returns the memory of a doorkeeper, which may be nil.
func (d *doorkeeper) bytes() int64 {
	if d == nil {
		return 0
	}
	return int64(8 * len(d.words))
}
