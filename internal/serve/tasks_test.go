package serve

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"rivulet/artifact"
	"rivulet/artifact/artifacttest"
	"rivulet/mapping"
	"rivulet/serving"
	"rivulet/test/expect"
)

// notExplained checks that an explanation is refused, and why.
func (a *api) notExplained(body, why string) {
	a.t.Helper()
	if got := a.post(explainPath, body); got.status != http.StatusNotFound || !strings.Contains(string(got.body), why) {
		a.t.Errorf("%d %s", got.status, got.body)
	}
}

// Of an artifact of labels records get the labels. Explanations refuse it.
func TestLabelsAreServedAsRecords(t *testing.T) {
	a := start(t, nil)
	b := artifacttest.Labels(bundle(t, 1))
	expect.OK(t, b.Seal())
	v := versionOf(t, b, serving.Options{})
	a.version.now.Store(v)
	one := `{"id":"a","features":[1,2,3],"edges":["node-0-é"]}`
	p := predictionOf(t, a.post(predictPath, one).body)
	if p.ClassName != "" || p.Probability < 0.5 || p.Probability > 1 || len(p.Labels) > 2 || p.Numbers != nil {
		t.Errorf("predicted %+v", p)
	}
	a.notExplained(one, "the task is labels")
}

// Of an artifact of numbers records get the numbers. Explanations refuse it.
func TestNumbersAreServedAsRecords(t *testing.T) {
	a := start(t, nil)
	b := artifacttest.Numbers(bundle(t, 1))
	expect.OK(t, b.Seal())
	a.version.now.Store(versionOf(t, b, serving.Options{}))
	one := `{"id":"a","features":[1,2,3],"edges":["node-0-é"]}`
	p := predictionOf(t, a.post(predictPath, one).body)
	if len(p.Numbers) != 2 || p.Numbers[1].Name != "class 1" || p.Numbers[1].Upper-p.Numbers[1].Lower != 4 ||
		p.Probability != 0 {
		t.Errorf("predicted %+v", p)
	}
	a.notExplained(one, "the task is number")
}

// An artifact of links is answered as a record with candidates, without the arrival's neighbours.
func TestLinksAreServedAsRecords(t *testing.T) {
	a := start(t, nil)
	b := artifacttest.Links(bundle(t, 1))
	expect.OK(t, b.Seal())
	a.version.now.Store(versionOf(t, b, serving.Options{}))
	one := fmt.Sprintf(`{"id":"a","features":[1,2,3],"edges":[%q]}`, b.Candidates.IDs[0])
	p := predictionOf(t, a.post(predictPath, one).body)
	if len(p.Links) != 1 || p.Links[0].ID != b.Candidates.IDs[1] || p.Class != 0 || p.Probability != 0 || p.Top != nil {
		t.Errorf("predicted %+v", p)
	}
	_, _, err := serving.New(b, mapping.FromBundle(b), serving.Options{Attachment: artifact.AttachJoint})
	expect.Error(t, err, "the task is links, and attachment joint is for classes and labels and number only", "joint attachment")
	a.notExplained(one, "the task is links")
}
