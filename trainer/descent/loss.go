package descent

import "math"

// CrossEntropy returns −log softmax(row)[y] and leaves its gradient, softmax(row) − onehot(y), in row. A row has at
// least one logit, and y is the number of one.
func CrossEntropy[F Number](row []F, y int) float64 {
	top := row[0]
	for _, v := range row {
		top = max(top, v)
	}
	target := float64(row[y] - top)
	sum := 0.0
	for c, v := range row {
		e := math.Exp(float64(v - top))
		row[c] = F(e)
		sum += e
	}
	for c, v := range row {
		row[c] = F(float64(v) / sum)
	}
	row[y]--
	return math.Log(sum) - target
}
