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
	read   time.Time // when records were read last
}

// NewReader returns a reader for one partition of a generation.
func NewReader(o Options, g *kafka.Generation, cursor *kafka.Cursor) *Reader {
	return &Reader{opts: o, g: g, cursor: cursor}
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
	// The partition is idle, and all that has left the window is committed or on its way to be ([Window.Flush]).
	if lag == 0 && r.window.waits() && asked.Sub(r.read) >= r.opts.Wait &&
		r.g.Marked(r.cursor.Partition()) >= r.window.taken {
		r.window.Flush()
	}
}

// tell tells the generation where to go on.
func (r *Reader) tell(p Progress) {
	r.g.Resume(r.cursor.Partition(), kafka.Resume{From: p.From, Next: p.Next, Aside: p.Edges})
}

// begin begins a window at an offset. The group's last commit says which records are answered.
func (r *Reader) begin(first int64) {
	resume := r.cursor.Resume()
	r.window = New(r.opts, Progress{Next: resume.Next, Edges: resume.Aside})
	// A batch that ends in the middle of the first output goes on here.
	r.tell(Progress{From: first, Next: max(resume.Next, first), Edges: max(resume.Aside, first)})
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

// Stats describes the window.
func (r *Reader) Stats() Stats {
	if r.window == nil {
		return Stats{}
	}
	return r.window.Stats()
}
