// Package spelling finds the word that was meant by one that is misspelt.
package spelling

import "github.com/agnivade/levenshtein"

// Closest returns the first of the words that differ least from a word that is none of them, "" if all differ too
// much: by more than two letters, or a fifth of the word where that is more, or by half of the shorter word.
func Closest(word string, words []string) string {
	best, least := "", max(2, len(word)/5)+1
	for _, w := range words {
		if d := levenshtein.ComputeDistance(word, w); d < least && 2*d < min(len(word), len(w)) {
			best, least = w, d
		}
	}
	return best
}

// DidYouMean returns ", did you mean WORD?" with the closest of the words, and nothing if none is close.
func DidYouMean(word string, words []string) string {
	if best := Closest(word, words); best != "" {
		return ", did you mean " + best + "?"
	}
	return ""
}
