package parquet

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// limits bound one page. Writers aim at a megabyte; some put a row group into one page.
type limits struct {
	bytes  int64 // compressed or not
	values int64
	open   int64 // bytes of the largest pages and the dictionaries of all columns that are read side by side
}

var defaults = limits{bytes: 256 << 20, values: 1 << 26, open: 4 << 30}

// valueBytes is what a value of a page may take beside the page: its levels, and an offset or index.
const valueBytes = 6

// maxPageHeader bounds the header of a page, which may hold its least and greatest value.
const maxPageHeader = 1 << 20

// pageCheck walks the pages of one column chunk before the library reads them.
type pageCheck struct {
	src    io.ReaderAt
	size   int64 // of the file
	limits limits
	zstd   *zstd.Decoder

	column *parquet.Column
	meta   *format.ColumnMetaData
	values int64 // in data pages so far
	dicts  int64 // bytes of its dictionary
	most   int64 // bytes of its largest data page
	open   int64 // bytes of all chunks of the row group
}

// group begins a row group.
func (c *pageCheck) group() { c.open = 0 }

func newPageCheck(src io.ReaderAt, size int64, l limits) (*pageCheck, error) {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(uint64(l.bytes)))
	return &pageCheck{src: src, size: size, limits: l, zstd: d}, err
}

func (c *pageCheck) close() { c.zstd.Close() }

// chunk checks a column chunk of a row group of rows rows.
func (c *pageCheck) chunk(column *parquet.Column, meta *format.ColumnMetaData, rows int64) error {
	c.column, c.meta, c.values, c.dicts, c.most = column, meta, 0, 0, 0
	start := meta.DataPageOffset
	if meta.DictionaryPageOffset != 0 {
		start = meta.DictionaryPageOffset
	}
	length := meta.TotalCompressedSize
	if start < 0 || length < 0 || start > c.size || length > c.size-start {
		return fmt.Errorf("%d bytes of pages at %d in a file of %d", length, start, c.size)
	}
	for pos := int64(0); pos < length && c.values < meta.NumValues; {
		h, n, err := c.header(start+pos, length-pos)
		if err != nil {
			return err
		}
		pos += n
		if err := c.page(h, start+pos, length-pos); err != nil {
			return fmt.Errorf("page at byte %d: %w", start+pos-n, err)
		}
		pos += h.compressed
	}
	if c.values != meta.NumValues {
		return fmt.Errorf("pages of %d values, metadata of %d", c.values, meta.NumValues)
	}
	if c.open += c.most + c.dicts; c.open > c.limits.open {
		return fmt.Errorf("the pages of a row group that are read side by side take more than %d bytes: write smaller pages, or a column features", c.limits.open)
	}
	if column.MaxRepetitionLevel() == 0 && c.values != rows {
		return fmt.Errorf("%d values for %d rows", c.values, rows)
	}
	return nil
}

// pageHeader has what a page's header declares.
type pageHeader struct {
	kind                           format.PageType
	compressed, uncompressed       int64
	values                         int64
	encoding                       format.Encoding
	repetitionBytes, definitionEnd int64 // version 2: level bytes, which are not compressed
	plain                          bool  // version 2: the values are not compressed either
	oldLevels                      bool  // version 1: levels in another encoding than RLE
}

func (c *pageCheck) header(at, left int64) (h pageHeader, n int64, err error) {
	for window := int64(1 << 12); ; window *= 16 {
		window = min(window, left, maxPageHeader)
		buf := make([]byte, window)
		if _, err := c.src.ReadAt(buf, at); err != nil {
			return h, 0, err
		}
		h = pageHeader{}
		s := &skim{in: buf, visit: h.take}
		err = s.structure(0)
		if err == nil {
			h.definitionEnd += h.repetitionBytes
			return h, int64(s.pos), nil
		}
		if window == min(left, maxPageHeader) {
			return h, 0, fmt.Errorf("page header at byte %d: %w", at, err)
		}
	}
}

// take is given every number of a page header; the ids are those of parquet.thrift.
func (h *pageHeader) take(path [2]int16, v int64) {
	switch path {
	case [2]int16{1}:
		h.kind = format.PageType(v)
	case [2]int16{2}:
		h.uncompressed = v
	case [2]int16{3}:
		h.compressed = v
	case [2]int16{5, 1}, [2]int16{7, 1}, [2]int16{8, 1}:
		h.values = v
	case [2]int16{5, 2}, [2]int16{7, 2}, [2]int16{8, 4}:
		h.encoding = format.Encoding(v)
	case [2]int16{5, 3}, [2]int16{5, 4}:
		h.oldLevels = h.oldLevels || v != int64(format.RLE)
	case [2]int16{8, 5}:
		h.definitionEnd = v
	case [2]int16{8, 6}:
		h.repetitionBytes = v
	case [2]int16{8, 7}:
		h.plain = v == 0
	}
}

// page checks the body of a page of at most left bytes.
func (c *pageCheck) page(h pageHeader, at, left int64) error {
	switch {
	case h.compressed < 0 || h.compressed > left || h.compressed > c.limits.bytes:
		return fmt.Errorf("%d bytes, with %d left and at most %d allowed", h.compressed, left, c.limits.bytes)
	case h.uncompressed < 0 || h.uncompressed > c.limits.bytes:
		return fmt.Errorf("%d bytes uncompressed, more than the allowed %d", h.uncompressed, c.limits.bytes)
	case h.values < 0 || h.values > c.limits.values:
		return fmt.Errorf("%d values, more than the allowed %d", h.values, c.limits.values)
	}
	if h.kind != format.DictionaryPage {
		c.most = max(c.most, h.uncompressed+valueBytes*h.values)
	}
	body := make([]byte, h.compressed)
	if _, err := c.src.ReadAt(body, at); err != nil {
		return err
	}
	switch h.kind {
	case format.DictionaryPage:
		if c.dicts > 0 {
			return errors.New("a second dictionary")
		}
		c.dicts = 1 + 2*h.uncompressed + valueBytes*h.values
		if h.encoding != format.Plain && h.encoding != plainDictionary {
			return fmt.Errorf("a dictionary in encoding %s", h.encoding)
		}
		_, err := c.decompress(body, h.uncompressed)
		return err
	case format.DataPage:
		c.values += h.values
		body, err := c.decompress(body, h.uncompressed)
		if err != nil {
			return err
		}
		return c.dataV1(h, body)
	case format.DataPageV2:
		c.values += h.values
		return c.dataV2(h, body)
	}
	return fmt.Errorf("a page of type %s", h.kind)
}

// decompress returns what a page holds, which must be as long as it declares.
func (c *pageCheck) decompress(body []byte, declared int64) ([]byte, error) {
	out := body
	switch c.meta.Codec {
	case format.Uncompressed:
	case format.Snappy:
		n, err := snappy.DecodedLen(body)
		if err != nil {
			return nil, err
		}
		if int64(n) != declared {
			return nil, fmt.Errorf("snappy declares %d bytes, the page %d", n, declared)
		}
		if out, err = snappy.Decode(nil, body); err != nil {
			return nil, err
		}
	case format.Gzip:
		z, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		var b bytes.Buffer
		if _, err := io.Copy(&b, io.LimitReader(z, declared+1)); err != nil {
			return nil, err
		}
		out = b.Bytes()
	case format.Zstd:
		var err error
		if out, err = c.zstd.DecodeAll(body, nil); err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("compression %s is not supported: write it with snappy, gzip, zstd or none", c.meta.Codec)
	}
	if int64(len(out)) != declared {
		return nil, fmt.Errorf("it holds %d bytes or more, but declares %d", len(out), declared)
	}
	return out, nil
}

// levels checks repetition or definition levels up to most.
func levels(body []byte, most int, values int64) error {
	width := 0
	for ; most > 0; most >>= 1 {
		width++
	}
	return runs(body, width, values)
}

func (c *pageCheck) dataV1(h pageHeader, body []byte) error {
	for _, most := range []int{c.column.MaxRepetitionLevel(), c.column.MaxDefinitionLevel()} {
		if most == 0 {
			continue
		}
		if h.oldLevels {
			return errors.New("levels in an encoding other than RLE")
		}
		if len(body) < 4 {
			return errors.New("no levels")
		}
		n := int64(binary.LittleEndian.Uint32(body))
		if n > int64(len(body)-4) {
			return fmt.Errorf("levels of %d bytes, with %d left", n, len(body)-4)
		}
		if err := levels(body[4:4+n], most, h.values); err != nil {
			return err
		}
		body = body[4+n:]
	}
	return encoded(h.encoding, body, h.values)
}

func (c *pageCheck) dataV2(h pageHeader, body []byte) error {
	if h.repetitionBytes < 0 || h.definitionEnd < h.repetitionBytes || h.definitionEnd > int64(len(body)) || h.definitionEnd > h.uncompressed {
		return fmt.Errorf("levels of %d and %d bytes in %d", h.repetitionBytes, h.definitionEnd-h.repetitionBytes, len(body))
	}
	if most := c.column.MaxRepetitionLevel(); most > 0 {
		if err := levels(body[:h.repetitionBytes], most, h.values); err != nil {
			return err
		}
	}
	if most := c.column.MaxDefinitionLevel(); most > 0 {
		if err := levels(body[h.repetitionBytes:h.definitionEnd], most, h.values); err != nil {
			return err
		}
	}
	body = body[h.definitionEnd:]
	if h.plain {
		return encoded(h.encoding, body, h.values)
	}
	body, err := c.decompress(body, h.uncompressed-h.definitionEnd)
	if err != nil {
		return err
	}
	return encoded(h.encoding, body, h.values)
}
