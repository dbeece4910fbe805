package artifact_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rivulet/artifact"
	"rivulet/artifact/artifacttest"
	"rivulet/graph"
	"rivulet/test/expect"
)

const mapName = "map.safetensors"

// withMap is a bundle of 6 synthetic nodes, 5 features and 3 classes with a map; node 2 has empty lists.
func withMap(seed uint64) *artifact.Bundle {
	b := artifacttest.Bundle(seed, artifacttest.Size{})
	m := &artifact.Map{XY: graph.NewDense(6, 2), Shares: graph.NewDense(6, 3), Mass: []float32{1, 0, 2.5, 3, 4, 5},
		Heaviest: make([][]artifact.Heavy, 6), Features: make([][]artifact.Strength, 6)}
	for i := range 6 {
		m.XY.Row(i)[0], m.XY.Row(i)[1] = float32(i)/5, -float32(i)/5
		m.Shares.Row(i)[i%3], m.Shares.Row(i)[(i+1)%3] = 0.75, 0.25
		if i == 2 {
			continue
		}
		for k := range i + 1 {
			m.Heaviest[i] = append(m.Heaviest[i], artifact.Heavy{ID: fmt.Sprintf("é%d-%d", i, k), Weight: float32(9 - k)})
		}
		m.Features[i] = []artifact.Strength{{Feature: int32(i % 5), Weight: -2}, {Feature: int32((i + 1) % 5), Weight: 1}}
	}
	b.Map = m
	return b
}

// A map is read as it was written, with ids and without. It is published, and needs no newer format.
func TestMapIsReadAndServed(t *testing.T) {
	for _, ids := range []bool{true, false} {
		b := withMap(1)
		if !ids {
			b.Map.Heaviest = nil
		}
		got, files, served := roundTrip(t, b)
		if diff := cmp.Diff(b, got); diff != "" {
			t.Errorf("read differs from written (-written +read):\n%s", diff)
		}
		m := &got.Manifest
		if m.FormatVersion != 1 || m.MapIDs != ids || !m.HasMap() {
			t.Errorf("format %d, ids %v, map %v, want 1, %v, true", m.FormatVersion, m.MapIDs, m.HasMap(), ids)
		}
		if diff := cmp.Diff(b.Map, served.Map); diff != "" {
			t.Errorf("map of the serving part (-written +served):\n%s", diff)
		}
		delete(files, mapName) // as a publisher leaves it out that does not know it
		served, err := artifact.DecodeServing(files)
		if err != nil || served.Map != nil {
			t.Errorf("a serving part without the map: %v, %v", served, err)
		}
	}
}

// Besides the file itself, nothing of an artifact changes by a map.
func TestMapChangesNoOtherFile(t *testing.T) {
	b := withMap(1)
	with := mustWrite(t, b)
	b.Map = nil
	b.Manifest.Version = ""
	without := mustWrite(t, b)
	for name := range b.Manifest.Files {
		one, err := os.ReadFile(filepath.Join(with, name))
		expect.OK(t, err)
		other, err := os.ReadFile(filepath.Join(without, name))
		expect.OK(t, err)
		if string(one) != string(other) {
			t.Errorf("%s has other bytes", name)
		}
	}
	if b.Manifest.HasMap() || b.Manifest.MapIDs {
		t.Error("the manifest has a map that is not there")
	}
}

func TestInvalidMap(t *testing.T) {
	inf := float32(math.Inf(1))
	for want, spoil := range map[string]func(m *artifact.Map){
		"xy: 10 values of shape 5×2, want 6×2":             func(m *artifact.Map) { m.XY = graph.NewDense(5, 2) },
		"xy: row 1, column 1 is 1.5, want -1 to 1":         func(m *artifact.Map) { m.XY.Data[3] = 1.5 },
		"xy: row 0, column 0 is NaN":                       func(m *artifact.Map) { m.XY.Data[0] = float32(math.NaN()) },
		"mass: 1 values, want 6":                           func(m *artifact.Map) { m.Mass = m.Mass[:1] },
		"mass: value 2 is -1, want 0 or more":              func(m *artifact.Map) { m.Mass[2] = -1 },
		"shares: row 0 sums to 1.25, want 1":               func(m *artifact.Map) { m.Shares.Data[2] = 0.25 },
		"shares: row 0, column 2 is -1, want 0 or":         func(m *artifact.Map) { m.Shares.Data[2] = -1 },
		"features: 2 lists, want 6":                        func(m *artifact.Map) { m.Features = m.Features[:2] },
		"features: node 0: feature is 5, outside 0…4":      func(m *artifact.Map) { m.Features[0][0].Feature = 5 },
		"features: node 0: weight is 0, want":              func(m *artifact.Map) { m.Features[0][1].Weight = 0 },
		"features: node 0: the strongest do not":           func(m *artifact.Map) { m.Features[0][1].Weight = 3 },
		"heaviest: 3 lists, want 6":                        func(m *artifact.Map) { m.Heaviest = m.Heaviest[:3] },
		"heaviest: node 3: id is \"\", want UTF-8":         func(m *artifact.Map) { m.Heaviest[3][1].ID = "" },
		"heaviest: node 3: weight is +Inf, want":           func(m *artifact.Map) { m.Heaviest[3][0].Weight = inf },
		"heaviest: node 3: the heaviest do not come first": func(m *artifact.Map) { m.Heaviest[3][1].Weight = 10 },
		"heaviest: node 2: 11 entries, want at most 10": func(m *artifact.Map) {
			m.Heaviest[2] = make([]artifact.Heavy, 11)
		},
		"features: node 2: 11 entries, want at most 10": func(m *artifact.Map) {
			m.Features[2] = make([]artifact.Strength, 11)
		},
	} {
		b := withMap(2)
		spoil(b.Map)
		wantError(t, b.Seal(), mapName+": "+want)
	}
}

// A list that does not end where the next one begins is refused, and so is a map of other shapes.
func TestDecodeRefusesAMapOfOtherShapes(t *testing.T) {
	for want, change := range map[string]func(m *artifact.Map){
		`tensor "xy" has shape [6 3], want [6 2]`:          func(m *artifact.Map) { m.XY = graph.NewDense(6, 3) },
		`tensor "shares" has shape [6 2], want [6 3]`:      func(m *artifact.Map) { m.Shares = graph.NewDense(6, 2) },
		`tensor "mass" has shape [7], want [6]`:            func(m *artifact.Map) { m.Mass = make([]float32, 7) },
		`tensor "features.indptr" has shape [6], want [7]`: func(m *artifact.Map) { m.Features = m.Features[:5] },
		`tensor "heaviest.indptr" has shape [9], want [7]`: func(m *artifact.Map) {
			m.Heaviest = append(m.Heaviest, nil, nil)
		},
		"heaviest: node 0: id is \"\", want UTF-8 that is not em": func(m *artifact.Map) { m.Heaviest[0][0].ID = "" },
	} {
		b := withMap(3)
		change(b.Map)
		wantDecodeError(t, b, mapName, want)
	}
}
