package mapping

// doorkeeper remembers ids that were asked for a short while ago, by a bit of their hashes: a Bloom filter of one hash.
// Where ids are many, most come once and are not worth a place in a cache, nor the work of putting them there. The name
// is that of Einziger, Friedman and Manes, "TinyLFU: A Highly Efficient Cache Admission Policy".
//
// Up to one id in 16 is taken for another. It is not safe for concurrent use.
type doorkeeper struct {
	words []uint64
	bits  int // that are set
}

// Sizes of a doorkeeper: bits for each row for which the cache has room, as rows of four entries take 80 bytes, and the
// share of the bits after which it forgets all. It forgets early, as ids that come again soon are the ones to keep.
const (
	doorBits      = 8
	doorRowBytes  = 80
	doorShare     = 16
	fewestInDoor  = 64
	bitsInOneWord = 64
)

func newDoorkeeper(cacheBytes int64) *doorkeeper {
	bits := max(fewestInDoor, cacheBytes/doorRowBytes*doorBits)
	return &doorkeeper{words: make([]uint64, (bits+bitsInOneWord-1)/bitsInOneWord)}
}

// knows reports whether an id with this hash was asked for before, and remembers it.
func (d *doorkeeper) knows(hash uint32) bool {
	at := uint64(hash) * uint64(len(d.words)*bitsInOneWord) >> 32
	word, bit := &d.words[at/bitsInOneWord], uint64(1)<<(at%bitsInOneWord)
	if *word&bit != 0 {
		return true
	}
	if d.bits == len(d.words)*bitsInOneWord/doorShare {
		clear(d.words)
		d.bits = 0
	}
	*word |= bit
	d.bits++
	return false
}

func (d *doorkeeper) bytes() int64 { return int64(8 * len(d.words)) }
