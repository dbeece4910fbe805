package event

import (
	"bytes"
	"strings"
)

// Text bounds the memory of text that a registry's schema expands. A schema can make long text of a few bytes: if
// neighbours are values of an enum, a record of 2 KB can hold 1 MiB of ids, and a batch 256 times that. Such ids are a
// few words of the schema, and the batch keeps each word once.
type Text struct{ words map[string]string }

// Bound drops the text that was made of an arrival's record, if it is longer than the record: key and value have so
// many bytes, and so many entries of the list of edges were dropped. Features by name have become a row.
func (t *Text) Bound(a *Arrival, record, dropped int) {
	text := 0
	for i := range a.Features.Named {
		text += len(a.Features.Named[i].Name) + len(a.Features.Named[i].Value.Text)
	}
	if text > record {
		a.Features.Named = nil
	}
	longest := len(a.ID)
	for _, id := range a.Edges {
		text, longest = text+len(id), max(longest, len(id))
	}
	if text += dropped * longest; text <= record {
		return
	}
	if t.words == nil {
		t.words = make(map[string]string)
	}
	a.ID, a.Key = strings.Clone(a.ID), bytes.Clone(a.Key) // each id is a part of the text of all
	for i, id := range a.Edges {
		word, is := t.words[id]
		if !is {
			word = strings.Clone(id)
			t.words[word] = word
		}
		a.Edges[i] = word
	}
}
