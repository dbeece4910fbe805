package stream

import (
	"testing"

	"rivulet/test/chaos/ledger"
	"rivulet/test/chaos/record"
)

// A record counts for the window that it names, also if that is over when it is sent.
func TestRecordsCountForTheirWindow(t *testing.T) {
	s := &Stream{Name: "stream", Ledger: ledger.New(ledger.Options{})}
	s.Window.Store(1)
	r := s.Record([]byte("key"), "id", record.Value{})
	s.Window.Store(2)
	s.Settled.Store(true)
	s.gave(r)
	s.noteArrival(0, r)
	if s.Ledger.Answered(1, false) || !s.Ledger.Answered(0, true) {
		t.Error("the record does not count for window 1, before its fault was over")
	}
	s.Ledger.Answer(ledger.Place{}, ledger.Answer{Key: "key", ID: "id", Reason: "unparsable"})
	if !s.Ledger.Answered(1, true) {
		t.Error("the record's answer does not count for window 1")
	}
}
