package artifact_test

import (
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"rivulet/artifact"
	"rivulet/artifact/artifacttest"
	"rivulet/graph"
	"rivulet/infer"
	"rivulet/test/expect"
)

func TestWriteReadEveryModelOverOneM(t *testing.T) {
	b := artifacttest.Several(1, artifacttest.Size{})
	got, err := artifact.Read(mustWrite(t, b))
	expect.OK(t, err)
	if diff := cmp.Diff(b, got); diff != "" {
		t.Errorf("read differs from written (-written +read):\n%s", diff)
	}
	var names []string
	for k, m := range got.Models {
		model, err := infer.Build(m.Name, m.Params)
		expect.OK(t, err)
		model.Frozen(m.Tables, &got.Preprocess) // panics where the tables are not the model's
		names = append(names, got.Manifest.Models[k].Name)
	}
	expect.Same(t, []string{"sgc", "gcn", "sage", "appnp", "cheby"}, names, "models")
}

// A model's tables are its own: those of another one have other widths, or another number.
func TestReadRefusesTablesOfAnotherModel(t *testing.T) {
	for k, want := range []string{
		"models/sgc.safetensors", "models/gcn.safetensors", "models/sage.safetensors", "models/appnp.safetensors",
		"models/cheby.safetensors",
	} {
		b := artifacttest.Several(2, artifacttest.Size{})
		other := 0 // sgc's are nobody else's
		if k == 0 {
			other = 1
		}
		b.Models[k].Tables = b.Models[other].Tables
		wantError(t, b.Seal(), want, "tables.")
	}
}

// joint3 is a bundle whose second model has no frozen form.
func joint3(attachment string) *artifact.Bundle {
	b := artifacttest.Bundle(3, artifacttest.Size{})
	m := artifacttest.Cheby(rand.New(rand.NewPCG(3, 3)), artifacttest.Size{}, 3)
	b.Models = append(b.Models, artifact.Model{Name: m.Name(), Params: m.Params()})
	info := b.Manifest.Models[0]
	info.Name, info.Attachment, info.Propagation = m.Name(), attachment, nil
	b.Manifest.Models = append(b.Manifest.Models, info)
	return b
}

func TestModelWithoutFrozenForm(t *testing.T) {
	b := joint3(artifact.AttachJoint)
	got, err := artifact.Read(mustWrite(t, b))
	expect.OK(t, err)
	if diff := cmp.Diff(b, got); diff != "" {
		t.Errorf("read differs from written (-written +read):\n%s", diff)
	}

	err = artifact.Write(filepath.Join(t.TempDir(), "a"), joint3(artifact.AttachFrozen))
	wantError(t, err, "models/cheby.safetensors", "attachment is frozen", "cheby with K = 3 has no frozen form")

	b = joint3(artifact.AttachJoint)
	b.Models[1].Tables = b.Models[0].Tables
	err = artifact.Write(filepath.Join(t.TempDir(), "a"), b)
	wantError(t, err, "models/cheby.safetensors", "2 frozen tables", "cheby with K = 3 has no frozen form")
}

// Methods that choose nodes of T deploy jointly: M has one entry in some rows and none in the others, and there are
// no tables.
func TestJointWithoutTables(t *testing.T) {
	b := artifacttest.Several(4, artifacttest.Size{})
	for k := range b.Models {
		b.Models[k].Tables, b.Models[k].Propagations = nil, nil
		b.Manifest.Models[k].Attachment = artifact.AttachJoint // the SGC's propagation stays: jointly it needs no tables
	}
	m := &graph.CSR{Rows: 20, Cols: 6, RowPtr: make([]int, 21)}
	for i := range m.Rows {
		if i%3 == 0 {
			m.ColIdx, m.Val = append(m.ColIdx, int32(i/3)%6), append(m.Val, 1)
		}
		m.RowPtr[i+1] = len(m.ColIdx)
	}
	b.Mapping.Rows = m
	b.Manifest.Method, b.Manifest.Mapping.Entries, b.Manifest.Mapping.MaxPerRow = "herding", m.NNZ(), 1
	got, err := artifact.Read(mustWrite(t, b))
	expect.OK(t, err)
	if diff := cmp.Diff(b, got); diff != "" {
		t.Errorf("read differs from written (-written +read):\n%s", diff)
	}
}
