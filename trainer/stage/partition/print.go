package partition

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"rivulet/trainer/stage"
	"rivulet/trainer/stage/wire"
)

// StagePrint is the name of the stage of the fingerprint.
const StagePrint = "print"

// fingerprints hashes blocks: SHA-256 over names, features and edges of a block in their canonical order, a
// record a block at key 0. Inputs: 0 names, 1 features of T, 2 of the nodes held out, 3 tiles, 4 edges of nodes
// held out.
type fingerprints struct{}

// Reduce implements [stage.Function].
func (fingerprints) Reduce(key int64, in stage.Records, out stage.Output) error {
	h := sha256.New()
	var held [][4]int
	err := stage.Each(in, func(r stage.Record) error {
		if r.Tag < 4 {
			fmt.Fprintf(h, "%d %x %d\n", r.Tag, r.Order, len(r.Payload))
			_, err := h.Write(r.Payload)
			return err
		}
		w := wire.NewReader(r.Payload)
		for w.More() {
			held = append(held, [4]int{w.Number(), w.Number(), w.Number(), int(w.Byte())})
		}
		return w.End()
	})
	if err != nil {
		return err
	}
	slices.SortFunc(held, func(a, b [4]int) int { return slices.Compare(a[:], b[:]) })
	for _, e := range slices.Compact(held) {
		fmt.Fprintln(h, e)
	}
	return out.Emit(0, stage.Record{Order: stage.OrderOf(key), Payload: h.Sum(nil)})
}

// Fingerprint is the fingerprint of a graph as tables: "sha256:" and 64 digits over the hashes of its blocks. It
// differs from [rivulet/dataset.Dataset.Fingerprint], which goes over whole tables in the order of their rows.
func Fingerprint(blocks int, hashes []stage.Record) string {
	h := sha256.New()
	fmt.Fprintf(h, "fingerprint 2\n%d blocks\n", blocks)
	for _, r := range hashes {
		fmt.Fprintf(h, "%x %x\n", r.Order, r.Payload)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}
