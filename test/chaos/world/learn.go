package world

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"

	"rivulet/artifact"
	"rivulet/event"
	"rivulet/event/json"
	"rivulet/test/chaos/record"
	"rivulet/test/harness"
)

// Learn notes what all artifacts say of the arrivals.
func (w *World) Learn(ctx context.Context) error {
	for _, a := range w.Artifacts {
		if err := w.learn(ctx, a.Version, w.DirOf(a.Version)); err != nil {
			return err
		}
	}
	return nil
}

// learn notes an artifact's answers to the arrivals, computed without any service.
func (w *World) learn(ctx context.Context, version, dir string) error {
	var lines bytes.Buffer
	for _, m := range w.Arrivals {
		lines.Write(m.Value[record.JSON])
		lines.WriteByte('\n')
	}
	says, err := w.predict(ctx, dir, "node", &lines)
	if err != nil {
		return err
	}
	if len(says) != len(w.Arrivals) {
		return fmt.Errorf("artifact %s predicts %d of %d arrivals", version, len(says), len(w.Arrivals))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.said[version], w.dirs[version] = says, dir
	return nil
}

// Predict returns a version's answers to arrivals, by their ids.
func (w *World) Predict(ctx context.Context, version, mode string, lines *bytes.Buffer) (map[string]string, error) {
	return w.predict(ctx, w.DirOf(version), mode, lines)
}

func (w *World) predict(ctx context.Context, dir, mode string, lines *bytes.Buffer) (map[string]string, error) {
	out, err := w.Output(ctx, lines, "rivulet", "predict", "--artifact", dir, "--mode", mode, "--logits")
	if err != nil {
		return nil, err
	}
	says := map[string]string{}
	scan := bufio.NewScanner(bytes.NewReader(out))
	scan.Buffer(nil, 1<<20)
	for scan.Scan() {
		var p event.Prediction
		if err := (json.Codec{}).DecodePrediction(scan.Bytes(), &p); err != nil {
			return nil, err
		}
		says[strings.Clone(p.ID)] = harness.Says(&p)
	}
	return says, scan.Err()
}

// DirOf returns where the artifact of a version is; empty: nobody published it.
func (w *World) DirOf(version string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dirs[version]
}

// Expected returns what a version says of an arrival.
func (w *World) Expected(version, id string) (said string, known bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	said, known = w.said[version][id]
	return said, known
}

// LearnRefreshed notes what artifacts of refreshes say that it has not seen before. A refresh removes all but its last
// two artifacts, so that they are copied.
func (w *World) LearnRefreshed(ctx context.Context, dirs []string) error {
	for _, dir := range dirs {
		version, copied, err := w.copied(dir)
		if err != nil {
			return err
		}
		if copied != "" {
			if err := w.learn(ctx, version, copied); err != nil {
				return err
			}
		}
	}
	return nil
}

// copied copies an artifact, and returns its version; the copy is empty if there was one before. There is no version
// where the artifact is being written, or was when its refresh was killed, or is being removed.
func (w *World) copied(dir string) (version, into string, err error) {
	into = w.Path(fmt.Sprintf("copy-%d", w.copies.Add(1)))
	if os.CopyFS(into, os.DirFS(dir)) == nil {
		if bundle, err := artifact.Read(into); err == nil {
			version = bundle.Manifest.Version
		}
	}
	w.mu.Lock()
	known := w.said[version] != nil
	w.mu.Unlock()
	if version == "" || known {
		return version, "", os.RemoveAll(into)
	}
	return version, into, nil
}
