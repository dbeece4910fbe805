package graph

// PrefetchUnit is the number of words that a unit has of [Prefetch].
const PrefetchUnit = 4

// Prefetch asks the processor to bring places of a piece of memory into its caches, and does not wait for them: 48
// bytes from the start of each unit on. Units are numbers of [PrefetchUnit] words each. It is for memory that is read
// at random, at places that are known some time before. It panics if a unit does not begin within words.
func Prefetch(words, units []uint32) {
	for _, u := range units {
		_ = words[uint64(u)*PrefetchUnit]
	}
	if len(units) > 0 {
		prefetch(&words[0], &units[0], len(units))
	}
}
