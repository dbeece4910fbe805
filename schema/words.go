package schema

import "math"

// Hashed words. A word is a longest run of ASCII letters, ASCII digits and bytes of 0x80 and above, so that words in
// UTF-8 stay whole; ASCII capitals become small letters, all else separates. A word's bucket is its FNV-1a hash of 64
// bits, of the seed's eight bytes (little endian) and then the word's, with its upper half folded onto the lower by
// exclusive or, modulo the number of buckets. A bucket's value is its count over the L2 norm of all counts.

const (
	fnvOffset uint64 = 14695981039346656037
	fnvPrime  uint64 = 1099511628211
)

// seedHash is the state of the hash after the seed.
func seedHash(seed uint64) uint64 {
	h := fnvOffset
	for range 8 {
		h = (h ^ seed&0xff) * fnvPrime
		seed >>= 8
	}
	return h
}

// wordByte returns a byte of a word in lower case, or 0 for one that separates words.
func wordByte(c byte) byte {
	switch {
	case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c >= 0x80:
		return c
	case c >= 'A' && c <= 'Z':
		return c + ('a' - 'A')
	}
	return 0
}

// nextWord returns the bucket of the first word of text and the rest after it; ok is false if there is no word.
func nextWord(text string, start uint64, buckets int) (bucket int, rest string, ok bool) {
	i := 0
	for i < len(text) && wordByte(text[i]) == 0 {
		i++
	}
	if i == len(text) {
		return 0, "", false
	}
	h := start
	for ; i < len(text); i++ {
		c := wordByte(text[i])
		if c == 0 {
			break
		}
		h = (h ^ uint64(c)) * fnvPrime
	}
	return int((h ^ h>>32) % uint64(buckets)), text[i:], true
}

// norm returns the L2 norm of counts.
func norm(squares float64) float32 { return float32(math.Sqrt(squares)) }
