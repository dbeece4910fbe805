package mapping

import (
	"testing"

	"rivulet/mapping/mappingtest"
)

// Held counts ids and entries, and little more than the estimate by which the consumer decides whether M fits.
func TestFootprintHeld(t *testing.T) {
	m := mappingtest.Drawn(50_000, mappingtest.IDKinds[1].Make)
	held, estimated := Footprint{}.Held(m), FromArtifact(m).index.bytes
	least := int64(8 * m.Rows.NNZ())
	for _, id := range m.IDs {
		least += int64(len(id))
	}
	if held < least || float64(held) < 0.6*float64(estimated) || float64(held) > 1.4*float64(estimated) {
		t.Errorf("%d bytes, of which ids and entries are %d; estimated are %d", held, least, estimated)
	}
}

// Redis reports the growth of its memory. The server is the test's own, so that nothing else changes its memory.
func TestFootprintStored(t *testing.T) {
	client, prefix := ownRedis(t)
	for _, kind := range mappingtest.IDKinds {
		const n = 100_000
		taken, _ := rowMemory(t, client, prefix+kind.Name+":", n, kind.Make)
		counted := float64(Footprint{}.Stored(mappingtest.Drawn(n, kind.Make))) / n
		t.Logf("%s: %.1f B a row, counted %.1f", kind.Name, taken, counted)
		if counted < 0.9*taken || counted > 1.1*taken {
			t.Errorf("%s: a row takes %.1f B in Redis, counted are %.1f", kind.Name, taken, counted)
		}
	}
}
