package window

import (
	"cmp"
	"time"

	"rivulet/kafka"
)

// Reader takes what a cursor reads through a window, and tells the generation where its commits resume.
type Reader struct {
	opts   Options
	g      *kafka.Generation
	cursor *kafka.Cursor
	window *Window
	first  int64        // where the window begins
	resume kafka.Resume // from which offsets on it answers
	at     Progress     // the last one that the generation was told
	before *Window      // of a log that was truncated since; nil: there is none, or all of it has left
	read   time.Time    // when records were read last
}

// NewReader returns a reader for one partition of a generation.
func NewReader(o Options, g *kafka.Generation, cursor *kafka.Cursor) *Reader {
	return &Reader{opts: o, g: g, cursor: cursor}
}

// Add takes the records of one fetch, maybe none. lag is how many records are left to read then. The fetch was asked
// for at one time and read at another: a process that was stopped in between says nothing about the partition.
func (r *Reader) Add(records []kafka.Record, lag int64, asked, now time.Time) {
	if len(records) > 0 {
		if first := records[0].Position.Offset; r.window == nil || first < r.window.next {
			r.begin(first)
		} else if resume := r.cursor.Resume(); resume != r.resume {
			r.goOn(resume) // the log was truncated in front of the window
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

// begin begins a window at an offset, where the group's last commit says how to go on.
func (r *Reader) begin(first int64) {
	if r.window != nil {
		r.window.Flush(true)
		r.before = r.window
	}
	resume := r.cursor.Resume()
	r.window, r.first = New(r.opts, Progress{Idle: resume.Note}), first
	r.goOn(resume)
}

// goOn removes from the window's output the records that the group's last commit counts as answered. Where the log was
// truncated, it forgets the idle marks of the lost part.
func (r *Reader) goOn(resume kafka.Resume) {
	if resume.From > 0 {
		r.window.forgetIdle(resume.From)
	}
	r.resume, r.window.start = resume, Progress{Next: resume.Next, Edges: resume.Aside}
	// A batch that ends in the middle of the first output goes on here.
	r.tell(Progress{From: r.first, Next: max(resume.Next, r.first), Edges: max(resume.Aside, r.first), Idle: resume.Note})
}

// Take returns the next records that leave the window, and false where none do now.
func (r *Reader) Take() (out Output, some bool) {
	if r.before != nil {
		if out, some = r.before.Take(); some {
			out.endAt(r.first)
			return out, true
		}
		r.before = nil
	}
	if r.window == nil {
		return out, false
	}
	if out, some = r.window.Take(); some {
		r.tell(out.Progress)
	}
	return out, some
}

// endAt limits the commit of an output to the offset at which its log was truncated: from there on the new log has
// other records, which are not answered yet.
func (out *Output) endAt(offset int64) {
	out.Progress.Next = min(out.Progress.Next, offset)
	for i := range out.Records {
		at := out.Records[i].Position
		joined := out.Joined[at]
		joined.End = min(cmp.Or(joined.End, at.Offset+1), offset)
		out.Joined[at] = joined
	}
}

// Stats describes the window.
func (r *Reader) Stats() Stats {
	if r.window == nil {
		return Stats{}
	}
	return r.window.Stats()
}
