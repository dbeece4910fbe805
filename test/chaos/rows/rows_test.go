package rows

import (
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"rivulet/infer/attach"
	"rivulet/infer/growth"
	"rivulet/mapping/arrivals"
	"rivulet/test/expect"
)

// Rows are found under their version and id, each once, with the first and the last time at which they were there; a
// damaged one is none.
func TestRead(t *testing.T) {
	server := miniredis.RunT(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer func() { _ = client.Close() }()
	ctx := t.Context()
	put := func(id string, col int32) {
		row := growth.ArrivalRow{ID: id, Row: attach.Row{Known: true, Cols: []int32{col}, Vals: []float32{0.5}}}
		record := string(arrivals.AppendArrived(nil, &row)) + "seal"
		expect.OK(t, client.HSet(ctx, "p:v1:3:arrivals:0:17", id, record).Err())
	}
	var r Rows
	read := func() {
		expect.OK(t, r.read(ctx, client, "p"))
	}
	put("a", 1)
	expect.OK(t, client.HSet(ctx, "p:v1:3:arrivals:0:17", "damaged", "x").Err())
	read()
	first := r.Of("v1", "a")
	if len(first) != 1 || first[0].Row.Cols[0] != 1 || !first[0].Row.Arrived || time.Since(first[0].From) > time.Minute {
		t.Fatalf("got %+v", first)
	}
	read()
	put("a", 2)
	read()
	if got := r.Of("v1", "a"); len(got) != 2 || !got[0].To.After(got[0].From) || got[1].Row.Cols[0] != 2 {
		t.Errorf("got %+v", got)
	}
	if got := append(r.Of("v2", "a"), r.Of("v1", "damaged")...); len(got) > 0 {
		t.Errorf("got %+v", got)
	}
}
