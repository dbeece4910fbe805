package browser

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// trained makes a small data set and an artifact of it.
func trained(t *testing.T) (data, artifact string) {
	t.Helper()
	dir := t.TempDir()
	data, artifact = filepath.Join(dir, "data"), filepath.Join(dir, "artifact")
	for _, c := range [][]string{{"rivulet", "generate", "--preset", "small", "--out", data},
		{"trainer", "train", "--data", data, "--out", artifact}} {
		if out, err := exec.Command(program(t, c[0]), c[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(c, " "), err, out)
		}
	}
	return data, artifact
}

// predicted is the answer of rivulet predict for an arrival.
func predicted(t *testing.T, artifact, arrival string) (class int, probability float64) {
	t.Helper()
	cmd := exec.Command(program(t, "rivulet"), "predict", "--artifact", artifact)
	cmd.Stdin = strings.NewReader(arrival + "\n")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var p struct {
		Class       int
		Probability float64
	}
	if err := json.Unmarshal(out, &p); err != nil {
		t.Fatal(err)
	}
	return p.Class, p.Probability
}

// The way of somebody who looks: the numbers of the stream, one of its arrivals, back and forth, and one tried by hand,
// which gets what rivulet predict gives.
func TestSomebodyLooksAtTheStream(t *testing.T) {
	data, artifact := trained(t)
	d := startDemo(t, "--data", data, "--artifact", artifact)
	ctx := open(t, d.url, desktop)
	awaitText(t, ctx, ".tiles .tile:nth-child(2)", "so far")
	await(t, "the tally's number of predictions", func() bool {
		var s struct{ Totals [3]int64 }
		d.get(t, "api/stream?after=9999999999", &s)
		shown := eval[string](t, ctx,
			"document.querySelector('.tiles .tile:nth-child(2) .note').textContent.replace(/\\D/g, '')")
		var n int64
		_, err := fmt.Sscan(shown, &n)
		return err == nil && n >= 1500 && n <= s.Totals[1]+100
	})
	awaitText(t, ctx, ".mix", "%")
	awaitText(t, ctx, ".feed tbody", "known")
	run(t, ctx, chromedp.Click("main .card button[aria-pressed]", chromedp.ByQuery),
		chromedp.Evaluate("document.querySelector('.feed tbody a').focus()", nil))
	id := eval[string](t, ctx, "document.querySelector('.feed tbody a').title")
	run(t, ctx, chromedp.KeyEvent("\r")) // by keyboard
	awaitText(t, ctx, ".big-id", id)
	if at := eval[string](t, ctx, "location.search"); !strings.Contains(at, "view=arrival") {
		t.Errorf("the address is %q", at)
	}
	run(t, ctx, chromedp.NavigateBack())
	awaitText(t, ctx, "nav [aria-current]", "Stream")
	run(t, ctx, chromedp.NavigateForward())
	awaitText(t, ctx, ".big-id", id)

	// Change the arrival: leave the first neighbour out.
	verdict := func() (class string, probability float64) {
		return eval[string](t, ctx, "document.querySelector('#verdict').textContent"),
			eval[float64](t, ctx, "Number(document.querySelector('#probability').dataset.probability)")
	}
	run(t, ctx, chromedp.Click(".terms button.quiet", chromedp.ByQuery))
	awaitText(t, ctx, "main", "changed: the answer")
	arrival := eval[string](t, ctx, "JSON.stringify(JSON.parse(document.querySelector('#raw').value))")
	_, probability := verdict()
	if class, want := predicted(t, artifact, arrival); float32(want) != float32(probability) {
		t.Errorf("after a change the page answers %g, rivulet predict class %d with %g: %s", probability, class, want,
			arrival)
	}
	// Write one by hand.
	own := `{"id": "mine", "features": {"indices": [3, 41, 137]}, "edges": ["64", "nobody"]}`
	run(t, ctx, chromedp.Navigate(d.url+"?view=arrival&try=1"), chromedp.WaitVisible("#raw", chromedp.ByQuery),
		chromedp.Evaluate(fmt.Sprintf("(() => { const raw = document.querySelector('#raw'); raw.value = %q; "+
			"raw.dispatchEvent(new Event('input')); })()", own), nil))
	awaitText(t, ctx, ".big-id", "mine")
	class, want := predicted(t, artifact, own)
	shown, probability := verdict()
	if math.Abs(probability-want) > 1e-7 || !strings.Contains(shown, fmt.Sprint(class)) {
		t.Errorf("the page answers %s with %g, rivulet predict class %d with %g", shown, probability, class, want)
	}
	run(t, ctx, chromedp.Evaluate("(() => { const raw = document.querySelector('#raw'); raw.value = '{\"id\": "+
		"\"mine\", \"features\": [1]}'; raw.dispatchEvent(new Event('input')); })()", nil))
	awaitText(t, ctx, "[role=alert]", "feature length")
	if shots := os.Getenv("RIVULET_TEST_SHOTS"); shots == "" {
		accessible(t, ctx, "one arrival")
	}
}
