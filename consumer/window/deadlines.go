package window

// deadlines is a heap of the records that wait, the earliest deadline first.
type deadlines []*entry

// Len returns the number of records.
func (d deadlines) Len() int { return len(d) }

// Less compares two deadlines.
func (d deadlines) Less(i, j int) bool { return d[i].deadline < d[j].deadline }

// Swap exchanges two records.
func (d deadlines) Swap(i, j int) {
	d[i], d[j] = d[j], d[i]
	d[i].place, d[j].place = i, j
}

// Push adds a record.
func (d *deadlines) Push(x any) {
	x.(*entry).place = len(*d)
	*d = append(*d, x.(*entry))
}

// Pop removes the last record.
func (d *deadlines) Pop() any {
	last := (*d)[len(*d)-1]
	(*d)[len(*d)-1] = nil
	*d = (*d)[:len(*d)-1]
	return last
}
