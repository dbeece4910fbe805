package forget

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"rivulet/test/chaos/ledger"
	"rivulet/test/expect"
	"rivulet/test/harness"
)

// An id that is forgotten has one tombstone, no prediction behind it, and is not in Redis once that is committed.
func TestJudge(t *testing.T) {
	for name, c := range map[string]struct {
		do    func(f *IDs, id string)
		exact string // what is wrong exactly once; empty: nothing
		least string // and at least once
	}{
		"as it should be": {do: func(f *IDs, id string) { f.Tombstone(id) }},
		"another key":     {do: func(f *IDs, id string) { f.Tombstone(id); f.Tombstone("key-7") }},
		"no tombstone":    {do: func(*IDs, string) {}, exact: "no tombstone", least: "no tombstone"},
		"deleted unread":  {do: func(f *IDs, id string) { f.Begin(ledger.Place{Offset: 9}, true) }},
		"two":             {do: func(f *IDs, id string) { f.Tombstone(id); f.Tombstone(id) }, exact: "2 tombstones"},
		"read again": {do: func(f *IDs, id string) {
			f.Tombstone(id)
			f.Begin(ledger.Place{}, false)
			f.Tombstone(id)
		}},
		"predicted again":    {do: func(f *IDs, id string) { f.Tombstone(id); f.Predicted(id) }, exact: "behind"},
		"and then forgotten": {do: func(f *IDs, id string) { f.Predicted(id); f.Tombstone(id) }},
	} {
		f := New("a-stream")
		id := f.Next("n1-0")
		if Base(id) != "n1-0" || !f.Predicted(id) || f.Predicted(id) {
			t.Errorf("%s is not an id that was predicted", id)
		}
		f.Ask(id, time.Now())
		f.Read(id, ledger.Place{Offset: 5})
		c.do(f, id)
		for exactly, want := range map[bool]string{true: c.exact, false: c.least} {
			_, violations := f.Judge(exactly, 1, nil)
			if got := strings.Join(violations, " "); (got == "") != (want == "") || !strings.Contains(got, want) {
				t.Errorf("%s, exactly once %t: %q", name, exactly, got)
			}
		}
	}
}

// Ids are found in every kind of key and value.
func TestFind(t *testing.T) {
	harness.NeedRedis(t)
	client := harness.StartRedis(t).Client()
	defer func() { _ = client.Close() }()
	f, other := New("a-stream"), New("another")
	var want []string
	for range 4 {
		want = append(want, f.Next("n1-0"))
	}
	ctx := t.Context()
	for _, err := range []error{client.Set(ctx, "features:"+want[0], "x", 0).Err(),
		client.HSet(ctx, "hash", want[1], "bytes \x00 of a row").Err(), client.SAdd(ctx, "set", "x", want[2]).Err(),
		client.Set(ctx, "note", "among others "+want[3]+" and more", 0).Err(), client.Set(ctx, "x", "n1-0", 0).Err()} {
		expect.OK(t, err)
	}
	got, err := Find(ctx, client)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, want %v: %v", got, want, err)
	}
	all := func(ledger.Place) int64 { return math.MaxInt64 }
	if f.Stored(want[0], all) || other.Stored(want[0], all) {
		t.Error("an id that nobody asked to forget must not be there")
	}
	f.Read(want[0], ledger.Place{Offset: 5})
	for committed, wrong := range map[int64]bool{5: false, 6: true} {
		if f.Stored(want[0], func(ledger.Place) int64 { return committed }) != wrong {
			t.Errorf("committed up to %d: an id that is there is wrong %t", committed, !wrong)
		}
	}
}
