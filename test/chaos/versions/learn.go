package versions

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
func (v *Versions) Learn(ctx context.Context) error {
	for _, a := range v.Artifacts {
		if err := v.learn(ctx, a.Version, v.DirOf(a.Version)); err != nil {
			return err
		}
	}
	return nil
}

// learn notes an artifact's answers to the arrivals, computed without any service.
func (v *Versions) learn(ctx context.Context, version, dir string) error {
	var lines bytes.Buffer
	for _, m := range v.Arrivals {
		lines.Write(m.Value[record.JSON])
		lines.WriteByte('\n')
	}
	says, err := v.predict(ctx, dir, "node", &lines)
	if err != nil {
		return err
	}
	if len(says) != len(v.Arrivals) {
		return fmt.Errorf("artifact %s predicts %d of %d arrivals", version, len(says), len(v.Arrivals))
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.said[version], v.dirs[version] = says, dir
	return nil
}

// Predict returns a version's answers to arrivals, by their ids.
func (v *Versions) Predict(ctx context.Context, version, mode string, lines *bytes.Buffer) (map[string]string, error) {
	return v.predict(ctx, v.DirOf(version), mode, lines)
}

func (v *Versions) predict(ctx context.Context, dir, mode string, lines *bytes.Buffer) (map[string]string, error) {
	out, err := v.options.Output(ctx, lines, "rivulet", "predict", "--artifact", dir, "--mode", mode, "--logits")
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
func (v *Versions) DirOf(version string) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.dirs[version]
}

// Expected returns what a version says of an arrival.
func (v *Versions) Expected(version, id string) (said string, known bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	said, known = v.said[version][id]
	return said, known
}

// LearnRefreshed notes what artifacts of refreshes say that it has not seen before. A refresh removes all but its last
// two artifacts, so that they are copied.
func (v *Versions) LearnRefreshed(ctx context.Context, dirs []string) error {
	for _, dir := range dirs {
		version, copied, err := v.copied(dir)
		if err != nil {
			return err
		}
		if copied != "" {
			if err := v.learn(ctx, version, copied); err != nil {
				return err
			}
		}
		if version == "" {
			continue
		}
		if err := v.noteComplete(ctx, version, false); err != nil { // it may have been learned before it was published
			return err
		}
	}
	return nil
}

// copied copies an artifact, and returns its version; the copy is empty if there was one before. There is no version
// where the artifact is being written, or was when its refresh was killed, or is being removed.
func (v *Versions) copied(dir string) (version, into string, err error) {
	into = v.options.Path(fmt.Sprintf("copy-%d", v.copies.Add(1)))
	if os.CopyFS(into, os.DirFS(dir)) == nil {
		if bundle, err := artifact.Read(into); err == nil {
			version = bundle.Manifest.Version
		}
	}
	v.mu.Lock()
	known := v.said[version] != nil
	v.mu.Unlock()
	if version == "" || known {
		return version, "", os.RemoveAll(into)
	}
	return version, into, nil
}
