package event_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"rivulet/event"
	"rivulet/event/avro"
	"rivulet/event/eventtest"
	"rivulet/event/json"
	"rivulet/event/protobuf"
	"rivulet/schema"
	"rivulet/test/expect"
)

// namedRow is one row by name, and the schema that makes positions of it.
type namedRow struct {
	name   string
	fields []schema.Field
	schema *schema.Schema
}

func numberField(name, text string) schema.Field {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		panic(err)
	}
	return schema.Field{Name: name, Value: schema.Value{Type: schema.Number, Number: v}}
}

func parseSchema(features []string) *schema.Schema {
	s, err := schema.Parse([]byte(`{"schema_version":1,"seed":0,"features":[` + strings.Join(features, ",") + `]}`))
	if err != nil {
		panic(err)
	}
	return s
}

// numbersRow is a row of d numbers with so many digits, which are the same by name and by position; 0 are as many as
// float32 has.
func numbersRow(d, digits int) namedRow {
	r := rand.New(rand.NewPCG(3, 4))
	row := namedRow{name: fmt.Sprintf("%dnumbers/%ddigits", d, digits)}
	if digits == 0 {
		digits, row.name = -1, fmt.Sprintf("%dnumbers/float32", d)
	}
	var features []string
	for k := range d {
		name := fmt.Sprintf("feature%d", k)
		row.fields = append(row.fields, numberField(name, strconv.FormatFloat(r.NormFloat64()*10, 'g', digits, 32)))
		features = append(features, fmt.Sprintf(`{"name":%q,"kind":"number","missing":"mean","mean":[0]}`, name))
	}
	row.schema = parseSchema(features)
	return row
}

// shopRow is a customer of a shop: numbers, a bool, categories and a date, in 49 positions.
func shopRow() namedRow {
	text := func(name, v string) schema.Field {
		return schema.Field{Name: name, Value: schema.Value{Type: schema.Text, Text: v}}
	}
	number := func(name string) string {
		return fmt.Sprintf(`{"name":%q,"kind":"number","missing":"column","mean":[0]}`, name)
	}
	category := func(name string, n int) string {
		var values []string
		for k := range n {
			values = append(values, fmt.Sprintf(`"%s%d"`, name, k))
		}
		return fmt.Sprintf(`{"name":%q,"kind":"category","missing":"zero","categories":[%s]}`, name,
			strings.Join(values, ","))
	}
	return namedRow{"shop", []schema.Field{numberField("age", "41.5"), numberField("visits", "17"),
		numberField("spent", "1234.56"),
		numberField("discount", "0.15"), {Name: "active", Value: schema.Value{Type: schema.Bool, Number: 1}},
		text("plan", "plan2"), text("country", "country17"), text("joined", "2026-03-01T12:00:00Z")},
		parseSchema([]string{number("age"), number("visits"), number("spent"), number("discount"),
			`{"name":"active","kind":"bool","missing":"zero","mean":[0]}`, category("plan", 4), category("country", 30),
			`{"name":"joined","kind":"time","missing":"mean","mean":[0,0,0],"parts":["year","month","weekday"]}`})}
}

func benchRows() []namedRow {
	return []namedRow{numbersRow(10, 3), numbersRow(50, 3), numbersRow(200, 3), numbersRow(10, 0), numbersRow(50, 0),
		numbersRow(200, 0), shopRow()}
}

// namedForm is one way of writing a row, and of reading it into positions.
type namedForm struct {
	name   string
	record []byte
	decode func(data []byte, a *event.Arrival) error
	by     *schema.Schema // nil: features are by position
}

func (f *namedForm) read(a *event.Arrival) error {
	if err := f.decode(f.record, a); err != nil || f.by == nil {
		return err
	}
	return a.Features.Encode(f.by)
}

// forms returns the row by position in JSON, and then in all other ways.
func (row *namedRow) forms(t testing.TB) []namedForm {
	named := event.Arrival{ID: "user-1234567", Edges: []string{"user-1", "user-22", "user-333"},
		Features: event.Features{Named: row.fields}}
	dense, turned := named, named
	expect.OK(t, dense.Features.Encode(row.schema))
	if dense.Features.Sparse {
		t.Fatal("the row is sparse")
	}
	dense.Features.Named = nil
	turned.Features.Named = slices.Clone(row.fields)
	slices.Reverse(turned.Features.Named)
	write := func(codec event.Codec, a *event.Arrival) []byte {
		data, err := codec.AppendArrival(nil, a)
		expect.OK(t, err)
		return data
	}
	columns, values := row.columns(t, &named)
	return []namedForm{
		{"json", write(json.Codec{}, &dense), json.Codec{}.DecodeArrival, nil},
		{"json-named", write(json.Codec{}, &named), json.Codec{}.DecodeArrival, row.schema},
		{"json-turned", write(json.Codec{}, &turned), json.Codec{}.DecodeArrival, row.schema},
		{"protobuf", write(protobuf.Codec{}, &dense), protobuf.Codec{}.DecodeArrival, nil},
		{"protobuf-named", write(protobuf.Codec{}, &named), protobuf.Codec{}.DecodeArrival, row.schema},
		{"avro", write(avro.Codec{}, &dense), avro.Codec{}.DecodeArrival, nil},
		{"avro-named", write(avro.Codec{}, &named), avro.Codec{}.DecodeArrival, row.schema},
		{"avro-columns", values, columns.DecodeArrival, row.schema},
	}
}

// columns writes the row in Avro as a producer with a schema of its own does, whose features are the fields of a
// record: the names are in the schema, and not in the record.
func (row *namedRow) columns(t testing.TB, a *event.Arrival) (*avro.Schema, []byte) {
	types := [...]string{schema.Number: "double", schema.Bool: "boolean", schema.Text: "string"}
	var fields []string
	values := map[string]any{}
	for _, f := range a.Features.Named {
		fields = append(fields, fmt.Sprintf(`{"name":%q,"type":["null",%q]}`, f.Name, types[f.Value.Type]))
		values[f.Name] = map[schema.ValueType]any{schema.Number: f.Value.Number, schema.Bool: f.Value.Number != 0,
			schema.Text: f.Value.Text}[f.Value.Type]
	}
	return written(t, `{"type":"record","name":"User","fields":[{"name":"id","type":"string"},{"name":"features","type":`+
		`{"type":"record","name":"Columns","fields":[`+strings.Join(fields, ",")+`]}},`+
		`{"name":"edges","type":{"type":"array","items":"string"}}]}`,
		map[string]any{"id": a.ID, "features": values, "edges": a.Edges})
}

// All ways of writing the row give the same positions, to the bit.
func TestBenchmarkRowsAgree(t *testing.T) {
	for _, row := range benchRows() {
		var want event.Arrival
		for k, form := range row.forms(t) {
			var a event.Arrival
			for range 2 { // the second time into the memory of the first
				if err := form.read(&a); err != nil {
					t.Fatalf("%s, %s: %v", row.name, form.name, err)
				}
				a.Features.Named = a.Features.Named[:min(0, len(a.Features.Named))]
			}
			a.Features.Named = nil
			if k == 0 {
				want = a
				continue
			}
			eventtest.RequireSameArrival(t, &want, &a)
		}
	}
}

// BenchmarkNamed reads the same row in all forms in turn, names into positions, and reports medians: microseconds,
// bytes, and the ratios of both to JSON by position.
func BenchmarkNamed(b *testing.B) {
	for _, row := range benchRows() {
		b.Run(row.name, func(b *testing.B) {
			forms := row.forms(b)
			arrivals, times := make([]event.Arrival, len(forms)), make([][]float64, len(forms))
			for b.Loop() {
				for k := range forms {
					start := time.Now()
					for range 20 {
						expect.OK(b, forms[k].read(&arrivals[k]))
					}
					times[k] = append(times[k], time.Since(start).Seconds()*1e6/20)
				}
			}
			for k := range forms {
				ratios := make([]float64, len(times[k]))
				for i := range ratios {
					ratios[i] = times[k][i] / times[0][i]
				}
				b.ReportMetric(median(times[k]), forms[k].name+"-µs")
				b.ReportMetric(median(ratios), forms[k].name+"-ratio")
				b.ReportMetric(float64(len(forms[k].record))/float64(len(forms[0].record)), forms[k].name+"-bytes")
			}
		})
	}
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return v[len(v)/2]
}
