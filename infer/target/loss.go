package target

import (
	"math"

	"rivulet/graph"
)

// SoftmaxLoss returns −log softmax(row)[y] and leaves by times its gradient, softmax(row) − onehot(y), in row, in
// float32 except for exponentials and the result. A row has at least one logit, and y is the number of one.
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

// ClassLoss returns Σ_i weight(i)·[SoftmaxLoss](row i) of logits, n×C, leaves weight(i)/scale times its gradient in row
// i, and adds the gradient's column sums to bias, C; nil: they are not asked for. A row with a negative label has no
// loss, and the gradient 0. It is [Task.Loss] of classes by their numbers.
func ClassLoss(logits *graph.Dense, labels []int32, weight func(i int) float64, scale float64,
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

// squaredLoss returns Σ_i share_i·‖row i − target_i‖², and leaves its gradient in the rows.
func squaredLoss(rows, targets *graph.Dense, share []float32) float64 {
	loss := 0.0
	for i := range rows.Rows {
		row, target := rows.Row(i), targets.Row(i)
		for k, v := range row {
			e := v - target[k]
			loss += float64(share[i]) * float64(e) * float64(e)
			row[k] = 2 * share[i] * e
		}
	}
	return loss
}
