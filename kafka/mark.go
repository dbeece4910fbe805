package kafka

import (
	"encoding/base64"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// topicID tells a topic from one of the same name that was made after it was deleted (KIP-516); zero: not known.
type topicID [16]byte

// Resume is a place to go on at whose records depend on earlier ones: a reader begins at From, and answers the records
// from Next on. Aside is a second offset that the reader wants to know, and Note a word without spaces about From.
type Resume struct {
	From, Next, Aside int64
	Note              string
}

// commitMark is stored beside a committed offset, as the metadata of Kafka's OffsetCommit, so that the next reader of
// the partition sees whether the offset belongs to the present topic and log.
type commitMark struct {
	Topic topicID // zero: not known
	Epoch int32   // leader epoch of the record before the offset; -1: not known
	// Resume is beside an offset from which records are read again; zero: none are.
	Resume Resume
	Ahead  int32 // leader epoch of the last record before the offsets of resume; -1: not known
}

// noMark is the mark of an offset about which nothing more is known.
var noMark = commitMark{Epoch: -1, Ahead: -1}

// markPrefix begins the metadata of the offsets that Rivulet commits: "rivulet topic=ID", "rivulet topic=ID next=7
// aside=9 epoch=2 note=…" where records are read again. What is not known is left out.
const markPrefix = "rivulet"

// metadata writes a mark; empty: nothing is known.
func (m commitMark) metadata() string {
	text := markPrefix
	if m.Topic != (topicID{}) {
		text += " topic=" + base64.RawURLEncoding.EncodeToString(m.Topic[:])
	}
	if m.Resume != (Resume{}) {
		text += fmt.Sprintf(" next=%d aside=%d", m.Resume.Next, m.Resume.Aside)
		if m.Ahead >= 0 {
			text += fmt.Sprintf(" epoch=%d", m.Ahead)
		}
		if m.Resume.Note != "" {
			text += " note=" + m.Resume.Note
		}
	}
	if text == markPrefix {
		return ""
	}
	return text
}

// markOf reads a stored mark. The epoch counts only beside a topic id: other clients commit 0 for an unknown epoch.
func markOf(text string, epoch int32) commitMark {
	words, ours := strings.CutPrefix(text, markPrefix+" ")
	m := noMark
	if !ours {
		return m
	}
	for _, word := range strings.Fields(words) {
		name, value, _ := strings.Cut(word, "=")
		number, err := strconv.ParseInt(value, 10, 64)
		switch {
		case name == "topic":
			id, err := base64.RawURLEncoding.DecodeString(value)
			if err != nil || len(id) != len(topicID{}) {
				return noMark
			}
			m.Topic, m.Epoch = topicID(id), epoch
		case name == "note":
			m.Resume.Note = value
		case err != nil || number < 0:
			return noMark
		case name == "next":
			m.Resume.Next = number
		case name == "aside":
			m.Resume.Aside = number
		case name == "epoch":
			m.Ahead = int32(min(number, math.MaxInt32))
		}
	}
	return m
}
