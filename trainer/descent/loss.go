package descent

import (
	"math"

	"rivulet/graph"
)

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

// SoftmaxLoss returns CrossEntropy(row, y) and leaves by times its gradient in row, in float32 except for exponentials
// and the result.
func SoftmaxLoss(row []float32, y int, by float32) float64 {
	top := row[0]
	for _, v := range row {
		top = max(top, v)
	}
	target := row[y] - top
	sum := exponentials(row, top)
	share := by / sum
	for c := range row {
		row[c] *= share
	}
	row[y] -= by
	return math.Log(float64(sum)) - float64(target)
}

// lossRows is the number of rows whose losses one goroutine sums up: sums of sums, in one order for any number of
// goroutines.
const lossRows = 2048

// WeightedLoss returns Σ_i weight(i)·CrossEntropy(row i) of logits, n×C, leaves weight(i)/scale times its gradient
// in row i, and adds the gradient's column sums to bias, C; nil: they are not asked for. A row with a negative label
// has no loss, and the gradient 0.
func WeightedLoss(logits *graph.Dense, labels []int32, weight func(i int) float64, scale float64,
	bias []float64) float64 {
	chunks := (logits.Rows + lossRows - 1) / lossRows
	losses, columns := make([]float64, chunks), make([]float64, chunks*logits.Cols)
	graph.ParallelRows(chunks, 16*len(logits.Data), func(lo, hi int) {
		for chunk := lo; chunk < hi; chunk++ {
			sums := columns[chunk*logits.Cols:][:logits.Cols]
			for i := chunk * lossRows; i < min((chunk+1)*lossRows, logits.Rows); i++ {
				row, by := logits.Row(i), weight(i)
				if labels[i] < 0 {
					clear(row)
					continue
				}
				losses[chunk] += by * SoftmaxLoss(row, int(labels[i]), float32(by/scale))
				for c, v := range row {
					sums[c] += float64(v)
				}
			}
		}
	})
	loss := 0.0
	for chunk, l := range losses {
		loss += l
		for c := range bias {
			bias[c] += columns[chunk*logits.Cols+c]
		}
	}
	return loss
}

// SoftLoss returns Σ_i share_i·CE(target_i, softmax(row i)) of logits, n×C, with rows of probabilities as targets, and
// leaves its gradient, share_i·(softmax(row i) − target_i), in row i.
func SoftLoss(logits, targets *graph.Dense, share []float32) float64 {
	return sumLosses(logits, targets, share, softLoss)
}

// LabelLoss returns Σ_i share_i·Σ_c BCE(target_ic, σ(row_ic)) of logits, n×C, with targets from 0 to 1, and leaves its
// gradient, share_i·(σ(row i) − target_i), in row i.
func LabelLoss(logits, targets *graph.Dense, share []float32) float64 {
	return sumLosses(logits, targets, share, labelLoss)
}

// labelLoss is one row of [LabelLoss], without its share.
func labelLoss(row, target []float32, by float32) float64 {
	loss := 0.0
	for c, v := range row {
		z, y := float64(v), float64(target[c])
		loss += LabelEntropy(z, y)
		row[c] = by * float32(1/(1+math.Exp(-z))-y)
	}
	return loss
}

// LabelEntropy is −y·log σ(z) − (1−y)·log(1 − σ(z)), the cross-entropy of a label with the logit z.
func LabelEntropy(z, y float64) float64 { return max(z, 0) - z*y + math.Log1p(math.Exp(-math.Abs(z))) }

// sumLosses adds up the losses of rows, each by its share. of returns the loss of a row and leaves its gradient there.
func sumLosses(logits, targets *graph.Dense, share []float32,
	of func(row, target []float32, by float32) float64) float64 {
	chunks := (logits.Rows + lossRows - 1) / lossRows
	losses := make([]float64, chunks)
	graph.ParallelRows(chunks, 16*len(logits.Data), func(lo, hi int) {
		for chunk := lo; chunk < hi; chunk++ {
			for i := chunk * lossRows; i < min((chunk+1)*lossRows, logits.Rows); i++ {
				losses[chunk] += float64(share[i]) * of(logits.Row(i), targets.Row(i), share[i])
			}
		}
	})
	loss := 0.0
	for _, l := range losses {
		loss += l
	}
	return loss
}

// softLoss is [SoftmaxLoss] with a row of probabilities in place of a class.
func softLoss(row, target []float32, by float32) float64 {
	top, expected := row[0], 0.0 // Σ_c target_c·row_c
	for c, v := range row {
		top = max(top, v)
		expected += float64(target[c]) * float64(v)
	}
	sum := exponentials(row, top)
	for c := range row {
		row[c] = by * (row[c]/sum - target[c])
	}
	return math.Log(float64(sum)) + float64(top) - expected
}
