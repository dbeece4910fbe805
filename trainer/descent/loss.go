package descent

import "math"

// CrossEntropy returns −log softmax(row)[y] and leaves its gradient, softmax(row) − onehot(y), in row. A row has at
// least one logit, and y is the number of one. E is the type to which exponentials are rounded before they are
// divided by their sum.
func CrossEntropy[E, F Number](row []F, y int) float64 {
	top := row[0]
	for _, v := range row {
		top = max(top, v)
	}
	sum := 0.0
	for _, v := range row {
		sum += math.Exp(float64(v - top))
	}
	loss := math.Log(sum) - float64(row[y]-top)
	for c, v := range row {
		row[c] = F(float64(E(math.Exp(float64(v-top)))) / sum)
	}
	row[y]--
	return loss
}
