package page

import (
	"strings"
	"time"
	"unicode/utf8"

	"rivulet/event"
	"rivulet/kafka"
)

const (
	deadKept    = 60                     // the newest dead letters
	valueShown  = 4 << 10                // bytes of a record's value
	detailShown = 1 << 10                // bytes of the reason's detail
	mostReasons = len(event.Reasons) + 2 // another writer to the topic must not cost memory
	otherReason = "other"
)

// DeadLetter is one that the page shows.
type DeadLetter struct {
	Reason    string `json:"reason"`
	Detail    string `json:"detail"`
	Field     string `json:"field"` // with which the detail begins, "" for none
	Key       string `json:"key"`
	Topic     string `json:"topic"` // topic and place of the record
	Partition int    `json:"partition"`
	Offset    int64  `json:"offset"`
	Time      int64  `json:"time"`  // of the dead letter, ms since 1970
	Value     string `json:"value"` // its beginning; "" if it is no text
	Bytes     int    `json:"bytes"` // bytes of the whole value
	Binary    bool   `json:"binary,omitempty"`
}

// deadLetterOf reads a record of the topic of dead letters.
func deadLetterOf(rec *kafka.Record) DeadLetter {
	d := DeadLetter{Time: rec.Time.UnixMilli(), Key: shown(strings.ToValidUTF8(string(rec.Key), "�")), Partition: -1,
		Offset: -1, Reason: otherReason, Bytes: len(rec.Value)}
	for _, h := range rec.Headers {
		text := func() string { return strings.ToValidUTF8(string(h.Value), "�") }
		switch h.Key {
		case event.HeaderReason:
			d.Reason = shown(text())
		case event.HeaderDetail:
			d.Detail = cut(text(), detailShown)
			d.Field = fieldOf(d.Detail)
		case event.HeaderSourceTopic:
			d.Topic = shown(text())
		case event.HeaderValueBytes:
			d.Bytes = int(max(0, decimal(h.Value)))
		}
	}
	if at, ok := sourceOf(rec.Headers); ok {
		d.Partition, d.Offset = at.Partition, at.Offset
	}
	value := rec.Value[:min(len(rec.Value), valueShown)]
	for cut := 0; cut < utf8.UTFMax && len(value) > 0 && !utf8.Valid(value); cut++ { // the cut may be inside a letter
		value = value[:len(value)-1]
	}
	if d.Binary = len(rec.Value) > 0 && len(value) == 0 || !utf8.Valid(value); !d.Binary {
		d.Value = string(value)
	}
	return d
}

// fieldOf returns the name of the field with which a detail begins, such as features of "features[3]: is NaN".
func fieldOf(detail string) string {
	name, _, found := strings.Cut(detail, ": ")
	if !found {
		return ""
	}
	if at := strings.IndexAny(name, ".["); at > 0 {
		name = name[:at]
	}
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyz_") != "" {
		return ""
	}
	return name
}

// deadLetters counts dead letters by their reasons over time.
type deadLetters struct {
	newest  ring[DeadLetter]
	reasons []string               // in the order in which they came
	totals  [mostReasons]int       // since the page reads
	minutes [span / 10]reasonBlock // of ten seconds each
}

type reasonBlock struct {
	at     int64
	counts [mostReasons]uint32
}

func (l *deadLetters) take(rec *kafka.Record) {
	d := deadLetterOf(rec)
	l.newest.put(d, deadKept)
	k := l.index(d.Reason)
	l.totals[k]++
	at := d.Time / 10_000
	b := &l.minutes[max(0, at)%int64(len(l.minutes))]
	if at > b.at {
		*b = reasonBlock{at: at}
	}
	if at == b.at {
		b.counts[k]++
	}
}

// index returns the place of a reason, the last one where there are too many.
func (l *deadLetters) index(reason string) int {
	for k, r := range l.reasons {
		if r == reason {
			return k
		}
	}
	if len(l.reasons) == mostReasons-1 {
		l.reasons = append(l.reasons, otherReason)
	}
	if len(l.reasons) == mostReasons {
		return mostReasons - 1
	}
	l.reasons = append(l.reasons, reason)
	return len(l.reasons) - 1
}

// DeadLetters is the page's view of dead letters.
type DeadLetters struct {
	Reasons []Reason     `json:"reasons"`
	Time    []int64      `json:"time"` // start of each block of ten seconds, seconds since 1970
	Newest  []DeadLetter `json:"newest"`
}

// Reason is one reason over time.
type Reason struct {
	Name     string   `json:"name"`
	Sentence string   `json:"sentence"` // what it means; "": another writer's word
	Whose    string   `json:"whose"`    // record or version, at which the fault is; "": another writer's word
	Total    int      `json:"total"`    // since the page reads
	Counts   []uint32 `json:"counts"`
}

// reasonOf explains a reason that a record names.
func reasonOf(name string) Reason {
	for i := range event.Reasons {
		if r := &event.Reasons[i]; r.Name == name {
			return Reason{Name: name, Sentence: r.Sentence, Whose: r.Whose(), Counts: []uint32{}}
		}
	}
	return Reason{Name: name, Counts: []uint32{}}
}

func (l *deadLetters) view(now time.Time) DeadLetters {
	v := DeadLetters{Reasons: make([]Reason, len(l.reasons)), Newest: []DeadLetter{}, Time: []int64{}}
	for k, name := range l.reasons {
		v.Reasons[k] = reasonOf(name)
		v.Reasons[k].Total = l.totals[k]
	}
	last := now.Unix() / 10
	for at := last - int64(len(l.minutes)) + 1; at <= last; at++ {
		v.Time = append(v.Time, at*10)
		b := &l.minutes[at%int64(len(l.minutes))]
		for k := range v.Reasons {
			n := uint32(0)
			if b.at == at {
				n = b.counts[k]
			}
			v.Reasons[k].Counts = append(v.Reasons[k].Counts, n)
		}
	}
	l.newest.each(func(d *DeadLetter) bool {
		v.Newest = append(v.Newest, *d)
		return true
	})
	return v
}
