// Package marks writes and reads what is stored beside a committed offset, as the metadata of Kafka's OffsetCommit.
package marks

import (
	"encoding/base64"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// TopicID tells a topic from one of the same name that was made after it was deleted (KIP-516); zero: not known.
type TopicID [16]byte

// Resume is a place to go on at whose records depend on earlier ones: a reader begins at From, and answers the records
// from Next on. Aside is a second offset that the reader wants to know.
type Resume struct{ From, Next, Aside int64 }

// Mark is stored beside an offset, so that the next reader of the partition sees whether the offset belongs to the
// present topic and log.
type Mark struct {
	Topic TopicID // zero: not known
	Epoch int32   // leader epoch of the record before the offset; -1: not known
	// Resume is beside an offset from which records are read again; zero: none are.
	Resume Resume
	Ahead  int32 // leader epoch of the last record before the offsets of resume; -1: not known
}

// None is the mark of an offset about which nothing more is known.
var None = Mark{Epoch: -1, Ahead: -1}

// prefix begins the metadata of the offsets that Rivulet commits: "rivulet topic=ID", "rivulet topic=ID next=7
// aside=9 epoch=2" where records are read again. What is not known is left out.
const prefix = "rivulet"

// Metadata writes a mark; empty: nothing is known.
func (m Mark) Metadata() string {
	text := prefix
	if m.Topic != (TopicID{}) {
		text += " topic=" + base64.RawURLEncoding.EncodeToString(m.Topic[:])
	}
	if m.Resume != (Resume{}) {
		text += fmt.Sprintf(" next=%d aside=%d", m.Resume.Next, m.Resume.Aside)
		if m.Ahead >= 0 {
			text += fmt.Sprintf(" epoch=%d", m.Ahead)
		}
	}
	if text == prefix {
		return ""
	}
	return text
}

// Of reads a stored mark. The epoch counts only beside a topic id: other clients commit 0 for an unknown epoch.
func Of(metadata string, epoch int32) Mark {
	text, ours := strings.CutPrefix(metadata, prefix+" ")
	m := None
	if !ours {
		return m
	}
	for _, word := range strings.Fields(text) {
		name, value, _ := strings.Cut(word, "=")
		number, err := strconv.ParseInt(value, 10, 64)
		switch {
		case name == "topic":
			id, err := base64.RawURLEncoding.DecodeString(value)
			if err != nil || len(id) != len(TopicID{}) {
				return None
			}
			m.Topic, m.Epoch = TopicID(id), epoch
		case err != nil || number < 0:
			return None
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
