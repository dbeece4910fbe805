package dataset

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSaveRoundTrip(t *testing.T) {
	small, _ := Preset("small")
	dense := small
	dense.Kind, dense.Words, dense.Features = Dense, 0, 12
	for name, d := range map[string]*Dataset{
		"path":  pathSet(), // has unlabelled nodes, nodes without role and values other than 1
		"small": generate(t, small, 1),
		"dense": generate(t, dense, 1),
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "new", name)
			if err := d.Save(dir); err != nil {
				t.Fatal(err)
			}
			back, err := Load(dir)
			if err != nil {
				t.Fatal(err)
			}
			d.Name = name
			if diff := cmp.Diff(d, back); diff != "" {
				t.Errorf("(-saved +loaded):\n%s", diff)
			}
			if d.Fingerprint() != back.Fingerprint() {
				t.Error("the fingerprint changed on the way")
			}
			files, err := os.ReadDir(dir)
			if err != nil || len(files) != 4 {
				t.Errorf("%d files, want 4 and no temporary ones: %v %v", len(files), files, err)
			}
			if err := d.Save(dir); !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), adjFile) {
				t.Errorf("saving over a data set: error %v, want one that it exists", err)
			}
		})
	}
}

func TestSaveRefusesWhatItWouldLose(t *testing.T) {
	d := pathSet()
	d.BagOfWords = false
	dir := filepath.Join(t.TempDir(), "new")
	if err := d.Save(dir); err == nil || !strings.Contains(err.Error(), "bag of words (false) and sparse (true)") {
		t.Errorf("error %v, want one about sparse features that are no bag of words", err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("a refused data set left a directory behind")
	}
	for want, change := range map[string]func(*Dataset){
		`node_ids.json: [1] is "\xff"`:            func(d *Dataset) { d.IDs[1] = "\xff" },
		`class_names.json: [1] is "a", as is [0]`: func(d *Dataset) { d.Classes = []string{"a", "a"} },
	} {
		d := pathSet()
		change(d)
		if err := d.Save(filepath.Join(t.TempDir(), "new")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one about %q", err, want)
		}
	}
}

// Ids and names of classes survive if they are not the indices.
func TestSaveKeepsNames(t *testing.T) {
	d := pathSet()
	d.IDs = []string{"a", "0", "é <&> \"x\"", "3", " ", "b\n"}
	d.Classes = []string{"cats", "1"}
	dir := filepath.Join(t.TempDir(), "path")
	if err := d.Save(dir); err != nil {
		t.Fatal(err)
	}
	back, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(d, back); diff != "" {
		t.Errorf("(-saved +loaded):\n%s", diff)
	}
}

func TestLoadNamesRefuses(t *testing.T) {
	for text, want := range map[string]string{
		`["a","b"]`:                          "node_ids.json: 2 names, want 6",
		`["a","b","c","d","e","f","g"]`:      "node_ids.json: more than 6 names",
		`["a","b","c","d","e","a"]`:          `node_ids.json: [5] is "a", as is [0]`,
		`["a","b","c","d","e",""]`:           `node_ids.json: [5] is "", want a name`,
		`["a","b","c","d","e",7]`:            "node_ids.json: [5] is 7, want a string",
		`["a","b","c","d","e",["f"]]`:        "node_ids.json: [5] is [, want a string",
		`{"a":1}`:                            "node_ids.json: found { where",
		`["a","b"`:                           "node_ids.json: the JSON text ends too early",
		`["a","b","c","d","e","f"] ["more"]`: "node_ids.json: content behind",
	} {
		files := pathFiles()
		files["node_ids.json"] = []byte(text)
		if _, err := Load(writeFiles(t, files)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
}

func TestWriteFileLeavesNoHalfFile(t *testing.T) {
	dir := t.TempDir()
	err := writeFile(dir, adjFile, func(w io.Writer) error {
		if _, err := w.Write(make([]byte, 1<<20)); err != nil {
			return err
		}
		return errors.New("disk full")
	})
	if err == nil || err.Error() != adjFile+": disk full" {
		t.Errorf("error %v", err)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 0 {
		t.Errorf("left behind: %v %v", files, err)
	}
}
