package browser

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// program returns the path of one of Rivulet's programs.
func program(t *testing.T, name string) string {
	t.Helper()
	dir := os.Getenv("RIVULET_TEST_BIN")
	if dir == "" {
		t.Skip("RIVULET_TEST_BIN is not set: make browser sets it")
	}
	path, err := filepath.Abs(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var address = regexp.MustCompile(`the live page: (http://\S+/) \(Kafka (\S+), Redis (\S+)\)`)

// demo is a running `demo --page`.
type demo struct {
	url, kafka, redis string
}

// startDemo starts a demo and waits until its page can be opened and the first stream is over.
func startDemo(t *testing.T, args ...string) *demo {
	t.Helper()
	args = append([]string{"--page"}, args...)
	if data := os.Getenv("RIVULET_TEST_DATA"); data != "" {
		args = append(args, "--data", data)
	}
	cmd := exec.Command(program(t, "demo"), args...)
	out, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	d := &demo{}
	var lines []string
	found := make(chan []string, 1)
	var read sync.WaitGroup
	read.Go(func() {
		for scan := bufio.NewScanner(out); scan.Scan(); {
			lines = append(lines, scan.Text())
			if m := address.FindStringSubmatch(scan.Text()); m != nil {
				found <- m[1:]
			}
		}
	})
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGINT)
		done := make(chan error, 1)
		read.Wait()
		go func() { done <- cmd.Wait() }()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("the demo ended with %v:\n%s", err, strings.Join(lines, "\n"))
			}
		case <-time.After(30 * time.Second):
			_ = cmd.Process.Kill()
			t.Error("the demo does not end on SIGINT")
		}
	})
	select {
	case m := <-found:
		d.url, d.kafka, d.redis = m[0], m[1], m[2]
	case <-time.After(3 * time.Minute):
		_ = cmd.Process.Kill()
		t.Fatal("the demo printed no address")
	}
	await(t, "predictions on the page", func() bool {
		var s struct{ Totals [3]int64 }
		d.get(t, "api/stream?after=9999999999", &s)
		return s.Totals[1] > 0
	})
	return d
}

// get asks the page's server.
func (d *demo) get(t *testing.T, path string, v any) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, d.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(v); err != nil {
		t.Fatal(err)
	}
}

// await waits until something is so.
func await(t *testing.T, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if so() {
			return
		}
	}
	t.Fatalf("not in a minute: %s", what)
}

// look describes how a person's screen is.
type look struct {
	width, height int64
	dark, still   bool
}

var desktop = look{width: 1280, height: 900}

// open opens a browser at an address. What the page writes to the console as an error, and what it throws, fails the
// test.
func open(t *testing.T, at string, l look) context.Context {
	t.Helper()
	path := os.Getenv("RIVULET_TEST_CHROMIUM")
	if path == "" {
		path = "chromium"
	}
	if _, err := exec.LookPath(path); err != nil {
		t.Fatalf("%v: RIVULET_TEST_CHROMIUM names the browser", err)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox,
		chromedp.DisableGPU,
		chromedp.Flag("hide-scrollbars", true), chromedp.Flag("enable-precise-memory-info", true))
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(stop)
	ctx, cancel := chromedp.NewContext(allocator)
	t.Cleanup(cancel)
	chromedp.ListenTarget(ctx, func(e any) {
		switch e := e.(type) {
		case *runtime.EventExceptionThrown:
			t.Errorf("the page threw %v", e.ExceptionDetails)
		case *log.EventEntryAdded:
			if e.Entry.Level == log.LevelError && !expected(e.Entry.URL) {
				t.Errorf("the browser says: %s (%s)", e.Entry.Text, e.Entry.URL)
			}
		}
	})
	if err := chromedp.Run(ctx); err != nil { // the browser lives as long as the context of the first call
		t.Fatal(err)
	}
	run(t, ctx, l.set(), chromedp.Navigate(at), chromedp.WaitVisible("h1, h2", chromedp.ByQuery))
	return ctx
}

// expected reports whether requests to an address may fail: answers to what cannot be predicted, and the icon of the
// site, which the page does not have; and Grafana's font, which its server has.
func expected(url string) bool {
	return strings.Contains(url, "/api/try") || strings.Contains(url, "/api/arrival") ||
		strings.HasSuffix(url, "/favicon.ico") || strings.Contains(url, "/fonts/inter/")
}

func (l look) set() chromedp.Action {
	scheme, motion := "light", "no-preference"
	if l.dark {
		scheme = "dark"
	}
	if l.still {
		motion = "reduce"
	}
	return chromedp.Tasks{
		chromedp.EmulateViewport(l.width, l.height),
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: motion}}),
	}
}

// run does something in the browser, within a minute.
func run(t *testing.T, ctx context.Context, actions ...chromedp.Action) {
	t.Helper()
	limited, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := chromedp.Run(limited, actions...); err != nil {
		t.Fatal(err)
	}
}

// eval evaluates an expression in the page.
func eval[V any](t *testing.T, ctx context.Context, expression string) (v V) {
	t.Helper()
	run(t, ctx, chromedp.Evaluate(expression, &v, func(p *runtime.EvaluateParams) *runtime.EvaluateParams {
		return p.WithAwaitPromise(true)
	}))
	return v
}

// awaitText waits until an element's text has a part, and returns the text.
func awaitText(t *testing.T, ctx context.Context, selector, part string) (all string) {
	t.Helper()
	await(t, fmt.Sprintf("%q in %s", part, selector), func() bool {
		all = eval[string](t, ctx, fmt.Sprintf("document.querySelector(%q)?.textContent ?? ''", selector))
		return all != "" && strings.Contains(all, part)
	})
	return all
}
