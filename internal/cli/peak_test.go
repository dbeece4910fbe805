package cli

import "testing"

func TestPeakGrowsWithWhatIsTouched(t *testing.T) {
	before := PeakBytes()
	const size = 256 << 20
	block := make([]byte, size)
	for i := 0; i < len(block); i += 4096 {
		block[i] = 1
	}
	if after := PeakBytes(); before <= 0 || after < size {
		t.Errorf("peak went from %d to %d bytes after touching %d", before, after, size)
	}
	_ = block[len(block)-1]
}
