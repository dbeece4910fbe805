package parquet

import (
	"encoding/hex"
	"encoding/json"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"rivulet/dataset"
	"rivulet/dataset/table"
	"rivulet/infer/target"
	"rivulet/test/expect"
)

// typesRefused says by which words columns of testdata/types are refused: file/column, with path.Match's wildcards.
var typesRefused = map[string]string{
	"pyarrow/duration_*": "it holds durations", "*/List_Duration": "it holds durations",
	"pyarrow/list_duration": "it holds durations", "pyarrow/struct_duration": "it holds durations",
	"polars/Duration_*": "it holds durations", "spark*/interval *": "it holds durations",
	"spark*/array interval hour": "it holds durations",
	"duckdb*/INTERVAL":           "it holds durations (INTERVAL)",
	"duckdb*/INTERVAL??":         "(INTERVAL)",
	"pyarrow/time32_*":           "times of day", "pyarrow/time64_*": "times of day", "polars/Time": "times of day",
	"duckdb*/TIME": "times of day", "duckdb*/TIMETZ": "times of day", "fastparquet/timedelta": "times of day",
	"duckdb*/TIME_NS": "times of day",
	"pyarrow/struct":  "a struct or a map", "pyarrow/map": "a struct or a map", "polars/Struct": "a struct or a map",
	"duckdb*/STRUCT*DOUBLE)": "a struct or a map", "duckdb*/MAP*": "a struct or a map",
	"duckdb*/UNION*": "a struct or a map", "duckdb*/VARIANT": "a struct or a map",
	"spark*/struct*double": "a struct or a map", "spark*/map*": "a struct or a map",
	"spark*/variant":        "a struct or a map",
	"pyarrow/struct_of_one": "a struct of one field, a", "polars/Struct_of_one": "a struct of one field, a",
	"duckdb*/STRUCT(a INTEGER)": "a struct of one field, a", "spark*/struct a int": "a struct of one field, a",
	"pyarrow/list_list": "lists of lists or of structs", "pyarrow/list_struct": "lists of lists or of structs",
	"polars/List_List": "lists of lists or of structs", "duckdb*/INTEGER????": "lists of lists or of structs",
	"pyarrow/list_timestamp":    "is not a number",
	"pyarrow/list_null_element": "[1]: it is null, want a number",
	"pyarrow/fixed_binary":      "FIXED_LEN_BYTE_ARRAY is not supported",
	"polars/*Int128":            "FIXED_LEN_BYTE_ARRAY is not supported",
	"duckdb*/DOUBLE?2?":         "more values than rows",
	// DuckDB writes the first value as an integer of 64 bits.
	"duckdb_v2/UINTEGER":        "DELTA_BINARY_PACKED: first value out of range",
	"pages?/*_DELTA_BYTE_ARRAY": "encoding DELTA_BYTE_ARRAY is not supported",
	"pages?/bool_RLE":           "encoding RLE of values of type BOOLEAN",
	"pages2/bool_dictionary":    "encoding RLE of values of type BOOLEAN",
}

// Every value of every type that pyarrow, polars, DuckDB and Spark write, in every encoding, is the one that Python
// reads (testdata/make_types.py), or its column is refused by words that are listed here.
func TestTypes(t *testing.T) {
	unused := maps.Clone(typesRefused)
	for file, values := range map[string]string{
		"pyarrow": "pyarrow", "polars": "polars", "duckdb": "duckdb", "duckdb_v2": "duckdb", "spark": "spark",
		"spark_legacy": "spark",
		"fastparquet":  "fastparquet", "pages1": "pages", "pages2": "pages", "int96": "int96",
	} {
		var want map[string][]*string
		content, err := os.ReadFile("testdata/types/" + values + ".json")
		expect.OK(t, err)
		expect.OK(t, json.Unmarshal(content, &want))
		err = dataFile("testdata/types/"+file+".parquet", func(in table.File) error {
			if len(in.Columns()) != len(want) {
				t.Errorf("%s: %d columns, want %d", file, len(in.Columns()), len(want))
			}
			for k, name := range in.Columns() {
				words := ""
				for pattern, said := range typesRefused {
					if is, _ := path.Match(pattern, file+"/"+name); is {
						words = said
						delete(unused, pattern)
					}
				}
				row := 0
				err := in.Each([]int{k}, func(cells []table.Cell, _ table.Place) error {
					if want, got := fromPython(t, want[name][row]), fromCell(&cells[0]); got != want {
						t.Errorf("%s/%s row %d: %s, want %s", file, name, row, got, want)
					}
					row++
					return nil
				})
				switch {
				case err == nil && (words != "" || row != len(want[name])):
					t.Errorf("%s/%s: %d rows, want %d or an error with %q", file, name, row, len(want[name]), words)
				case err != nil && (words == "" || !strings.Contains(err.Error(), words)):
					t.Errorf("%s/%s: error %v, want %q", file, name, err, words)
				}
			}
			return nil
		})
		expect.OK(t, err)
	}
	if len(unused) > 0 {
		t.Errorf("no column is refused as %v", unused)
	}
}

func dataFile(name string, use func(table.File) error) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return read(f, name, info.Size(), table.TextForm{}, use)
}

// fromPython returns a value of the JSON in the form of fromCell: bytes are the text that they spell, decimals without
// a point are integers and others the nearest float64, an empty list is missing, and numbers of lists are of float32.
func fromPython(t *testing.T, v *string) string {
	t.Helper()
	if v == nil || *v == "list []" {
		return "null"
	}
	kind, text, _ := strings.Cut(*v, " ")
	switch {
	case kind == "bytes":
		b, err := hex.DecodeString(text)
		expect.OK(t, err)
		return "text " + string(b)
	case kind == "decimal" && !strings.Contains(text, "."):
		return "int " + text
	case kind == "decimal" || kind == "float":
		return "float " + rounded(t, text, 64)
	case kind == "list":
		var elements []*string
		expect.OK(t, json.Unmarshal([]byte(text), &elements))
		list := "list"
		for _, e := range elements {
			kind, text, _ := strings.Cut(*e, " ")
			switch kind {
			case "text":
				list += " " + text
				continue
			case "bool":
				text = map[string]string{"true": "1", "false": "0"}[text]
			}
			list += " " + rounded(t, text, 32)
		}
		return list
	}
	return *v
}

func rounded(t *testing.T, number string, bits int) string {
	t.Helper()
	v, err := strconv.ParseFloat(number, bits)
	expect.OK(t, err)
	return strconv.FormatFloat(v, 'g', -1, bits)
}

func fromCell(c *table.Cell) string {
	switch c.Kind {
	case table.Text:
		return "text " + c.Text
	case table.Int:
		return "int " + c.String()
	case table.Float:
		return "float " + c.String()
	case table.Bool:
		return "bool " + c.String()
	case table.Time:
		return "time " + c.Time.Format("2006-01-02T15:04:05.000000000Z")
	case table.Names:
		if c.Text != target.Mark { // an empty list
			return "list " + strings.Join(strings.Split(strings.TrimSuffix(c.Text, target.Mark), target.Mark), " ")
		}
	case table.List:
		list := "list"
		for _, v := range c.List {
			list += " " + strconv.FormatFloat(float64(v), 'g', -1, 32)
		}
		return list
	}
	return "null"
}

// A list of texts is labels: with marks between, the mark alone for an empty list, and missing where it is null. As a
// feature it is refused.
func TestListsOfTextsAreLabels(t *testing.T) {
	for file, c := range map[string]struct {
		column string
		want   []string
	}{"pyarrow": {"list_string", []string{"a;b;", ";", "null"}}, "polars": {"List_String", []string{"a;", ";", "null"}}} {
		var got []string
		err := dataFile("testdata/types/"+file+".parquet", func(in table.File) error {
			return in.Each([]int{slices.Index(in.Columns(), c.column)}, func(cells []table.Cell, _ table.Place) error {
				if got = append(got, cells[0].Text); cells[0].Kind == table.Null {
					got[len(got)-1] = "null"
				}
				return nil
			})
		})
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, %v", file, got, err)
		}
	}
	type node struct {
		ID   string   `parquet:"id"`
		Tags []string `parquet:"tags,list"`
		Age  float64  `parquet:"age"`
	}
	dir := writeSet(t, map[string][]byte{"nodes.parquet": encode(t, [][]node{{{"x", []string{"red", "blue"}, 1},
		{"y", []string{}, 2}, {"z", []string{"blue"}, 3}, {"w", []string{"red"}, 4}}}),
		"edges.parquet": encode(t, [][]edge{{{"x", "y"}}})})
	d, err := dataset.Open(dir, dataset.OpenOptions{
		Tables: table.Settings{Task: "labels", Label: "tags"}})
	expect.OK(t, err)
	if strings.Join(d.Classes, " ") != "blue red" || !slices.Equal(d.Targets.Data, []float32{1, 1, 0, 0, 1, 0, 0, 1}) {
		t.Errorf("%q %v", d.Classes, d.Targets)
	}
	if _, err := dataset.Open(dir, dataset.OpenOptions{
		Tables: table.Settings{Label: "id"}}); err == nil ||
		!strings.Contains(err.Error(), "a list of texts is not a number") {
		t.Errorf("as a feature: %v", err)
	}
}
