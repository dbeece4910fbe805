package graph

// Softmax sets dst = softmax(logits/temperature); dst may be logits.
func Softmax(dst, logits []float32, temperature float32) {
	top := logits[0]
	for _, v := range logits {
		if v > top {
			top = v
		}
	}
	var room [64]float64
	sum, factor := 0.0, 1/float64(temperature)
	for at := 0; at < len(logits); at += len(room) {
		some := logits[at:min(at+len(room), len(logits))]
		Exponentials(room[:], some, top, factor)
		for k, e := range room[:len(some)] {
			dst[at+k] = float32(e)
			sum += e
		}
	}
	share := 1 / sum
	for k, e := range dst {
		dst[k] = float32(float64(e) * share)
	}
}

// ArgMax is the column of the largest value of a row; of equal values the first.
func ArgMax(row []float32) int {
	best := 0
	for k, v := range row {
		if v > row[best] {
			best = k
		}
	}
	return best
}
