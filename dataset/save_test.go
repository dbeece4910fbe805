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
	for want, change := range map[string]func(*Dataset){
		`id of node 1 is "paper"`:   func(d *Dataset) { d.IDs[1] = "paper" },
		`name of class 1 is "cats"`: func(d *Dataset) { d.Classes[1] = "cats" },
	} {
		d := pathSet()
		change(d)
		dir := filepath.Join(t.TempDir(), "new")
		if err := d.Save(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one about %q", err, want)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Error("a refused data set left a directory behind")
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
