package serving

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"rivulet/artifact"
	"rivulet/artifact/artifacttest"
	"rivulet/artifact/baseline"
	"rivulet/graph"
	"rivulet/infer/attach"
	"rivulet/mapping"
	"rivulet/test/expect"
)

// others are artifacts of other data than bundle's, by the word that names the difference.
func others(t *testing.T) map[string]*artifact.Bundle {
	t.Helper()
	size := artifacttest.Size{Nodes: 300, Synthetic: 12, Features: 7, Classes: 4}
	wider, fewer := size, size
	wider.Features, fewer.Classes = 8, 3
	renamed, elsewhere := artifacttest.Bundle(2, size), artifacttest.Bundle(2, size)
	renamed.Manifest.Data.Classes[0] = "another"
	elsewhere.Manifest.Data.Fingerprint = "sha256:" + strings.Repeat("ab", 32)
	for i := range elsewhere.Mapping.IDs {
		elsewhere.Mapping.IDs[i] = fmt.Sprint("paper-", i)
	}
	return map[string]*artifact.Bundle{
		"have 8 features in place of 7": sealed(t, artifacttest.Bundle(2, wider), "wider"),
		"classes are":                   sealed(t, artifacttest.Bundle(2, fewer), "fewer"),
		`"another"`:                     sealed(t, renamed, "renamed"),
		"share about 0%":                sealed(t, elsewhere, "elsewhere"),
	}
}

// G10: An artifact of other data becomes CURRENT only where that is asked for: neither publish nor a way back to a
// version that was published before moves CURRENT, and a consumer keeps what it serves where CURRENT was moved past the
// gate.
func TestOtherDataIsRefused(t *testing.T) {
	onRedis(t, func(t *testing.T, s *server) {
		s.publish(t, bundle(t, 1, "v1"))
		w, log := s.watcher(t, "c1")
		mustServe(t, w, "v1")
		if line := strings.Join(log.take(), "\n"); !strings.Contains(line, "features=7 classes=4 fingerprint=sha256:") {
			t.Errorf("log: %s", line)
		}
		p := s.publisher(t)
		for word, b := range others(t) {
			version := b.Manifest.Version
			var other *OtherDataError
			err := p.Publish(t.Context(), b, PublishOptions{Keep: -1})
			if !errors.As(err, &other) || !strings.Contains(err.Error(), word) {
				t.Errorf("%s: error %v, want %q", version, err, word)
			}
			s.mustCurrent(t, "v1")
			if written := s.data(t, version); len(written) > 0 {
				t.Errorf("%s was written: %q", version, written)
			}
			s.pastTheGate(t, p, b)
			if err := tick(t, w); !errors.As(err, &other) || w.Current().ID() != "v1" {
				t.Errorf("%s: a consumer serves %s: %v", version, w.Current().ID(), err)
			}
			if err := p.SetCurrent(t.Context(), "v1", false); !errors.As(err, &other) {
				t.Errorf("back from %s: error %v", version, err)
			}
			if err := p.Activate(t.Context(), "v1", version); !errors.As(err, &other) {
				t.Errorf("back from %s on the page: error %v", version, err)
			}
			if err := p.SetCurrent(t.Context(), version, true); err != nil { // the operator means it
				t.Fatal(err)
			}
			mustServe(t, w, version)
			expect.OK(t, p.SetCurrent(t.Context(), "v1", true))
			mustServe(t, w, "v1")
		}
		expect.OK(t, p.Publish(t.Context(), bundle(t, 9, "v9"), PublishOptions{Keep: -1, OtherData: true}))
		mustServe(t, w, "v9")
	})
}

// pastTheGate publishes as a build without the gate did.
func (s *server) pastTheGate(t *testing.T, p *Publisher, b *artifact.Bundle) {
	t.Helper()
	files, err := artifact.EncodeServing(b)
	if err == nil {
		err = p.write(t.Context(), b, files, PublishOptions{})
	}
	if err == nil {
		err = p.move(t.Context(), b.Manifest.Version, "v1")
	}
	expect.OK(t, err)
}

// A graph that has grown, also to many times its nodes, is no other data; a version that cannot be read is no reason to
// keep it.
func TestGrownDataIsAdmitted(t *testing.T) {
	onRedis(t, func(t *testing.T, s *server) {
		p := s.publisher(t)
		s.publish(t, bundle(t, 1, "v1"))
		grown := artifacttest.Bundle(2, artifacttest.Size{Nodes: 6000, Synthetic: 20, Features: 7, Classes: 4})
		grown.Manifest.Data.Fingerprint = "sha256:" + strings.Repeat("cd", 32)
		s.publish(t, sealed(t, grown, "v2"))
		s.publish(t, bundle(t, 3, "v3")) // and back
		s.mustCurrent(t, "v3")
		for _, key := range s.data(t, "v3") {
			expect.OK(t, s.client.Unlink(t.Context(), key).Err())
		}
		var warnings []string
		wider := others(t)["have 8 features in place of 7"]
		err := p.Publish(t.Context(), wider, PublishOptions{Warn: func(text string) { warnings = append(warnings, text) }})
		if err != nil || !strings.Contains(strings.Join(warnings, "\n"), "v3, which serves, cannot be compared") {
			t.Errorf("%v: %q", err, warnings)
		}
	})
}

// An artifact whose numbers are finite and overflow is neither published nor taken.
func TestArtifactThatOverflowsIsRefused(t *testing.T) {
	onRedis(t, func(t *testing.T, s *server) {
		s.publish(t, bundle(t, 1, "v1"))
		w, _ := s.watcher(t, "c1")
		mustServe(t, w, "v1")
		b := artifacttest.Bundle(2, artifacttest.Size{Nodes: 300, Synthetic: 12, Features: 7, Classes: 4})
		for k := range b.Models[0].Tables.U {
			data := b.Models[0].Tables.U[k].Data
			for i := range data {
				data[i] = math.MaxFloat32
			}
		}
		sealed(t, b, "overflows")
		if err := s.publisher(t).Publish(t.Context(), b, PublishOptions{OtherData: true}); !errors.Is(err, ErrNotFinite) {
			t.Errorf("error %v", err)
		}
		s.mustCurrent(t, "v1")
		s.pastTheGate(t, s.publisher(t), b)
		if err := tick(t, w); !errors.Is(err, ErrNotFinite) || w.Current().ID() != "v1" {
			t.Errorf("a consumer serves %s: %v", w.Current().ID(), err)
		}
	})
}

// An artifact whose numbers are finite and not those of its training is neither published nor taken, and the message
// says which numbers.
func TestArtifactThatIsNotTrainedIsRefused(t *testing.T) {
	untrained := map[string]func(b *artifact.Bundle){
		"the same logits": func(b *artifact.Bundle) {
			for _, u := range b.Models[0].Tables.U {
				clear(u.Data)
			}
			for _, p := range b.Models[0].Params {
				clear(p.Value.Data)
			}
		},
		"rows of M are 0":          func(b *artifact.Bundle) { clear(b.Mapping.Rows.Val) },
		"(preprocess.mean) are 0":  func(b *artifact.Bundle) { clear(b.Preprocess.Mean) },
		"predicted that of 96% of": func(b *artifact.Bundle) { wrong(b) },
	}
	onRedis(t, func(t *testing.T, s *server) {
		s.publish(t, bundle(t, 1, "v1"))
		w, _ := s.watcher(t, "c1")
		mustServe(t, w, "v1")
		number := 0
		for want, damage := range untrained {
			number++
			b := artifacttest.Bundle(2, artifacttest.Size{Nodes: 300, Synthetic: 12, Features: 7, Classes: 4})
			referTo(b)
			if err := try(mustVersion(t, sealed(t, b, "right")), b, b.Mapping); err != nil {
				t.Fatalf("an artifact as it should be: %v", err)
			}
			damage(b)
			sealed(t, b, fmt.Sprint("bad", number))
			err := s.publisher(t).Publish(t.Context(), b, PublishOptions{OtherData: true})
			if !errors.Is(err, ErrUntrained) || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want %q", err, want)
			}
			s.mustCurrent(t, "v1")
			s.pastTheGate(t, s.publisher(t), b)
			if err := tick(t, w); !errors.Is(err, ErrUntrained) || w.Current().ID() != "v1" {
				t.Errorf("%s: a consumer serves %s: %v", want, w.Current().ID(), err)
			}
			expect.OK(t, s.publisher(t).SetCurrent(t.Context(), "v1", true))
		}
	})
}

// referTo gives an artifact the labels that it predicts for its own synthetic nodes, and a reference.
func referTo(b *artifact.Bundle) {
	nodes := make([]int, b.Synthetic.X.Rows)
	for k := range nodes {
		nodes[k] = k
	}
	rows, _ := rowsTo(b.Mapping, nodes)
	batch := &attach.Batch{X: graph.Features{Dense: rawFeatures(b, nodes)}}
	v, _, err := New(b, mapping.FromArtifact(b.Mapping), Options{})
	if err != nil {
		panic(err)
	}
	batch.Attach(rows, len(nodes))
	_, p := v.Predict(batch)
	for k := range nodes {
		b.Synthetic.Labels[k] = int32(slices.Index(p.Row(k), slices.Max(p.Row(k))))
	}
	h := baseline.NewHistogram([]float64{1, 2})
	shares := make([]float64, p.Cols)
	shares[0] = 1
	b.Manifest.Reference = baseline.Reference{Nodes: 50, FeatureNorm: h, FeatureCount: h,
		Models: map[string]baseline.ModelReference{v.Model(): {Accuracy: 96, Confidence: 0.9, Classes: shares}}}
}

// wrong makes no label that of the prediction.
func wrong(b *artifact.Bundle) {
	for k := range b.Synthetic.Labels {
		b.Synthetic.Labels[k] = (b.Synthetic.Labels[k] + 1) % int32(len(b.Manifest.Data.Classes))
	}
}

func mustVersion(t *testing.T, b *artifact.Bundle) *Version {
	t.Helper()
	v, _, err := New(b, mapping.FromArtifact(b.Mapping), Options{})
	expect.OK(t, err)
	return v
}

// Two publishers of one artifact end well, whichever of them completes the version, at whatever step of the other.
func TestTwoPublishersOfOneArtifact(t *testing.T) {
	onRedis(t, func(t *testing.T, s *server) {
		b := bundle(t, 1, "v1")
		for step := 1; step <= 12; step++ {
			slow, once := s.connect(t), sync.Once{}
			slow.AddHook(&faults{fail: func(call int, _ string) fault {
				if call == step {
					once.Do(func() { s.publish(t, b) })
				}
				return fine
			}})
			if err := newPublisher(t, slow, s.prefix).Publish(t.Context(), b, PublishOptions{}); err != nil {
				t.Errorf("another one was faster at call %d: %v", step, err)
			}
			s.mustCurrent(t, "v1")
			s.clear(t)
		}
	})
}
