package dataset

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rivulet/test/expect"
)

// Weights whose sum at a node overflows, or is so small that its inverse does, are refused with the node's id; each of
// them is a float32 by itself.
func TestDegreesThatOverflow(t *testing.T) {
	for _, c := range []struct {
		weights [2]string
		refused bool
	}{
		{[2]string{"1", "3.4028235e38"}, false}, {[2]string{"3e38", "3e38"}, true}, {[2]string{"2", "1e-40"}, true},
		{[2]string{"1e-30", "1e30"}, false}, {[2]string{"1.8e38", "1.8e38"}, true},
	} {
		dir := t.TempDir()
		expect.OK(t, os.WriteFile(filepath.Join(dir, "nodes.csv"), []byte("id,label,split,x\n"+
			"a,u,train,1\nb,v,train,2\nc,u,val,3\nd,v,test,4\n"), 0o600))
		expect.OK(t, os.WriteFile(filepath.Join(dir, "edges.csv"), []byte("source,target,weight\n"+
			"a,b,"+c.weights[0]+"\na,c,"+c.weights[1]+"\nd,b,1\n"), 0o600))
		_, err := Open(dir, OpenOptions{})
		refused := err != nil && strings.Contains(err.Error(), "the weights of the edges of node") &&
			strings.Contains(err.Error(), "--drop-weights")
		if refused != c.refused || err != nil && !refused {
			t.Errorf("weights %v: error %v", c.weights, err)
		}
		if c.refused {
			var o OpenOptions
			o.Tables.DropWeights = true
			_, err := Open(dir, o)
			expect.OK(t, err)
		}
	}
}
