package mcond

import (
	"crypto/sha256"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rivulet/test/expect"
)

func TestRefusedCheckpoints(t *testing.T) {
	w := newWorld(t)
	o := small()
	o.Rounds, o.Checkpoint = 2, filepath.Join(t.TempDir(), "run.ckpt")
	mustLearn(t, w, o)
	good, err := os.ReadFile(o.Checkpoint)
	expect.OK(t, err)
	sealed := func(body []byte) []byte {
		sum := sha256.Sum256(body)
		return append(body[:len(body):len(body)], sum[:]...)
	}
	body := good[:len(good)-sha256.Size]
	flipped := append([]byte(nil), good...)
	flipped[len(good)/2] ^= 1
	newer := append([]byte(nil), good...)
	binary.LittleEndian.PutUint16(newer[len(checkpointMagic):], checkpointVersion+1)
	longHeader := append([]byte(nil), body...)
	binary.LittleEndian.PutUint32(longHeader[len(checkpointMagic)+2:], 1<<31)
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"empty":           {nil, "cut short"},
		"another file":    {[]byte(strings.Repeat("x", 400)), "not a checkpoint"},
		"cut":             {good[:len(good)-100], "checksum"},
		"a bit":           {flipped, "checksum"},
		"newer":           {newer, "its format is 3, this program reads 2"},
		"too short":       {sealed(body[:len(body)-4]), "do not fit"},
		"too long":        {sealed(append(body[:len(body):len(body)], 0, 0, 0, 0)), "4 bytes too many"},
		"header's length": {sealed(longHeader), "more than it has"},
	} {
		expect.OK(t, os.WriteFile(o.Checkpoint, c.data, 0o600))
		_, err := Learn(t.Context(), w.in, o, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), o.Checkpoint) {
			t.Errorf("%s: error %v, want the file and %q in it", name, err, c.want)
		}
	}
}

// A checkpoint is continued only by its own run.
func TestCheckpointOfAnotherRun(t *testing.T) {
	w := newWorld(t)
	o := small()
	o.Rounds, o.Checkpoint = 2, filepath.Join(t.TempDir(), "run.ckpt")
	mustLearn(t, w, o)
	for name, change := range map[string]func(in *Input, o *Options){
		"seed":     func(_ *Input, o *Options) { o.Seed++ },
		"lambda":   func(_ *Input, o *Options) { o.Lambda = 2 },
		"ablation": func(_ *Input, o *Options) { o.NoInductive = true },
		"labels":   func(in *Input, _ *Options) { in.Labels[0] = -1 },
		"features": func(in *Input, _ *Options) { in.X.Dense.Data[3]++ },
		"support":  func(in *Input, _ *Options) { in.Support.Adj = nil },
		"budget":   func(in *Input, _ *Options) { in.Budget = []int{2, 3, 3} },
	} {
		w, at := newWorld(t), o
		change(&w.in, &at)
		expect.Error(t, expect.ErrorOf(Learn(t.Context(), w.in, at, nil)), "other data or other options", "%s", name)
	}
	if _, err := GCond(t.Context(), w.in, o, nil); err == nil {
		t.Error("GCond took up a checkpoint of Learn")
	}
}

// A file that cannot be written ends the run with its name, and leaves no other file.
func TestUnwritableCheckpoint(t *testing.T) {
	w := newWorld(t)
	o := small()
	dir := t.TempDir()
	o.Checkpoint = filepath.Join(dir, "missing", "run.ckpt")
	expect.Error(t, expect.ErrorOf(Learn(t.Context(), w.in, o, nil)), o.Checkpoint)
	o.Checkpoint = filepath.Join(dir, "run.ckpt")
	mustLearn(t, w, o)
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("%v, %v beside the checkpoint", entries, err)
	}
}
