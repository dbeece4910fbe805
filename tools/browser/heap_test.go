package browser

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// TestHeapsStay watches the heap of a page of its own, and that of the browser that shows it, at 500 arrivals a second:
// after forced collections, in the second third of the time as in the last, within 5%. What is allocated while a
// collection runs is counted as if it lived on, which is more where the machine has other work, so the least of each
// third is shown beside the mean.
func TestHeapsStay(t *testing.T) {
	minutes, err := strconv.Atoi(os.Getenv("RIVULET_TEST_MINUTES"))
	if err != nil || minutes < 1 {
		t.Skip("RIVULET_TEST_MINUTES says no number of minutes")
	}
	d := startDemo(t, "--rate", "500")
	p := startPage(t, d)
	ctx := open(t, p.url+"?view=stream&minutes=15", desktop)
	third := time.Duration(minutes) * time.Minute / 3
	var browser, page [3][]float64
	for begin := time.Now(); time.Since(begin) < 3*third; time.Sleep(10 * time.Second) {
		k := min(2, int(time.Since(begin)/third))
		run(t, ctx, chromedp.ActionFunc(func(ctx context.Context) error {
			if err := heapprofiler.CollectGarbage().Do(ctx); err != nil {
				return err
			}
			used, _, _, _, err := runtime.GetHeapUsage().Do(ctx)
			browser[k] = append(browser[k], used)
			return err
		}))
		page[k] = append(page[k], p.live(t))
	}
	for name, heap := range map[string][3][]float64{"browser": browser, "page": page} {
		for k, of := range heap {
			t.Logf("%s, third %d of %d minutes: %.2f MiB at least, %.2f in the mean", name, k+1, minutes, slices.Min(of)/(1<<20),
				mean(of)/(1<<20))
		}
		second, last := mean(heap[1]), mean(heap[2])
		if r := last / second; !(r > 0.95 && r < 1.05) {
			t.Errorf("%s: the last third has %.3f of the second third's heap", name, r)
		}
	}
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// page is a `rivulet page` that was built with the tag heap: it collects garbage when it is asked to.
type page struct {
	url     string
	process *os.Process
	heaps   chan float64 // bytes that live on, one for each collection
}

// startPage starts a page for the services of a demo, which its standard error names.
func startPage(t *testing.T, d *demo) *page {
	t.Helper()
	cmd := exec.Command(program(t, "rivulet"), "page", "--page.listen=127.0.0.1:0", "--kafka.brokers="+d.kafka,
		"--redis.url="+d.redis, "--log.level=error")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	printed, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &page{process: cmd.Process, heaps: make(chan float64, 1)}
	var read sync.WaitGroup
	read.Go(func() {
		for scan := bufio.NewScanner(printed); scan.Scan(); {
			digits, ok := strings.CutPrefix(scan.Text(), "heap ")
			bytes, err := strconv.ParseFloat(digits, 64)
			if !ok || err != nil {
				t.Errorf("the page says: %s", scan.Text())
				continue
			}
			p.heaps <- bytes
		}
	})
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		read.Wait()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	p.url = strings.TrimSpace(line)
	return p
}

// live has the page collect garbage, and returns the bytes of its heap that live on.
func (p *page) live(t *testing.T) float64 {
	t.Helper()
	if err := p.process.Signal(syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	select {
	case bytes := <-p.heaps:
		return bytes
	case <-time.After(20 * time.Second):
		t.Fatal("the page does not say what is in its heap: was it built with -tags heap?")
	}
	return 0
}
