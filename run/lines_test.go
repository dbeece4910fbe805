package run

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"rivulet/artifact/artifacttest"
	"rivulet/event"
	"rivulet/event/json"
	"rivulet/infer/attach"
	"rivulet/mapping"
	"rivulet/serving"
	"rivulet/test/expect"
)

func small(t *testing.T) (versions, []string) {
	t.Helper()
	b := artifacttest.Bundle(1, artifacttest.Size{Nodes: 20, Synthetic: 5, Features: 3, Classes: 2})
	expect.OK(t, b.Seal())
	v, _, err := serving.New(b, mapping.FromArtifact(b.Mapping), serving.Options{})
	expect.OK(t, err)
	return versions{serving.Pinned(v)}, b.Mapping.IDs
}

func TestLinesKeepTheirOrderAndNameWhatIsWrong(t *testing.T) {
	from, ids := small(t)
	in := strings.Join([]string{
		`{"id":"a","features":[1,2,3],"edges":["` + ids[0] + `","nobody"]}`,
		``,
		`{"id":"b","features":[1,2]}`,
		`{"id":`,
		`{"id":7,"features":{"indices":[2],"values":[0.5]}}`, // the last line has no end
	}, "\n")
	type rejection struct {
		Line   int64
		Reason string
	}
	var rejections []rejection
	for batch := 1; batch <= 5; batch++ {
		rejections = nil
		var out bytes.Buffer
		predicted, rejected, err := PredictLines(t.Context(), from, strings.NewReader(in), &out,
			LineOptions{Mode: attach.Node,
				Batch: batch, Rejected: func(line int64, d *event.DeadLetter) {
					rejections = append(rejections, rejection{line, d.Reason})
				}})
		if err != nil || predicted != 2 || rejected != 2 {
			t.Fatalf("batch %d: %d predicted, %d rejected, %v", batch, predicted, rejected, err)
		}
		want := []rejection{{3, event.ReasonFeatureLength}, {4, event.ReasonUnparsable}}
		expect.Same(t, want, rejections, "batch %d: rejected", batch)
		var got []string
		for line := range bytes.Lines(out.Bytes()) {
			var p event.Prediction
			expect.OK(t, (json.Codec{}).DecodePrediction(line, &p))
			got = append(got, p.ID)
			if p.ID == "a" && (p.Known != 1 || p.Unknown != 1) {
				t.Errorf("a has %d known and %d unknown neighbours, want 1 and 1", p.Known, p.Unknown)
			}
		}
		expect.Same(t, []string{"a", "7"}, got, "batch %d: predicted", batch)
	}
}

// endless is a text without an end of line.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// A line that never ends is an error that names it and the limit; the lines before it are answered.
func TestALineWithoutAnEnd(t *testing.T) {
	from, _ := small(t)
	var out bytes.Buffer
	in := io.MultiReader(strings.NewReader(`{"id":"a","features":[1,2,3]}`+"\n\n"), endless{})
	predicted, rejected, err := PredictLines(t.Context(), from, in, &out, LineOptions{Mode: attach.Node, Batch: 100})
	expect.Error(t, err, "line 3 has more than 67108864 bytes: want an arrival a line")
	if predicted != 1 || rejected != 0 || !strings.Contains(out.String(), `"id":"a"`) {
		t.Errorf("%d predicted, %d rejected: %s", predicted, rejected, out.String())
	}
	// A line of exactly the limit is read, and is a record that is too large.
	in = io.MultiReader(io.LimitReader(endless{}, maxLine-1), strings.NewReader("\n"))
	_, rejected, err = PredictLines(t.Context(), from, in, &out, LineOptions{Mode: attach.Node, Batch: 1,
		Limits: event.Limits{RecordBytes: 1 << 20}})
	expect.OK(t, err)
	expect.Same(t, 1, rejected, "rejected")
}

func TestLinesStopWithTheContext(t *testing.T) {
	from, _ := small(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	in := `{"id":"a","features":[1,2,3]}` + "\n" + `{"id":"b","features":[1,2,3]}`
	_, _, err := PredictLines(ctx, from, strings.NewReader(in), &bytes.Buffer{},
		LineOptions{Mode: attach.Node, Batch: 1})
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("error is %v, want a cancelled context and line 1", err)
	}
}

// Ctrl-C ends it also while nothing comes, and what was predicted until then is written.
func TestLinesEndWithTheirContext(t *testing.T) {
	from, _ := small(t)
	in, hold := io.Pipe()
	defer func() { _ = hold.Close() }()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		_, _ = io.WriteString(hold, `{"id":"a","features":[1,2,3]}`+"\n"+`{"id":"b","features":[1,2]}`+"\n")
	}()
	var out bytes.Buffer
	_, _, err := PredictLines(ctx, from, in, &out,
		LineOptions{Mode: attach.Node, Batch: 1, Rejected: func(int64, *event.DeadLetter) { cancel() }})
	if !errors.Is(err, context.Canceled) || strings.Count(out.String(), "\n") != 1 {
		t.Errorf("%v with %q, want one prediction", err, out.String())
	}
}
