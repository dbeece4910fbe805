package window

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"rivulet/kafka"
	"rivulet/test/expect"
)

func TestNewestTimeOfAStream(t *testing.T) {
	const reach = 10
	repeat := func(stamp int64, n int) (stamps []int64) {
		for range n {
			stamps = append(stamps, stamp)
		}
		return stamps
	}
	join := func(all ...[]int64) (stamps []int64) {
		for _, some := range all {
			stamps = append(stamps, some...)
		}
		return stamps
	}
	for name, c := range map[string]struct {
		stamps []int64
		want   int64
	}{
		"the greatest":                         {[]int64{100, 105, 103}, 105},
		"one that is far ahead moves it not":   {[]int64{100, 5000}, 100},
		"several, each apart from the others":  {[]int64{100, 5000, 101, 4000, 102, 3000, 103}, 103},
		"two in a row are a gap":               {[]int64{100, 5000, 5001}, 5000},
		"so are a slow stream's records":       {[]int64{100, 1000, 2000, 3000}, 2000},
		"an arrival and its edges far ahead":   {join(repeat(100, 50), repeat(5000, 11), repeat(101, 1)), 101},
		"a gap of a long stream":               {join(repeat(100, 500), repeat(5000, 32)), 5000},
		"a burst far ahead":                    {join(repeat(100, 50), repeat(5000, 20), repeat(101, 20)), 101},
		"a short burst ends no long stream":    {join(repeat(100, 50), repeat(5, 49)), 100},
		"the first one is ahead":               {[]int64{5000, 100, 101}, 101},
		"the first one is old":                 {[]int64{5, 5000, 5001}, 5000},
		"timestamps that are none":             {[]int64{0, -1, 100, -1, 0}, 100},
		"none between two that are far ahead":  {[]int64{100, 5000, 0, 5001}, 5000},
		"old ones change nothing":              {[]int64{100, 101, 102, 5, 6, 103}, 103},
		"old and far ahead ones are no stream": {[]int64{100, 101, 102, 5, 5000, 6, 6000, 103}, 103},
	} {
		var line timeline
		for _, stamp := range c.stamps {
			line.take(stamp, reach)
			if again := parseTimeline(line.String()); again != line {
				t.Errorf("%s: %v is read as %v", name, line, again)
			}
		}
		if line.newest != c.want {
			t.Errorf("%s: %v, want %d", name, line, c.want)
		}
	}
	for _, text := range []string{"", "1", "1,2,3", "1,2,3,4,5", "a,b,c,d", "0,1,0,0", "1,0,0,0", "1,100000,0,0", "1,1,0,0 x"} {
		if got := parseTimeline(text); got != (timeline{}) {
			t.Errorf("%q is read as %v", text, got)
		}
	}
}

// A tenth of a second lies between two records of the stream, and one in twenty has a wrong timestamp. Each arrival has
// all its edges, and none holds those behind it for longer than two waits.
func TestWrongTimestampsHoldNobody(t *testing.T) {
	wrong := map[string]func(r *rand.Rand) time.Duration{
		"50 minutes ahead":   func(*rand.Rand) time.Duration { return 50 * time.Minute },
		"anything ahead":     func(r *rand.Rand) time.Duration { return time.Duration(10+r.IntN(3600)) * time.Second },
		"an hour ago":        func(*rand.Rand) time.Duration { return -time.Hour },
		"0":                  func(*rand.Rand) time.Duration { return -begin.Sub(time.UnixMilli(0)) },
		"-1":                 func(*rand.Rand) time.Duration { return -begin.Sub(time.UnixMilli(-1)) },
		"years ahead":        func(*rand.Rand) time.Duration { return 1e6 * time.Hour },
		"of another century": func(*rand.Rand) time.Duration { return -40 * 365 * 24 * time.Hour },
	}
	for name, stamp := range wrong {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(5, 6))
			w, waiting, most := New(options(), Progress{}), map[int64]int{}, 0
			whole := 0
			for i := range 2000 {
				at := time.Duration(i) * 100 * time.Millisecond
				when, mistaken := at, r.IntN(20) == 0
				if mistaken {
					if when = stamp(r); when > -10*365*24*time.Hour && when < 0 || when > 0 {
						when += at
					}
				}
				var record kafka.Record
				if i%2 == 0 {
					record = arriving(fmt.Sprint("n", i), i%4, when) // every other one says no number
				} else {
					record = link(fmt.Sprint("n", i-1), "x", when)
				}
				record.Position = kafka.Position{Topic: "t", Offset: int64(i)}
				w.Add(&record)
				if i%2 == 0 {
					waiting[int64(i)] = i
				}
				for out, some := w.Take(); some; out, some = w.Take() {
					for _, a := range out.Records {
						most = max(most, i-waiting[a.Position.Offset])
						delete(waiting, a.Position.Offset)
						if len(out.Joined[a.Position]) == 1 {
							whole++
						}
					}
				}
			}
			if most > 25 || len(waiting) > 25 {
				t.Errorf("an arrival was held for %d records, and %d wait at the end", most, len(waiting))
			}
			if whole < 900 {
				t.Errorf("%d of 1000 arrivals have their edge", whole)
			}
		})
	}
}

// An arrival that has been the first in line for longer than the wait is overdue, but not after an outage.
func TestOverdueArrivals(t *testing.T) {
	o := options()
	r := NewReader(o, nil, nil)
	r.window = New(o, Progress{})
	records := log(arriving("a", 2, 0), arriving("b", 2, 0))
	for i := range records {
		r.window.Add(&records[i])
	}
	now := begin
	if s := r.Stats(now); s.Held != 0 || s.Overdue != 0 || s.First.Offset != 10 {
		t.Errorf("%+v", s)
	}
	now = now.Add(time.Minute)
	if s := r.Stats(now); s.Held != time.Minute || s.Overdue != time.Minute-o.Wait-5*time.Second || r.Waiting(3) != 5 {
		t.Errorf("%+v, %d wait", s, r.Waiting(3))
	}
	r.window.forget("a", 12)
	all(r.window)
	if s := r.Stats(now); s.Held != 0 || s.First.Offset != 11 {
		t.Errorf("%+v", s)
	}
	expect.Same(t, int64(0), (*Reader)(nil).Waiting(7), "without a window")
}
