package numpy

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"strings"

	"codeberg.org/sbinet/npyio/npy"
)

// Write writes an array in version 1.0 of the npy format. Values are a slice of int32, int64, float32 or float64, or a
// text. npyio v0.14.0 writes a slice without elements as a scalar, so that a graph without edges could not be read.
func Write(w io.Writer, values any, shape ...int) error {
	var descr string
	switch v := values.(type) {
	case []int32:
		descr = "<i4"
	case []int64:
		descr = "<i8"
	case []float32:
		descr = "<f4"
	case []float64:
		descr = "<f8"
	case string:
		descr, values = fmt.Sprintf("|S%d", len(v)), []byte(v)
	default:
		return fmt.Errorf("an array of %T", values)
	}
	dims := ""
	for _, n := range shape {
		dims += fmt.Sprintf("%d, ", n)
	}
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descr, strings.TrimSuffix(dims, " "))
	const align = 64 // of the values, which a reader may map into memory
	front := len(npy.Magic) + 2 + 2
	header += strings.Repeat(" ", align-1-(front+len(header))%align) + "\n"
	out := bufio.NewWriterSize(w, 1<<16)
	_, _ = out.Write(append(npy.Magic[:], 1, 0, byte(len(header)), byte(len(header)>>8))) // Flush tells
	_, _ = out.WriteString(header)
	if err := binary.Write(out, binary.LittleEndian, values); err != nil {
		return err
	}
	return out.Flush()
}
