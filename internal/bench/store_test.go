package bench

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"rivulet/config"
	"rivulet/internal/cli"
	"rivulet/test/expect"
	"rivulet/test/harness"
)

// The drawn ranks are below n and come as often as the power law says.
func TestRanked(t *testing.T) {
	const n, draws = 1000, 200_000
	for _, skew := range storeSkews {
		rng, first := rand.New(rand.NewPCG(1, 2)), make([]float64, n)
		for range draws {
			first[int(ranked(rng.Float64(), n, skew))]++
		}
		all, tenth, got := 0.0, 0.0, 0.0
		for r := range n {
			p := math.Pow(float64(r+1), -skew)
			if all += p; r < n/10 {
				tenth += p
				got += first[r] / draws
			}
		}
		if want := tenth / all; math.Abs(got-want) > 0.06 { // the integral is a little steeper than the sum
			t.Errorf("skew %g: the first tenth has a share of %.3f, want %.3f", skew, got, want)
		}
		if skew > 0 && first[0] < 2*first[9] {
			t.Errorf("skew %g: rank 0 came %g times, rank 9 %g", skew, first[0], first[9])
		}
	}
	if got := ranked(math.Nextafter(1, 0), n, 0); got != n-1 {
		t.Errorf("the last rank is %g, want %d", got, n-1)
	}
}

// An M is published, looked up and removed.
func TestStore(t *testing.T) {
	redis := harness.StartRedis(t)
	services := &Services{Redis: config.Default[config.Bench]().Redis}
	services.Redis.URL = config.RedisURL(redis.URL())
	report, err := Run(t.Context(), Options{Only: []string{Store}, StoreRows: []int{3000, 5000}, Time: time.Millisecond,
		Services: func(context.Context) (*Services, error) {
			return services, nil
		}, Progress: &cli.Lines{W: &bytes.Buffer{}}})
	expect.OK(t, err)
	if want := 2 * (1 + len(storeSkews)*len(storeCaches)); len(report.Rows) != want {
		t.Fatalf("%d rows, want %d", len(report.Rows), want)
	}
	hits := map[string]float64{}
	for _, row := range report.Rows {
		if f := row.Figures; strings.HasSuffix(row.Name, "/publish") &&
			!(f["B/row"] > 20 && f["B/row"] < 500 && f["rows/s"] > 0) {
			t.Errorf("%+v", row)
		} else if hits[row.Name] = f["hits"]; f["hits"] < 0 || f["hits"] > 1 {
			t.Errorf("%+v", row)
		}
	}
	if few, many := hits["rows=5000/skew=0/cache=1%"], hits["rows=5000/skew=1.2/cache=10%"]; few >= many || many < 0.5 {
		t.Errorf("a small cache of ids that are asked for alike has %g hits, a larger one of skewed ids %g", few, many)
	}
	keys, err := redis.Do("DBSIZE")
	if err != nil || keys != int64(0) {
		t.Errorf("%v keys are left (%v)", keys, err)
	}
	expect.Error(t, (&Options{Time: 1, StoreRows: []int{10}}).Validate(), "--store-rows has 10")
}
