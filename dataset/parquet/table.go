package parquet

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"rivulet/dataset/table"
)

// parquetFile is one open file.
type parquetFile struct {
	name  string
	file  *parquet.File
	names []string // of columns
	row   int64    // the last one that was begun; the first is 1

	leaves []*format.SchemaElement // the file's description of each column of values

	categories map[string]bool
	durations  map[string]bool // columns of Arrow that hold durations
}

func openTable(r io.ReaderAt, name string, size int64) (*parquetFile, error) {
	if err := checkEnd(r, size); err != nil {
		return nil, err
	}
	f, err := parquet.OpenFile(r, size, options...)
	if err != nil {
		return nil, err
	}
	t := &parquetFile{name: name, file: f, categories: pandasCategories(f), durations: durations(f)}
	for _, c := range f.Root().Columns() {
		t.names = append(t.names, c.Name())
	}
	for k := range f.Metadata().Schema {
		if e := &f.Metadata().Schema[k]; e.Type.Valid {
			t.leaves = append(t.leaves, e)
		}
	}
	return t, nil
}

// checkEnd reads the last bytes of a file, before the library takes memory for the footer that they declare.
func checkEnd(r io.ReaderAt, size int64) error {
	const tail = 8 // length and magic
	var end [tail]byte
	if size < tail+4 {
		return fmt.Errorf("not a Parquet file: it has %d bytes", size)
	}
	if _, err := r.ReadAt(end[:], size-tail); err != nil {
		return err
	}
	if magic := string(end[4:]); magic == "PARE" {
		return errors.New("the file is encrypted, which is not supported")
	} else if magic != "PAR1" {
		return fmt.Errorf("not a Parquet file, or one that is cut short: it ends in %q", magic)
	}
	if length := int64(binary.LittleEndian.Uint32(end[:])); length > size-tail-4 {
		return fmt.Errorf("footer of %d bytes in a file of %d", length, size)
	}
	return nil
}

// checkChunk refuses a column chunk that the library would read wrong, or that is longer than the file.
func (t *parquetFile) checkChunk(column *parquet.Column, meta *format.ColumnMetaData, rows int64) error {
	codec := column.Compression().CompressionCodec()
	switch {
	case codec != meta.Codec:
		return fmt.Errorf("compression is %s, but %s in the first row group: the library takes them for the same",
			meta.Codec, codec)
	case !slices.Contains(codecs, codec):
		return fmt.Errorf("compression %s is not supported: write it with snappy, gzip, zstd or none", codec)
	case meta.TotalCompressedSize < 0 || meta.TotalCompressedSize > t.file.Size():
		return fmt.Errorf("%d bytes of pages in a file of %d", meta.TotalCompressedSize, t.file.Size())
	case column.MaxRepetitionLevel() == 0 && meta.NumValues != rows:
		return fmt.Errorf("%d values for %d rows", meta.NumValues, rows)
	}
	for _, e := range meta.Encoding {
		if !slices.Contains(encodings, e) {
			return fmt.Errorf("encoding %s is not supported: write it plain or with a dictionary", e)
		}
	}
	// RLE stands in the list for levels, too. Booleans that are encoded otherwise have Plain beside it.
	if column.Type().Kind() == parquet.Boolean && !slices.Contains(meta.Encoding, format.Plain) {
		// parquet-go v0.32.0 reads these with wrong values: 9,405 of 20,000 in a file of pyarrow.
		return errors.New("encoding RLE of values of type BOOLEAN, as in data pages of version 2, is not supported: " +
			"write it plain, with data pages of version 1.0 (data_page_version=\"1.0\")")
	}
	return nil
}

var (
	codecs    = []format.CompressionCodec{format.Uncompressed, format.Snappy, format.Gzip, format.Zstd}
	encodings = []format.Encoding{format.Plain, format.ByteStreamSplit, format.RLE, format.BitPacked, format.RLEDictionary,
		format.PlainDictionary, //nolint:staticcheck // files still have the deprecated name
		format.DeltaBinaryPacked, format.DeltaLengthByteArray}
)

// Columns returns the names of the columns of the outermost level.
func (t *parquetFile) Columns() []string { return t.names }

// Categorical reports whether pandas' metadata call the column categorical.
func (t *parquetFile) Categorical(column int) bool { return t.categories[t.names[column]] }

// Guess is empty: Parquet names its columns.
func (t *parquetFile) Guess() string { return "" }

// Doubt is empty: Parquet names its columns.
func (t *parquetFile) Doubt() string { return "" }

// leaf returns the column of values of an outermost column, or of the elements of its list: a group of one repeated
// group of one value, or the older forms of a list without one of the groups.
func (t *parquetFile) leaf(name string) (*parquet.Column, error) {
	c := t.file.Root().Column(name)
	if t.durations[name] {
		return nil, fmt.Errorf("column %s: it holds durations, whose unit is in no type of Parquet: write it as a number "+
			"of seconds, or drop it", name)
	}
	for level := 0; !c.Leaf(); level++ {
		inner := c.Columns()
		switch {
		case len(inner) != 1:
			return nil, fmt.Errorf("column %s: it has %d columns of its own (a struct or a map), want a value or a list of "+
				"values: drop it",
				name, len(inner))
		case level == 0 && !c.Repeated() && !inner[0].Repeated():
			return nil, fmt.Errorf("column %s: it is a struct of one field, %s, want a value or a list of values: write the "+
				"field as a column, or drop it",
				name, inner[0].Name())
		case level > 1:
			return nil, fmt.Errorf("column %s: it holds lists of lists or of structs, want a value or a list of values: drop it",
				name)
		}
		c = inner[0]
	}
	if c.MaxRepetitionLevel() > 1 {
		return nil, fmt.Errorf("column %s: it holds lists of lists, want a value or a list of values: drop it", name)
	}
	return c, nil
}

// open returns a cursor on a column of a row group.
func (t *parquetFile) open(group, index int) (*cursor, error) {
	name := t.names[index]
	column, err := t.leaf(name)
	if err != nil {
		return nil, err
	}
	read, err := reader(column, t.leaves[column.Index()])
	text := false
	if err == nil && column.Type().Kind() == parquet.ByteArray {
		logical, _ := logicalType(column, t.leaves[column.Index()])
		_, decimals := logical.(*format.DecimalType)
		text = !decimals
	}
	if err != nil {
		return nil, fmt.Errorf("column %s: %w", name, err)
	}
	rows := t.file.RowGroups()[group]
	meta := &t.file.Metadata().RowGroups[group].Columns[column.Index()].MetaData
	if err := t.checkChunk(column, meta, rows.NumRows()); err != nil {
		return nil, fmt.Errorf("column %s: %w", name, err)
	}
	return &cursor{name: name, most: column.MaxDefinitionLevel(), list: column.MaxRepetitionLevel() == 1,
		null: column.Optional(), text: text,
		read: read, values: parquet.NewColumnChunkValueReader(rows.ColumnChunks()[column.Index()])}, nil
}

// Each calls use with the cells of each row.
func (t *parquetFile) Each(columns []int, use func(cells []table.Cell, at table.Place) error) error {
	t.row = 0
	for group := range t.file.RowGroups() {
		if err := t.eachRow(group, columns, use); err != nil {
			return err
		}
	}
	return nil
}

func (t *parquetFile) eachRow(group int, columns []int, use func([]table.Cell, table.Place) error) error {
	var cursors []*cursor
	defer func() {
		for _, c := range cursors {
			c.close()
		}
	}()
	for _, index := range columns {
		c, err := t.open(group, index)
		if err != nil {
			return err
		}
		cursors = append(cursors, c)
	}
	cells := make([]table.Cell, len(columns))
	for range t.file.RowGroups()[group].NumRows() {
		t.row++
		for k, c := range cursors {
			if err := c.cell(&cells[k]); err != nil {
				return fmt.Errorf("row %d: column %s: %w", t.row, c.name, err)
			}
		}
		if err := use(cells, table.Place{File: t.name, Unit: "row", Row: int(t.row)}); err != nil {
			return fmt.Errorf("row %d: %w", t.row, err)
		}
	}
	for _, c := range cursors {
		if _, err := c.peek(); err == nil {
			return fmt.Errorf("row %d: column %s: more values than rows", t.row, c.name)
		} else if !errors.Is(err, io.EOF) {
			return err
		}
	}
	return nil
}

// pandasCategories returns the columns that pandas says to be categories, in the file's metadata.
func pandasCategories(f *parquet.File) map[string]bool {
	text, ok := f.Lookup("pandas")
	if !ok {
		return nil
	}
	var said struct {
		Columns []struct {
			Field string `json:"field_name"`
			Type  string `json:"pandas_type"`
		} `json:"columns"`
	}
	if json.Unmarshal([]byte(text), &said) != nil {
		return nil // it is a hint
	}
	categories := map[string]bool{}
	for _, c := range said.Columns {
		categories[c.Field] = c.Type == "categorical"
	}
	return categories
}
