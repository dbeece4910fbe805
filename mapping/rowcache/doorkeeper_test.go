package rowcache

import (
	"math/rand/v2"
	"testing"
)

// A doorkeeper knows what it was told last, takes few ids for others, and forgets.
func TestDoorkeeper(t *testing.T) {
	const room = 10_000
	d, rng := newDoorkeeper(room*doorRowBytes), rand.New(rand.NewPCG(1, 2))
	if want := int64(8 + room*doorBits/8); d.bytes() != want {
		t.Errorf("%d bytes for %d rows, want %d", d.bytes(), room, want)
	}
	const first = 77
	if d.knows(first) || !d.knows(first) {
		t.Error("an id is known before it came, or not after it did")
	}
	mistaken, forgot := 0, 0
	for range 20 * room {
		hash := rng.Uint32()
		if d.knows(hash) {
			mistaken++
		}
		if !d.knows(hash) {
			t.Fatal("the id that came last is not known")
		}
	}
	if mistaken == 0 || mistaken > 20*room/doorShare {
		t.Errorf("%d of %d new ids were known, want some and at most one in %d", mistaken, 20*room, doorShare)
	}
	for range 100 {
		if !d.knows(first) {
			forgot++
		}
		for range room {
			d.knows(rng.Uint32())
		}
	}
	if forgot < 80 {
		t.Errorf("an id was forgotten %d times of 100, after as many others as there is room for", forgot)
	}
}
