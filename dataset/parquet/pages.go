package parquet

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"

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

// valueBytes is the memory that a value may take beyond its page: its levels, and an offset or index.
const valueBytes = 6

// pageCheck walks the pages of one column chunk before the library reads them.
type pageCheck struct {
	src    io.ReaderAt
	size   int64 // of the file
	limits limits
	zstd   *zstd.Decoder

	column *parquet.Column
	values int64 // in data pages so far
	dict   int64 // bytes of the dictionary
	most   int64 // bytes of the largest data page
	open   int64 // bytes of all chunks of the row group
}

func newPageCheck(src io.ReaderAt, size int64, l limits) (*pageCheck, error) {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(uint64(l.bytes)))
	return &pageCheck{src: src, size: size, limits: l, zstd: d}, err
}

func (c *pageCheck) close() { c.zstd.Close() }

// group begins a row group.
func (c *pageCheck) group() { c.open = 0 }

// chunk checks a column chunk of a row group of rows rows. It cuts meta to the pages that it checked.
func (c *pageCheck) chunk(column *parquet.Column, meta *format.ColumnMetaData, rows int64) error {
	c.column, c.values, c.dict, c.most = column, 0, 0, 0
	if codec := c.codec(); codec != meta.Codec {
		return fmt.Errorf("compression is %s, but %s in the first row group: the library takes them for the same",
			meta.Codec, codec)
	}
	start := meta.DataPageOffset
	if meta.DictionaryPageOffset != 0 {
		start = meta.DictionaryPageOffset
	}
	length := meta.TotalCompressedSize
	if start < 0 || length < 0 || start > c.size || length > c.size-start {
		return fmt.Errorf("%d bytes of pages at %d in a file of %d", length, start, c.size)
	}
	in := newMetadata(c.src, start, length)
	for in.left() > 0 && c.values < meta.NumValues {
		at := start + length - in.left()
		if err := c.page(in); err != nil {
			return fmt.Errorf("page at byte %d: %w", at, err)
		}
	}
	if c.values != meta.NumValues {
		return fmt.Errorf("pages of %d values, metadata of %d", c.values, meta.NumValues)
	}
	meta.TotalCompressedSize -= in.left()
	if c.open += c.most + c.dict; c.open > c.limits.open {
		return fmt.Errorf("the pages of a row group that are read side by side take more than %d bytes: write smaller "+
			"pages, or a column features", c.limits.open)
	}
	if column.MaxRepetitionLevel() == 0 && c.values != rows {
		return fmt.Errorf("%d values for %d rows", c.values, rows)
	}
	return nil
}

func (c *pageCheck) codec() format.CompressionCodec { return c.column.Compression().CompressionCodec() }

func (c *pageCheck) page(in *metadata) error {
	var h format.PageHeader
	if err := in.decode(&h); err != nil {
		return fmt.Errorf("its header: %w", err)
	}
	compressed, uncompressed := int64(h.CompressedPageSize), int64(h.UncompressedPageSize)
	values := int64(max(h.DataPageHeader.V.NumValues, h.DataPageHeaderV2.V.NumValues, h.DictionaryPageHeader.V.NumValues))
	switch {
	case h.DataPageHeader.Valid != (h.Type == format.DataPage) ||
		h.DataPageHeaderV2.Valid != (h.Type == format.DataPageV2) ||
		h.DictionaryPageHeader.Valid != (h.Type == format.DictionaryPage):
		return fmt.Errorf("its header is not that of type %s alone", h.Type)
	case compressed < 0 || compressed > in.left() || compressed > c.limits.bytes:
		return fmt.Errorf("%d bytes, with %d left and at most %d allowed", compressed, in.left(), c.limits.bytes)
	case uncompressed < 0 || uncompressed > c.limits.bytes:
		return fmt.Errorf("%d bytes uncompressed, more than the allowed %d", uncompressed, c.limits.bytes)
	case values < 0 || values > c.limits.values:
		return fmt.Errorf("%d values, more than the allowed %d", values, c.limits.values)
	}
	body := make([]byte, compressed)
	if _, err := io.ReadFull(in.in, body); err != nil {
		return err
	}
	if h.Type == format.DictionaryPage {
		return c.dictionary(h.DictionaryPageHeader.V.Encoding, body, uncompressed, values)
	}
	c.values += values
	c.most = max(c.most, uncompressed+valueBytes*values)
	switch h.Type {
	case format.DataPage:
		body, err := c.decompress(body, uncompressed)
		if err != nil {
			return err
		}
		return c.dataV1(&h.DataPageHeader.V, body, values)
	case format.DataPageV2:
		return c.dataV2(&h.DataPageHeaderV2.V, body, uncompressed, values)
	}
	return fmt.Errorf("a page of type %s", h.Type)
}

func (c *pageCheck) dictionary(e format.Encoding, body []byte, uncompressed, values int64) error {
	if c.dict > 0 {
		return errors.New("a second dictionary")
	}
	c.dict = 1 + 2*uncompressed + valueBytes*values
	if e != format.Plain && e != format.PlainDictionary { //nolint:staticcheck // files still have the deprecated name
		return fmt.Errorf("a dictionary in encoding %s", e)
	}
	_, err := c.decompress(body, uncompressed)
	return err
}

// dataV1 checks a page whose levels are compressed together with its values and begin with their length.
func (c *pageCheck) dataV1(h *format.DataPageHeader, body []byte, values int64) (err error) {
	for _, level := range []struct {
		most     int
		encoding format.Encoding
	}{
		{c.column.MaxRepetitionLevel(), h.RepetitionLevelEncoding},
		{c.column.MaxDefinitionLevel(), h.DefinitionLevelEncoding},
	} {
		if level.most == 0 {
			continue
		}
		if level.encoding != format.RLE {
			return errors.New("levels in an encoding other than RLE")
		}
		var own []byte
		if own, body, err = cut(body); err != nil {
			return err
		}
		if err := runs(own, bits.Len(uint(level.most)), values); err != nil {
			return err
		}
	}
	return encoded(h.Encoding, c.column.Type().Kind(), body, values)
}

// dataV2 checks a page whose levels come before its compressed values.
func (c *pageCheck) dataV2(h *format.DataPageHeaderV2, body []byte, uncompressed, values int64) (err error) {
	for _, level := range []struct {
		most   int
		length int32
	}{
		{c.column.MaxRepetitionLevel(), h.RepetitionLevelsByteLength},
		{c.column.MaxDefinitionLevel(), h.DefinitionLevelsByteLength},
	} {
		if level.length < 0 || int(level.length) > len(body) || int64(level.length) > uncompressed {
			return fmt.Errorf("levels of %d bytes, with %d left", level.length, len(body))
		}
		if level.most > 0 {
			if err := runs(body[:level.length], bits.Len(uint(level.most)), values); err != nil {
				return err
			}
		}
		body, uncompressed = body[level.length:], uncompressed-int64(level.length)
	}
	if !h.IsCompressed.Valid || h.IsCompressed.V {
		if body, err = c.decompress(body, uncompressed); err != nil {
			return err
		}
	}
	return encoded(h.Encoding, c.column.Type().Kind(), body, values)
}

// decompress returns the content of a page, which must be as long as it declares.
func (c *pageCheck) decompress(body []byte, declared int64) (out []byte, err error) {
	switch c.codec() {
	case format.Uncompressed:
		out = body
	case format.Snappy:
		if n, err := snappy.DecodedLen(body); err != nil || int64(n) != declared {
			return nil, fmt.Errorf("snappy declares %d bytes, the page %d: %w", n, declared, cmp.Or(err, snappy.ErrCorrupt))
		}
		out, err = snappy.Decode(nil, body)
	case format.Gzip:
		z, errOpen := gzip.NewReader(bytes.NewReader(body))
		if errOpen != nil {
			return nil, errOpen
		}
		out, err = io.ReadAll(io.LimitReader(z, declared+1))
	case format.Zstd:
		out, err = c.zstd.DecodeAll(body, nil)
	default:
		err = fmt.Errorf("compression %s is not supported: write it with snappy, gzip, zstd or none", c.codec())
	}
	if err == nil && int64(len(out)) != declared {
		err = fmt.Errorf("it holds %d bytes or more, but declares %d", len(out), declared)
	}
	return out, err
}

// cut returns the part of body whose length the first four bytes give, and the rest.
func cut(body []byte) (part, rest []byte, err error) {
	if len(body) < 4 {
		return nil, nil, errors.New("runs without a length")
	}
	n, body := int64(binary.LittleEndian.Uint32(body)), body[4:]
	if n > int64(len(body)) {
		return nil, nil, fmt.Errorf("runs of %d bytes, with %d left: they end too early", n, len(body))
	}
	return body[:n], body[n:], nil
}
