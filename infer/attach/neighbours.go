package attach

import "rivulet/graph"

// neighbourhood gives the rows of M of the distinct neighbours of some arrivals. Rows that are not known are passed
// over.
type neighbourhood interface {
	arrivals() int
	// edges returns the number of neighbours of an arrival, known or not.
	edges(i int) int
	// count returns the number of known neighbours, and of entries of their rows.
	count(i int) (known int32, entries int)
	// mark adds the columns of the rows to a set.
	mark(i int, set columns)
	// add adds the rows to sums, in the order of the neighbours.
	add(i int, s *sums)
	// addFull adds them to sums of all columns, and returns the number of known neighbours.
	addFull(i int, sums []float32) (known int32)
	// prefetch has the rows brought closer, if that is known how to do.
	prefetch(i int)
}

// lookupRows are rows that were looked up.
type lookupRows struct{ rows [][]Row }

func (l *lookupRows) arrivals() int   { return len(l.rows) }
func (l *lookupRows) edges(i int) int { return len(l.rows[i]) }

func (l *lookupRows) count(i int) (known int32, entries int) {
	rows := l.rows[i]
	for k := range rows {
		if rows[k].Known {
			known++
			entries += len(rows[k].Cols)
		}
	}
	return known, entries
}

func (l *lookupRows) mark(i int, set columns) {
	rows := l.rows[i]
	for k := range rows {
		if rows[k].Known {
			set.mark(rows[k].Cols)
		}
	}
}

func (l *lookupRows) add(i int, s *sums) {
	rows := l.rows[i]
	for k := range rows {
		if row := &rows[k]; row.Known {
			s.set.add(row.Cols, row.Vals, s.vals)
		}
	}
}

func (l *lookupRows) addFull(i int, sums []float32) (known int32) {
	rows := l.rows[i]
	for k := range rows {
		row := &rows[k]
		if !row.Known {
			continue
		}
		known++
		vals := row.Vals[:len(row.Cols)]
		for p, c := range row.Cols {
			sums[c] += vals[p]
		}
	}
	return known
}

func (*lookupRows) prefetch(int) {}

// throughM are neighbours in T, a (n×N), with rows from an M in memory.
type throughM struct{ a, m *graph.CSR }

func (t *throughM) arrivals() int   { return t.a.Rows }
func (t *throughM) edges(i int) int { return t.a.RowLen(i) }

func (t *throughM) count(i int) (known int32, entries int) {
	nodes, _ := t.a.Row(i)
	for _, j := range nodes {
		entries += t.m.RowLen(int(j))
	}
	return int32(len(nodes)), entries
}

func (t *throughM) mark(i int, set columns) {
	nodes, _ := t.a.Row(i)
	for _, j := range nodes {
		cols, _ := t.m.Row(int(j))
		set.mark(cols)
	}
}

func (t *throughM) add(i int, s *sums) {
	nodes, _ := t.a.Row(i)
	for _, j := range nodes {
		cols, vals := t.m.Row(int(j))
		s.set.add(cols, vals, s.vals)
	}
}

func (t *throughM) addFull(i int, sums []float32) (known int32) {
	nodes, _ := t.a.Row(i)
	for _, j := range nodes {
		cols, vals := t.m.Row(int(j))
		vals = vals[:len(cols)]
		for p, c := range cols {
			sums[c] += vals[p]
		}
	}
	return int32(len(nodes))
}

func (*throughM) prefetch(int) {}
