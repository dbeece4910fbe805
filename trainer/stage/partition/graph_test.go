package partition_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"

	"rivulet/test/expect"
	"rivulet/trainer/stage"
	"rivulet/trainer/stage/local"
	"rivulet/trainer/stage/partition"
)

type silent struct{}

func (silent) Step(string, int, int) {}

// source gives one payload after the other.
func source(name string, payloads ...[]byte) stage.Source {
	return stage.Source{Identity: name, Rows: iter.Seq2[[]byte, error](func(yield func([]byte, error) bool) {
		for _, p := range payloads {
			if !yield(p, nil) {
				return
			}
		}
	})}
}

func nodeRows(ids ...string) [][]byte {
	var out [][]byte
	roles := []partition.Role{partition.Train, partition.Unlabelled, partition.Train, partition.Validation, partition.Test}
	for k, id := range ids {
		out = append(out, partition.AppendNode(nil, partition.Node{Row: int64(k + 1), ID: id, Label: "A",
			Role: roles[k%len(roles)], Dense: []float32{float32(k), -2}}))
	}
	return out
}

func edgeRows(pairs ...string) [][]byte {
	var out [][]byte
	for k, p := range pairs {
		a, b, _ := strings.Cut(p, "-")
		out = append(out, partition.AppendEdge(nil, partition.Edge{Row: int64(k + 1), Source: a, Target: b}))
	}
	return out
}

// engines are one in memory and one on disk.
func engines(t *testing.T) map[string]stage.Engine {
	disk, err := local.Open(partition.Functions, t.TempDir(), 1<<20, silent{})
	expect.OK(t, err)
	t.Cleanup(func() { _ = disk.Close() })
	return map[string]stage.Engine{"memory": local.NewMemory(partition.Functions, silent{}), "disk": disk}
}

// Self-loops are dropped, repeated edges and both directions are one, isolated nodes stay.
func TestReadCountsEdgesOnce(t *testing.T) {
	for name, e := range engines(t) {
		t.Run(name, func(t *testing.T) {
			g, err := partition.Read(context.Background(), e, source("n", nodeRows("a", "b", "c", "d", "e", "f")...),
				source("e", edgeRows("a-b", "b-a", "a-b", "a-a", "b-c", "c-d", "d-e")...), partition.BlockOptions{Blocks: 4})
			expect.OK(t, err)
			if g.Entries != 4 || g.HighestDegree != 2 || g.Loops != 1 || g.Nodes != 4 {
				t.Errorf("%d entries, degree %d, %d loops, %d nodes", g.Entries, g.HighestDegree, g.Loops, g.Nodes)
			}
		})
	}
}

// Edges to and from ids that no node has are dropped and counted where that is asked for, whichever end it is.
func TestReadDropsUnknownEnds(t *testing.T) {
	for name, e := range engines(t) {
		nodes, edges := source("n", nodeRows("a", "b", "c", "d", "e", "f")...),
			source("e", edgeRows("a-b", "a-nowhere", "nowhere-b", "x-y", "b-c", "a-a")...)
		g, err := partition.Read(t.Context(), e, nodes, edges, partition.BlockOptions{Blocks: 4, DropUnknown: true})
		if err != nil || g.Entries != 4 || g.Unknown != 3 || g.Loops != 1 {
			t.Errorf("%s: %+v, %v", name, g, err)
		}
		if _, err := partition.Read(t.Context(), e, nodes, edges, partition.BlockOptions{Blocks: 4}); err == nil {
			t.Errorf("%s: unknown ends are taken where nothing asks for it", name)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	long := strings.Repeat("x", 3)
	for want, rows := range map[string][2][][]byte{
		`nodes row 4: "17" is already the id of row 2`:              {nodeRows("a", "17", "b", "17"), nil},
		`nodes row 2: the id is empty`:                              {nodeRows("a", ""), nil},
		`edges row 2: its target "nowhere" is not the id of a node`: {nodeRows("a", "b"), edgeRows("a-b", "a-nowhere")},
		`edges row 1: its source "xxx" is not the id of a node`:     {nodeRows("a", "b"), edgeRows(long + "-b")},
		`edges row 1: an end is empty or null`:                      {nodeRows("a", "b"), edgeRows("a-")},
		`nodes row 1: the label of node "a" is empty or null, but`: {{partition.AppendNode(nil,
			partition.Node{Row: 1, ID: "a", Role: partition.Train, Dense: []float32{1}})}, nil},
		`nodes row 1: the node has no features`: {{partition.AppendNode(nil,
			partition.Node{Row: 1, ID: "a", Label: "A", Role: partition.Train, Dense: []float32{}})}, nil},
		`a record's payload is cut or has bytes too many`: {{nodeRows("a")[0][:5]}, nil},
	} {
		for name, e := range engines(t) {
			_, err := partition.Read(context.Background(), e, source(fmt.Sprint("n", want), rows[0]...),
				source("e"+want, rows[1]...), partition.BlockOptions{Blocks: 2})
			expect.Error(t, err, want, "%s", name)
		}
	}
}
