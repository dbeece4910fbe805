package mapping

import (
	"os"
	"path/filepath"
	"testing"

	"rivulet/test/expect"
)

// Rows come back from the file that they were put to, in their order, and nothing is left on the disk.
func TestRowFiles(t *testing.T) {
	type row struct {
		Bucket int
		ID     string
		Row    string
	}
	dir := filepath.Join(t.TempDir(), "rows")
	expect.OK(t, os.Mkdir(dir, 0o700))
	f := newRowFiles(dir, 3)
	want := [3][]row{0: {{0, "a", "x"}, {70000, "", ""}, {1, "a", "a long one \x00\xff"}}, 2: {{5, "b", "y"}}}
	for k := range want {
		for _, r := range want[k] {
			expect.OK(t, f.put(k, r.Bucket, r.ID, []byte(r.Row)))
		}
	}
	expect.OK(t, f.flush())
	var got [3][]row
	for k := range got {
		expect.OK(t, f.each(k, func(bucket int, id string, r []byte) { got[k] = append(got[k], row{bucket, id, string(r)}) }))
	}
	expect.Same(t, want, got, "rows")
	expect.OK(t, f.files[2].Truncate(3)) // within the row
	if err := f.each(2, func(int, string, []byte) {}); err == nil {
		t.Error("a shortened file is no error")
	}
	expect.OK(t, f.close())
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the directory is left: %v", err)
	}
	if err := newRowFiles(filepath.Join(dir, "away"), 1).put(0, 0, "a", nil); err == nil {
		t.Error("files in a directory that is not there are no error")
	}
}
