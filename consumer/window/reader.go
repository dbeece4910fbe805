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
	at     Progress  // the last one that the generation was told
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
	idle := asked.Sub(r.read)
	settle := r.window.settling > 0 && idle >= max(r.opts.Wait, r.opts.Settle)
	if lag == 0 && (settle || r.window.waits() && idle >= r.opts.Wait) &&
		r.g.Marked(r.cursor.Partition()) >= r.window.taken {
		r.window.Flush(settle)
		r.at.Idle = r.window.idleSince(r.at.From)
		r.tell(r.at)
	}
}

// tell tells the generation where to go on.
func (r *Reader) tell(p Progress) {
	r.at = p
	r.g.Resume(r.cursor.Partition(), kafka.Resume{From: p.From, Next: p.Next, Aside: p.Edges, Note: p.Idle})
}

// begin begins a window at an offset. The group's last commit says which records are answered, and where the partition
// was idle; a cursor whose log was truncated since says from which offset on neither counts any more.
func (r *Reader) begin(first int64) {
	resume := r.cursor.Resume()
	r.window = New(r.opts, Progress{Next: resume.Next, Edges: resume.Aside, Idle: resume.Note})
	if resume.From > 0 {
		r.window.forgetIdle(resume.From)
	}
	// A batch that ends in the middle of the first output goes on here.
	r.tell(Progress{From: first, Next: max(resume.Next, first), Edges: max(resume.Aside, first), Idle: resume.Note})
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
