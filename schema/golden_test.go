package schema

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"rivulet/test/expect"
)

var update = flag.Bool("update", false, "write the kept rows anew")

// kept are rows of a schema of all kinds and rules, by which the Python package's encoding is tested, too.
type kept struct {
	Schema json.RawMessage `json:"schema"`
	Rows   []keptRow       `json:"rows"`
}

type keptRow struct {
	Values map[string]any `json:"values"`
	Row    []float32      `json:"row"`
}

const keptSchema = `{"schema_version":1,"seed":18446744073709551557,"features":[` +
	`{"name":"n","kind":"number","missing":"mean","mean":[0.25]},` +
	`{"name":"n1","kind":"number","missing":"column","mean":[-3.5]},` +
	`{"name":"b","kind":"bool","missing":"zero","mean":[0.5]},` +
	`{"name":"c","kind":"category","missing":"column","categories":["DE","true","0","0.1","100000"]},` +
	`{"name":"w","kind":"text","missing":"column","buckets":13},` +
	`{"name":"t","kind":"time","missing":"mean","mean":[2020.5,6,15,3,12],"parts":["year","month","day","weekday",` +
	`"hour"]},` +
	`{"name":"a","kind":"age","missing":"column","mean":[100],"until":"2026-01-01T00:00:00Z"},` +
	`{"name":"a2","kind":"age","missing":"mean","mean":[7],"until_feature":"t"},` +
	`{"name":"v","kind":"vector","missing":"mean","mean":[0.5,-1]}],"unused":[{"name":"note","reason":"a test"}]}`

// TestKeptRowsStay encodes random values of every kind, as an arrival in JSON would give them.
func TestKeptRowsStay(t *testing.T) {
	s, err := Parse([]byte(keptSchema))
	expect.OK(t, err)
	rng := rand.New(rand.NewPCG(14, 5))
	out := kept{Schema: json.RawMessage(keptSchema)}
	for range 150 {
		values := randomValues(rng)
		row := make([]float32, s.Width())
		if err := s.Encode(row, jsonFields(values)); err != nil {
			t.Fatalf("%v: %v", values, err)
		}
		out.Rows = append(out.Rows, keptRow{values, row})
	}
	text, err := json.Marshal(out)
	expect.OK(t, err)
	text = append(bytes.ReplaceAll(text, []byte(`{"values"`), []byte("\n"+`{"values"`)), '\n')
	const file = "testdata/rows.json"
	if *update {
		expect.OK(t, os.MkdirAll("testdata", 0o755))
		expect.OK(t, os.WriteFile(file, text, 0o644))
	}
	want, err := os.ReadFile(file)
	expect.OK(t, err)
	if !bytes.Equal(text, want) {
		t.Errorf("rows are others than those of %s; the Python package must agree: -update", file)
	}
}

func randomValues(rng *rand.Rand) map[string]any {
	words := []string{"tea", "TEA", "Kaffee", "Käse", "ÄRGER", "x1", "1x", "-", "naïve", "日本"}
	pick := func(of ...any) any { return of[rng.IntN(len(of))] }
	moment := func() any {
		at := time.Unix(rng.Int64N(3e9)-1e9, rng.Int64N(1e9)).In(time.FixedZone("", 3600*(rng.IntN(25)-12)))
		return pick(at.Format(time.RFC3339Nano), at.Format(time.RFC3339), at.Format(time.DateOnly))
	}
	text := ""
	for range rng.IntN(12) {
		text += words[rng.IntN(len(words))] + pick(" ", ", ", "\n", "_").(string)
	}
	values := map[string]any{
		"n": rng.NormFloat64() * 1e3, "n1": pick(true, 1e-40, 3e38, float64(rng.IntN(100))), "b": pick(true, false, 1.0, 0.0),
		"c": pick("DE", "de", true, false, 0.0, 0.1, 1e5, 1e21, "100000"), "w": text, "t": moment(), "a": moment(),
		"a2": moment(), "v": []float32{rng.Float32(), -rng.Float32()}, "note": pick("x", 1.5),
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if rng.IntN(6) == 0 {
			values[name] = nil
		} else if rng.IntN(12) == 0 {
			delete(values, name)
		}
	}
	return values
}

// jsonFields are the fields of values as a decoder of JSON makes them.
func jsonFields(values map[string]any) []Field {
	var fields []Field
	for name, value := range values {
		f := Field{Name: name}
		switch v := value.(type) {
		case nil:
		case float64:
			f.Value = Value{Type: Number, Number: v}
		case bool:
			f.Value.Type = Bool
			if v {
				f.Value.Number = 1
			}
		case string:
			f.Value = Value{Type: Text, Text: v}
		case []float32:
			f.Value = Value{Type: Vector, Vector: v}
		default:
			panic(fmt.Sprintf("%T", value))
		}
		fields = append(fields, f)
	}
	return fields
}
