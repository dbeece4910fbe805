package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

const hostile = `<img src=x onerror="window.broken=1">`

const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; frame-ancestors 'none'"

// answers are those of a server that is not Rivulet's: the page's own files, and data made up for a test.
type answers map[string]any

func (a answers) serve(t *testing.T) string {
	t.Helper()
	mux := http.NewServeMux()
	files := http.FileServer(http.Dir(filepath.Join("..", "..", "internal", "page", "static")))
	mux.Handle("/", files)
	mux.HandleFunc("/api/", func(w http.ResponseWriter, r *http.Request) {
		v, ok := a[strings.TrimPrefix(r.URL.Path, "/api/")]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			v = map[string]any{"error": map[string]string{"reason": hostile, "detail": hostile}}
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v)
	})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", policy)
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/"
}

type object = map[string]any

// made are answers with a text in the place of every name, of so many classes and synthetic nodes.
func made(name string, classes, nodes int) answers {
	now := time.Now()
	status := object{"troubles": []object{{"what": name, "since": now.UnixMilli(), "error": name}}}
	seconds, ones := []int64{}, []float64{}
	for k := range int64(120) {
		seconds, ones = append(seconds, now.Unix()-120+k), append(ones, 1+math.Sin(float64(k)/9))
	}
	sample := func(k int) object {
		return object{"seq": k, "id": fmt.Sprint(name, k), "class": k % classes, "class_name": fmt.Sprint(name, k%classes),
			"probability": 0.5, "artifact": name,
			"known": 2, "arrived": 0, "in_batch": 0, "unknown": 1, "partition": 0, "offset": k, "time": now.UnixMilli(),
			"latency_ms": 12.5}
	}
	feed, shares := []object{}, []object{}
	for k := 200; k > 0; k-- {
		feed = append(feed, sample(k))
	}
	for c := range min(classes, 12) {
		shares = append(shares, object{"class": c, "name": fmt.Sprint(name, c), "share": 1 / float64(classes),
			"trained": 1 / float64(classes)})
	}
	drift := object{"version": name, "samples": 1200, "confidence": 0.8, "unknown": 0.1, "trained_confidence": 0.82,
		"trained_unknown": 0.1, "distance": 0.05,
		"classes": shares, "rest": object{"class": -1, "share": 0.5, "trained": 0.5}, "others": max(0, classes-12)}
	terms := []object{}
	for k := range 9 {
		x := object{"class": 1 - 0.3*float64(k), "margin": 1 - 0.3*float64(k)}
		terms = append(terms, object{"name": fmt.Sprint(name, k), "id": fmt.Sprint(name, k), "state": "known", "share": x,
			"without": x, "synthetic": []object{{"node": k, "share": x}}})
	}
	rest := object{"terms": 3, "margin": 0.1}
	answer := object{"place": object{"partition": 0, "offset": 1}, "published": sample(1),
		"arrival": object{"id": name, "features": object{"indices": []int{1, 2}}, "edges": []string{name}},
		"id":      name, "artifact": name, "class": 0, "class_name": name, "probability": 0.9, "known": 1, "arrived": 0,
		"unknown": 0, "scores": shares2(shares),
		"other_scores": 0.1, "others": max(0, classes-12), "runner_up_name": name, "logit": object{"class": 2, "margin": 1},
		"shares": true, "bias": object{"margin": 0.1},
		"centring": object{"margin": -0.1}, "features": terms, "other_features": rest, "neighbours": terms,
		"other_neighbours": rest, "propagation_text": name}
	letters := []object{{"reason": name, "detail": name, "field": "features", "key": name, "topic": name, "partition": 0,
		"offset": 1, "time": now.UnixMilli(),
		"value": `{"id":"` + name + `","features":[1,"` + name + `"],"edges":[]}`, "bytes": 90}}
	version := func(v string, current bool) object {
		return object{"version": v, "state": "complete", "current": current, "rows": 100, "synthetic": nodes,
			"file_bytes": 100_000, "published": now.UnixMilli(), "last_served": now.UnixMilli(),
			"last_predicted": now.UnixMilli(), "holders": []string{name},
			"accuracy": object{"version": v, "labels": 10, "right": 9}, "trained": 92.5}
	}
	points, mass, most := []float64{}, []float64{}, []int{}
	for i := range nodes {
		r, phi := math.Sqrt(float64(i)/float64(nodes)), 2.4*float64(i)
		points, mass, most = append(points, r*math.Cos(phi), r*math.Sin(phi)), append(mass, 1+float64(i%9)),
			append(most, i%classes)
	}
	names := []string{}
	for c := range classes {
		names = append(names, fmt.Sprint(name, c))
	}
	return answers{
		"about": object{"topics": object{"arrivals": name}, "group": name, "serves": name, "model": name},
		"stream": object{"now": now.UnixMilli(), "columns": object{"time": seconds, "in": ones, "out": ones, "dead": ones,
			"p50": ones, "p99": ones, "confidence": ones, "samples": ones}, "totals": []int{1, 2, 3},
			"latency": object{"p50": 3, "p99": 9, "samples": 9}, "chance": 4,
			"lag": []object{{"partition": 0, "end": 9, "committed": 3, "lag": 6}}, "lag_known": true, "drift": drift,
			"marks": []object{{"time": now.Unix() - 60, "text": name}}, "feed": feed, "skipped": 5, "unread": 1,
			"last_unread": name, "status": status},
		"arrival": answer, "try": answer,
		"dead": object{"total": 9, "time": seconds, "reasons": []object{{"name": name, "sentence": name, "whose": name, "total": 9,
			"counts": ones}},
			"newest": letters, "status": status},
		"versions": object{"pinned": "", "current": name, "listed": true, "can_activate": true,
			"versions": []object{version(name, true), version(name+"2", false)}, "status": status},
		"map": object{"version": name, "there": true, "nodes": nodes, "xy": points, "mass": mass, "class": most,
			"classes": names, "status": status},
		"map/node": object{"version": name, "node": 0, "mass": 2, "shares": shares, "rest": object{"share": 0},
			"others": 0, "heaviest": []object{{"id": name, "weight": 0.5}},
			"features": []object{{"name": name, "weight": -0.5}}},
		"map/arrivals": object{"lit": []object{}, "status": status},
	}
}

func shares2(shares []object) (out []object) {
	for _, s := range shares {
		out = append(out, object{"class": s["class"], "name": s["name"], "probability": s["share"]})
	}
	return out
}

var views = []string{"?view=stream", "?view=map", "?view=map&node=0", "?view=arrival&partition=0&offset=1",
	"?view=dead", "?view=versions"}

// Whatever ids, class names, reasons, details and versions are, they are shown as text.
func TestNothingBecomesMarkup(t *testing.T) {
	at := made(hostile, 5, 20).serve(t)
	ctx := open(t, at, desktop)
	for _, view := range append(views, "?view=arrival&id=x") {
		run(t, ctx, chromedp.Navigate(at+view), chromedp.WaitVisible("main .card", chromedp.ByQuery))
		awaitText(t, ctx, "body", "onerror")
		run(t, ctx, chromedp.Sleep(300*time.Millisecond))
		if eval[bool](t, ctx, "window.broken === 1 || document.querySelector('img') !== null") {
			t.Errorf("%s: a text became markup", view)
		}
	}
	run(t, ctx, chromedp.Navigate(at+"?view=versions"), chromedp.WaitVisible("table.versions button", chromedp.ByQuery),
		chromedp.Click("table.versions button", chromedp.ByQuery))
	if shown := awaitText(t, ctx, "dialog", "onerror"); strings.Count(shown, hostile) < 2 ||
		eval[bool](t, ctx, "document.querySelector('img') !== null") {
		t.Errorf("the dialog shows %q, want both versions as text", shown)
	}
}

// What is bad has its colour, from the thresholds of the alerts on; tiles and legends show the same figures.
func TestSomebodySeesWhatIsBad(t *testing.T) {
	for want, made := range map[string]answers{"": made("name", 3, 9), "9,000 90.0% 30.0%": made("name", 3, 9)} {
		stream := made["stream"].(object)
		columns, drift := stream["columns"].(object), stream["drift"].(object)
		stream["lag"] = []object{{"partition": 0, "end": 60, "committed": 0, "lag": 60}}
		columns["dead"] = make([]float64, 120)
		if want != "" {
			stream["lag"] = []object{{"partition": 0, "end": 9000, "committed": 0, "lag": 9000}}
			columns["dead"] = columns["in"]
			drift["unknown"], drift["distance"] = 0.9, 0.3
		}
		ctx := open(t, made.serve(t), desktop)
		awaitText(t, ctx, ".facts", "at training")
		bad := eval[string](t, ctx, `[...document.querySelectorAll("main .bad")].map((x) => x.textContent).join(" ")`)
		if want != "" { // the share of dead letters is of the last ten seconds
			_, bad, _ = strings.Cut(bad, " ")
		}
		if bad != want {
			t.Errorf("%q has the colour of what is bad, want %q", bad, want)
		}
		texts := func(of string, n int) string {
			t.Helper()
			return eval[string](t, ctx, fmt.Sprintf(
				`[...document.querySelectorAll(%q)].slice(0, %d).map((x) => parseFloat(x.textContent)).join(" ")`, of, n))
		}
		if tiles, legends := texts(".tile .figure", 5), texts(".columns .legend strong", 5); tiles != legends {
			t.Errorf("the tiles say %s, the legends %s", tiles, legends)
		}
	}
}

// On a phone nothing of a version is cut off, and each figure has its column's name.
func TestSomebodyReadsVersionsOnAPhone(t *testing.T) {
	ctx := open(t, made("name", 3, 9).serve(t)+"?view=versions", look{width: 390, height: 844})
	awaitText(t, ctx, "table.versions", "92.5%")
	if wide := eval[float64](t, ctx, "document.querySelector('.scroll:has(.versions)').scrollWidth"); wide > 390 {
		t.Errorf("the table of versions is %g pixels wide", wide)
	}
	for _, column := range []string{"State", "Published", "Accuracy by labels", "At training", "Held by"} {
		if !eval[bool](t, ctx, fmt.Sprintf(`[...document.querySelectorAll(".versions td")].some((x) =>
			getComputedStyle(x, "::before").content.includes(x.dataset.column) && x.dataset.column === %q)`, column)) {
			t.Errorf("no figure is called %s", column)
		}
	}
}

// A thousand classes and ten thousand synthetic nodes are coped with, on a narrow screen too.
func TestLargeGraphsAreCopedWith(t *testing.T) {
	at := made("a rather long name of something ", 1000, 10_000).serve(t)
	for _, l := range []look{desktop, {width: 390, height: 844, dark: true, still: true}} {
		ctx := open(t, at, l)
		for _, view := range views {
			run(t, ctx, chromedp.Navigate(at+view), chromedp.WaitVisible("main .card", chromedp.ByQuery))
			awaitText(t, ctx, "main", "a rather long name")
			if wide := eval[float64](t, ctx, "document.documentElement.scrollWidth"); wide > float64(l.width) {
				t.Errorf("%s is %g pixels wide, the screen %d", view, wide, l.width)
			}
		}
	}
}

// A server that is lost is said to be, and what was seen stays.
func TestALostServerIsSaid(t *testing.T) {
	a := made("name", 3, 5)
	at := a.serve(t)
	ctx := open(t, at, desktop)
	awaitText(t, ctx, ".feed tbody", "name200")
	run(t, ctx, chromedp.Evaluate("window.fetch = () => Promise.reject(new TypeError('gone'))", nil))
	awaitText(t, ctx, "#status", "the page's own server")
	if left := eval[int](t, ctx, "document.querySelectorAll('.feed tbody tr').length"); left == 0 {
		t.Error("what was seen has gone")
	}
}

// axe-core finds nothing serious in any view, light or dark, wide or narrow.
func TestViewsAreAccessible(t *testing.T) {
	if os.Getenv("RIVULET_TEST_AXE") == "" {
		t.Skip("RIVULET_TEST_AXE names no axe.min.js")
	}
	at := made("name", 14, 60).serve(t)
	for _, l := range []look{desktop, {width: 1280, height: 900, dark: true, still: true}, {width: 390, height: 844}} {
		ctx := open(t, at, l)
		for _, view := range views {
			run(t, ctx, chromedp.Navigate(at+view), chromedp.WaitVisible("main .card", chromedp.ByQuery))
			awaitText(t, ctx, "main", "name")
			if view == "?view=dead" {
				run(t, ctx, chromedp.Click("summary", chromedp.ByQuery))
			}
			accessible(t, ctx, fmt.Sprintf("%s at %d pixels, dark %v", view, l.width, l.dark))
		}
	}
}

// accessible fails for what axe-core calls serious or critical.
func accessible(t *testing.T, ctx context.Context, where string) {
	t.Helper()
	path := os.Getenv("RIVULET_TEST_AXE")
	if path == "" {
		return
	}
	axe, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	run(t, ctx, chromedp.Evaluate(string(axe)+"; undefined", nil))
	found := eval[string](t, ctx, `axe.run().then((r) => r.violations.filter((v) => v.impact === "serious" || `+
		`v.impact === "critical")
		.map((v) => v.id + " (" + v.impact + "): " + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160) + " " + `+
		`n.failureSummary.slice(0, 220)).join("; ")).join("\n"))`)
	if found != "" {
		t.Errorf("%s:\n%s", where, found)
	}
}
