package window

import (
	"time"

	"rivulet/kafka"
)

// Reader takes what a cursor reads through a window, and tells the generation where its commits resume.
type Reader struct {
	opts   Options
	g      *kafka.Generation
	cursor *kafka.Cursor
	window *Window
	read   time.Time      // when records were read last
	first  kafka.Position // of the first arrival in line
	since  time.Time      // when it became the first one; zero: none waits
}

// NewReader returns a reader for one partition of a generation.
func NewReader(o Options, g *kafka.Generation, cursor *kafka.Cursor) *Reader {
	return &Reader{opts: o.complete(), g: g, cursor: cursor}
}

// Add takes the records of one fetch, maybe none. lag is how many records are left to read then. The fetch was asked
// for at one time and read at another: a process that was stopped in between says nothing about the partition.
func (r *Reader) Add(records []kafka.Record, lag int64, asked, now time.Time) {
	if len(records) > 0 {
		if r.window == nil {
			r.begin(records[0].Position.Offset)
		}
		r.read = now
	}
	if r.window == nil {
		return
	}
	for i := range records {
		r.window.Add(&records[i])
	}
	r.window.Advance(r.cursor.Next())
	if now.Sub(asked) >= r.opts.Wait+r.opts.Ahead {
		r.since = time.Time{} // the arrivals waited for brokers or a registry, and not for edges
	}
	// The partition is idle, and all that has left the window is committed or on its way to be ([Window.Flush]).
	switch idle := lag == 0 && asked.Sub(r.read) >= r.opts.Wait; {
	case idle && !r.window.waits():
		r.window.restart()
	case idle && r.g.Marked(r.cursor.Partition()) >= r.window.taken:
		r.window.Flush()
	}
}

// tell tells the generation where to go on.
func (r *Reader) tell(p Progress) {
	r.g.Resume(r.cursor.Partition(), kafka.Resume{From: p.From, Next: p.Next, Aside: p.Edges, Note: p.Time})
}

// begin begins a window at an offset. The group's last commit says which records are answered.
func (r *Reader) begin(first int64) {
	resume := r.cursor.Resume()
	r.window = New(r.opts, Progress{Next: resume.Next, Edges: resume.Aside, Time: resume.Note})
	// A batch that ends in the middle of the first output goes on here.
	r.tell(Progress{From: first, Next: max(resume.Next, first), Edges: max(resume.Aside, first), Time: resume.Note})
}

// Take returns the next records that leave the window, and false where none do now.
func (r *Reader) Take() (out Output, some bool) {
	if r.window == nil {
		return out, false
	}
	if out, some = r.window.Take(); some {
		r.tell(out.Progress)
	}
	return out, some
}

// Waiting returns how many records wait in the window: they are read and not answered, so they are behind as those
// that are not read. more have been read and come next. A nil reader has no window, and what it reads waits for
// nothing.
func (r *Reader) Waiting(more int) int64 {
	switch {
	case r == nil:
		return 0
	case r.window != nil:
		more += len(r.window.arrivals) + len(r.window.edges)
	}
	return int64(more)
}

// Stats describes the window. Arrivals that wait longer than they would on a stream whose timestamps move with the
// clock are overdue.
func (r *Reader) Stats(now time.Time) Stats {
	if r.window == nil {
		return Stats{}
	}
	s := r.window.Stats()
	if len(r.window.arrivals) == 0 {
		r.since = time.Time{}
		return s
	}
	if first := r.window.arrivals[0].record.Position; first != r.first || r.since.IsZero() {
		r.first, r.since = first, now
	}
	s.First, s.Held = r.first, now.Sub(r.since)
	s.Overdue = max(0, s.Held-r.opts.Wait-r.opts.Ahead)
	return s
}
