package planetoid

import (
	"os"
	"testing"

	"rivulet/dataset/pickle"
	"rivulet/test/expect"
)

// Lists that are mentioned again and again cannot make a graph larger than its file.
func TestSharedLists(t *testing.T) {
	p := &Set{Nodes: 10}
	shared := &pickle.List{}
	for i := range 10 {
		shared.Items = append(shared.Items, int64(i))
	}
	lists := &pickle.Dict{}
	for i := range 10 {
		lists.Keys, lists.Values = append(lists.Keys, int64(i)), append(lists.Values, shared)
	}
	expect.Error(t, p.readGraph(lists, 50), "share their lists")
}

// FuzzPickledCSR: any pickle gives a valid matrix or an error; package pickle fuzzes the steps before.
func FuzzPickledCSR(f *testing.F) {
	for _, file := range []string{"protocol0.allx", "protocol1.tx", "protocol2.x", "bigendian.tx", "python3.x"} {
		content, err := os.ReadFile("../testdata/planetoid/ind." + file)
		expect.OK(f, err)
		f.Add(content)
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		v, err := pickle.Load(content)
		o, ok := v.(*pickle.Object)
		if err != nil || !ok {
			return
		}
		m, err := pickledCSR(o)
		if err != nil {
			return
		}
		expect.OK(t, m.Validate())
	})
}
