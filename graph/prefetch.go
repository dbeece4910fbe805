package graph

// prefetchUnit is how many words a unit has of [Prefetch].
const prefetchUnit = 4

// Prefetch asks the processor to have places of a piece of memory in its caches soon, and does not wait for them: the 48 bytes from
// the start of each unit, 4 words, on. It is for memory that is read at random, at places that are known some time before. A unit
// must begin within words.
func Prefetch(words, units []uint32) {
	for _, u := range units {
		_ = words[uint64(u)*prefetchUnit]
	}
	if len(units) > 0 {
		prefetch(&words[0], &units[0], len(units))
	}
}
