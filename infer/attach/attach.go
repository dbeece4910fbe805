package attach

import (
	"math/bits"
	"sync"

	"rivulet/graph"
)

// Attacher attaches batches, each in the memory of the one before, which is no longer to be used then. It serves
// one at a time. The zero value is ready.
type Attacher struct {
	full          graph.Dense
	sparse        graph.CSR
	begin, length []int
	known         []int32
	spare         sync.Pool  // *sums
	looked        lookupRows // of the call under way
	through       throughM
	numbered      numberedRows
	slotted       slottedRows
}

// sums are the sums of a row under way: sums of all columns, which are 0 but in the set.
type sums struct {
	set  columns
	vals []float32
}

// Bytes returns how much memory is kept for the next batch.
func (a *Attacher) Bytes() int {
	return 4*(cap(a.full.Data)+cap(a.sparse.ColIdx)+cap(a.sparse.Val)+cap(a.known)) + 8*(cap(a.begin)+cap(a.length)) +
		a.slotted.bytes()
}

func (a *Attacher) sums(synthetic int) *sums {
	if s, ok := a.spare.Get().(*sums); ok && len(s.vals) == synthetic {
		return s
	}
	return &sums{newColumns(synthetic), make([]float32, synthetic)}
}

// Attach sets the edges to S of arrivals as [Batch.Attach] does, for tables of slots: r has the columns of all slots.
func (a *Attacher) Attach(b *Batch, neighbours [][]Row, slots *graph.Slots, synthetic int) {
	read := a.Read(neighbours, slots, synthetic)
	a.looked = lookupRows{read}
	a.set(b, &a.looked, slots.Len()*synthetic)
	a.looked = lookupRows{}
	b.Weights = sumWeights(read, slots)
}

// AttachThrough sets the edges to S of arrivals as [Batch.AttachThrough] does.
func (a *Attacher) AttachThrough(b *Batch, edges, m *graph.CSR, slots *graph.Slots) {
	if !slots.Plain() {
		a.Attach(b, through(edges, m), slots, m.Cols)
		return
	}
	a.through = throughM{edges, m}
	a.set(b, &a.through, m.Cols)
	a.through = throughM{}
}

// AttachNumbered sets the edges to S of arrivals as Attach does, bit for bit, from an M in memory (m, N×synthetic):
// numbers has the row number of every neighbour, arrival by arrival, 0 for an unknown one; the numbers of arrival i end
// at ends[i].
func (a *Attacher) AttachNumbered(b *Batch, m *PackedRows, numbers []uint32, ends []int32, synthetic int) {
	a.numbered = numberedRows{m, numbers, ends}
	a.set(b, &a.numbered, synthetic)
	a.numbered = numberedRows{}
}

func (a *Attacher) set(b *Batch, of neighbourhood, synthetic int) {
	if meetMost(of, synthetic) {
		b.R = nil
		b.Full, b.Known = a.attachFull(of, synthetic)
		return
	}
	b.Full = nil
	b.R, b.Known = a.attach(of, synthetic)
}

// Attach sets the edges to S of arrivals, given the rows of M of their distinct neighbours: Known, and r = aM (n×N',
// paper's Eq. 11), bit for bit the r of the function Attach. It is in Full if most rows of r would meet most columns,
// as on a small S with many neighbours an arrival, else in R.
func (b *Batch) Attach(neighbours [][]Row, synthetic int) {
	new(Attacher).Attach(b, neighbours, &graph.Slots{}, synthetic)
}

// AttachThrough is [Batch.Attach], bit for bit, for an M in memory (m, N×N'): row i of edges (n×N) has the neighbours
// of arrival i as columns, all nodes of T, and the edges' weights as values where there are weights. Where slots are of
// types or directions, edges are [A_1 | … | A_R] to T's nodes, n×RN, or their means.
func (b *Batch) AttachThrough(edges, m *graph.CSR, slots *graph.Slots) {
	new(Attacher).AttachThrough(b, edges, m, slots)
}

// meetMost tells whether arrivals have about as many entries of M as S has nodes, or more. Of many arrivals some
// stand for all.
func meetMost(of neighbourhood, synthetic int) bool {
	const some = 16
	each := 1 + of.arrivals()/some
	for i := 0; i < of.arrivals(); i += each {
		of.prefetch(i)
	}
	met, room := 0, 0
	for i := 0; i < of.arrivals(); i += each {
		_, entries := of.count(i)
		met += min(entries, synthetic)
		room += synthetic
	}
	return 4*met >= 3*room && room > 0
}

// attachFull is attach in full.
func (a *Attacher) attachFull(of neighbourhood, synthetic int) (r *graph.Dense, known []int32) {
	n := of.arrivals()
	a.full = graph.Dense{Rows: n, Cols: synthetic, Data: sized(a.full.Data, n*synthetic)}
	a.known = sized(a.known, n)
	r, known = &a.full, a.known
	graph.ParallelRows(n, attachWork*n*synthetic, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			if i+1 < hi {
				of.prefetch(i + 1)
			}
			sums := r.Row(i)
			clear(sums)
			known[i] = of.addFull(i, sums)
		}
	})
	return r, known
}

// Attach computes r = aM (n×N', paper's Eq. 11) and the number of known neighbours from the rows of M of each
// arrival's distinct neighbours; unknown neighbours are skipped. A row of r has ascending columns; its sums are
// taken in the order of the neighbours, so that they depend on the arrival alone.
func Attach(neighbours [][]Row, synthetic int) (r *graph.CSR, known []int32) {
	return new(Attacher).attach(&lookupRows{neighbours}, synthetic)
}

// attach is the function Attach, in the memory of the batch before.
func (a *Attacher) attach(of neighbourhood, synthetic int) (r *graph.CSR, known []int32) {
	n := of.arrivals()
	a.known, a.begin, a.length = sized(a.known, n), sized(a.begin, n+1), sized(a.length, n)
	// Where each row of r may begin. With many neighbours, r has far fewer entries than are added up.
	known, begin, length := a.known, a.begin, a.length
	begin[0] = 0
	met := 0
	for i := range n {
		met += of.edges(i)
	}
	graph.ParallelRows(n, met, func(lo, hi int) {
		s := a.sums(synthetic)
		for i := lo; i < hi; i++ {
			var entries int
			if known[i], entries = of.count(i); entries > synthetic/2 { // many are equal
				of.mark(i, s.set)
				entries = s.set.count()
			}
			begin[i+1] = entries
		}
		a.spare.Put(s)
	})
	for i := range n {
		begin[i+1] += begin[i]
	}
	a.sparse = graph.CSR{Rows: n, Cols: synthetic, ColIdx: sized(a.sparse.ColIdx, begin[n]),
		Val: sized(a.sparse.Val, begin[n])}
	r = &a.sparse
	graph.ParallelRows(n, attachWork*begin[n], func(lo, hi int) {
		s := a.sums(synthetic)
		for i := lo; i < hi; i++ {
			if i+1 < hi {
				of.prefetch(i + 1)
			}
			of.add(i, s)
			length[i] = s.set.take(r.ColIdx[begin[i]:begin[i+1]], r.Val[begin[i]:begin[i+1]], s.vals)
		}
		a.spare.Put(s)
	})
	end := 0 // rows move up to where the one before ends
	for i, n := range length {
		from := begin[i]
		copy(r.ColIdx[end:], r.ColIdx[from:from+n])
		copy(r.Val[end:], r.Val[from:from+n])
		begin[i] = end
		end += n
	}
	begin[n] = end
	r.RowPtr, r.ColIdx, r.Val = begin, r.ColIdx[:end], r.Val[:end]
	return r, known
}

// attachWork is the cost of an entry to attach, in multiply-adds of a product.
const attachWork = 8

// sized returns memory for n values, which it does not set; never nil.
func sized[T any](s []T, n int) []T {
	if s == nil || cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// columns is a set of column numbers, a bit each: adding to it never branches, and it is read in ascending
// order.
type columns []uint64

func newColumns(n int) columns { return make(columns, (n+63)/64) }

// add adds columns, and their values to the sums.
func (s columns) add(cols []int32, vals, sums []float32) {
	vals = vals[:len(cols)]
	for p, c := range cols {
		s.addOne(uint32(c), vals[p], sums)
	}
}

// addOne adds a column, and its value to the sums.
func (s columns) addOne(col uint32, val float32, sums []float32) {
	s[col/64] |= 1 << (col % 64)
	sums[col] += val
}

// mark adds columns.
func (s columns) mark(cols []int32) {
	for _, c := range cols {
		s[uint32(c)/64] |= 1 << (uint32(c) % 64)
	}
}

// count is the number of columns. It leaves the set empty.
func (s columns) count() int {
	n := 0
	for k, word := range s {
		n += bits.OnesCount64(word)
		s[k] = 0
	}
	return n
}

// take moves the columns and their sums to cols and vals and returns how many there are. It leaves the set empty
// and the sums 0.
func (s columns) take(cols []int32, vals, sums []float32) int {
	n := 0
	for k, word := range s {
		for ; word != 0; word &= word - 1 {
			c := 64*k + bits.TrailingZeros64(word)
			cols[n], vals[n] = int32(c), sums[c]
			sums[c] = 0
			n++
		}
		s[k] = 0
	}
	return n
}
