package plane

import (
	"math"
	"math/rand/v2"

	"rivulet/graph"
)

const (
	neighbours = 15  // k: nodes that a node is drawn to
	repelling  = 3   // random nodes that repel each end of a tie when it is drawn
	pull       = 4.0 // most that a step moves a coordinate, at the learning rate of the first epoch
)

// epochs returns how often each tie is drawn, in all about as many steps for any large N'.
func epochs(n int) int { return min(400, max(60, 600_000/max(1, n))) }

// place lays the nodes of points out in the plane, N'×2, each coordinate within [-1, 1].
func place(points *graph.Dense, rng *rand.Rand) *graph.Dense {
	xy := start(points, rng)
	attract(xy, ties(nearest(points, neighbours)), rng)
	return framed(xy)
}

// start returns the nodes in the first two principal directions, 20 units wide, with a little noise so that no two
// are at one place.
func start(points *graph.Dense, rng *rand.Rand) []float64 {
	xy := make([]float64, 2*points.Rows)
	for k := range min(2, points.Cols) {
		most := 0.0
		for i := range points.Rows {
			most = max(most, math.Abs(float64(points.Row(i)[k])))
		}
		for i := range points.Rows {
			if most > 0 {
				xy[2*i+k] = 10 * float64(points.Row(i)[k]) / most
			}
		}
	}
	for k := range xy {
		xy[k] += 1e-3 * rng.NormFloat64()
	}
	return xy
}

// attract moves the nodes by stochastic gradient descent on the cross-entropy of ties and places: a tie of weight w is
// drawn in a share w/max w of the epochs, and each time some random nodes repel its ends (UMAP, algorithm 5). Nearness
// in the plane is 1/(1 + d²) of a distance d, UMAP's curve with a = b = 1, which needs no powers.
func attract(xy []float64, all []tie, rng *rand.Rand) {
	n := len(xy) / 2
	heaviest := 0.0
	for _, t := range all {
		heaviest = max(heaviest, t.weight)
	}
	due := make([]float64, len(all)) // how much of a draw each tie has saved up
	total := epochs(n)
	for epoch := range total {
		rate := 1 - float64(epoch)/float64(total)
		for k, t := range all {
			if due[k] += t.weight / heaviest; due[k] < 1 {
				continue
			}
			due[k]--
			a, b := xy[2*t.a:2*t.a+2], xy[2*t.b:2*t.b+2]
			draw(a, b, rate)
			for range repelling {
				push(a, xy[2*rng.IntN(n):], rate)
				push(b, xy[2*rng.IntN(n):], rate)
			}
		}
	}
}

// draw moves two ends of a tie towards each other.
func draw(a, b []float64, rate float64) {
	dx, dy := a[0]-b[0], a[1]-b[1]
	d := dx*dx + dy*dy
	by := -2 / (1 + d)
	mx, my := rate*clip(by*dx), rate*clip(by*dy)
	a[0], a[1], b[0], b[1] = a[0]+mx, a[1]+my, b[0]-mx, b[1]-my
}

// push moves a away from b, which stays; a node does not push itself.
func push(a, b []float64, rate float64) {
	dx, dy := a[0]-b[0], a[1]-b[1]
	d := dx*dx + dy*dy
	if d == 0 {
		return
	}
	by := 2 / ((0.001 + d) * (1 + d))
	a[0] += rate * clip(by*dx)
	a[1] += rate * clip(by*dy)
}

func clip(v float64) float64 { return min(pull, max(-pull, v)) }

// framed returns the places moved and scaled, both directions alike, into the square from -1 to 1.
func framed(xy []float64) *graph.Dense {
	out := graph.NewDense(len(xy)/2, 2)
	var middle, half [2]float64
	for k := range 2 {
		low, high := math.Inf(1), math.Inf(-1)
		for i := k; i < len(xy); i += 2 {
			low, high = min(low, xy[i]), max(high, xy[i])
		}
		middle[k], half[k] = (low+high)/2, (high-low)/2
	}
	scale := max(half[0], half[1])
	if scale == 0 { // a single node
		return out
	}
	for i, v := range xy {
		out.Data[i] = float32(min(1, max(-1, (v-middle[i%2])/scale)))
	}
	return out
}
