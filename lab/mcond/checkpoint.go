package mcond

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"rivulet/graph"
	"rivulet/internal/durable"
)

// A checkpoint file, all numbers little-endian:
//
//	16 bytes   "rivulet mcond\n" and the format version, uint16
//	uint32     length of the header, then the header: JSON of [header]
//	float64    losses gra, str, tra, ind and the evaluations' accuracies, in the numbers of the header
//	float32    X', MLP, their two Adam moments each; M and its moments; the best A', X', M
//	32 bytes   SHA-256 of everything before
//
// Random streams begin anew from the seed each round and are not stored: a run that continues from a checkpoint
// gives the bits of an uninterrupted one.
const (
	checkpointMagic   = "rivulet mcond\n"
	checkpointVersion = 2 // 1: thresholds were not in units of 1/N'
)

// header holds the fingerprint of the run and the lengths of the parts.
type header struct {
	Run       string `json:"run"` // fingerprint of the input and the options
	Round     int    `json:"round"`
	Steps     [3]int `json:"steps"`  // of Adam on X', MLP and M
	Losses    [4]int `json:"losses"` // lengths of the histories
	Evaluated []int  `json:"evaluated"`
	BestRound int    `json:"best_round"` // 0: no best yet
}

// checkpoint is the file of a run; nil if there is none.
type checkpoint struct {
	path string
	run  string
}

// openCheckpoint brings the learner to the state of the file, if there is one.
func (l *learner) openCheckpoint() (*checkpoint, error) {
	if l.o.Checkpoint == "" {
		return nil, nil
	}
	c := &checkpoint{path: l.o.Checkpoint, run: l.fingerprint()}
	data, err := os.ReadFile(c.path)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading checkpoint: %w", err)
	}
	if err := l.restore(data, c.run); err != nil {
		return nil, fmt.Errorf("checkpoint %s: %w; remove it to start anew", c.path, err)
	}
	return c, nil
}

// InterruptedError is the error of a run whose context ended, and whose state is in its checkpoint.
type InterruptedError struct {
	Round int    // the last one that was done
	File  string // the checkpoint
	err   error  // the context's
}

// Error says where the run goes on.
func (i *InterruptedError) Error() string { return i.Kept() + ": " + i.err.Error() }

// Kept says where the run goes on, without why it ended.
func (i *InterruptedError) Kept() string {
	return fmt.Sprintf("the run is in %s up to round %d, and goes on from there when it is started again", i.File, i.Round)
}

// Unwrap returns the context's error.
func (i *InterruptedError) Unwrap() error { return i.err }

// whole returns a context for a round: ctx, or one that does not end with it where the round is to be kept.
func (c *checkpoint) whole(ctx context.Context) context.Context {
	if c == nil {
		return ctx
	}
	return context.WithoutCancel(ctx)
}

// interrupted writes the state after the last round, as the context has ended with err, and returns the run's error.
func (c *checkpoint) interrupted(l *learner, err error) error {
	if c == nil || l.round == 0 {
		return err
	}
	if err := c.write(l); err != nil {
		return fmt.Errorf("interrupted, and writing checkpoint %s after round %d: %w", c.path, l.round, err)
	}
	return &InterruptedError{l.round, c.path, err}
}

// saveIfDue writes the state after a round, every so many rounds and after the last.
func (c *checkpoint) saveIfDue(l *learner) error {
	done := l.round == l.o.Rounds || l.patienceEnded()
	if c == nil || (!done && l.round%checkpointEvery != 0) {
		return nil
	}
	if err := c.write(l); err != nil {
		return fmt.Errorf("writing checkpoint %s after round %d: %w", c.path, l.round, err)
	}
	return nil
}

// write replaces the file atomically: a reader sees the old state or the new one, also after a crash of the machine.
func (c *checkpoint) write(l *learner) error {
	disk, dir := durable.Disk{}, filepath.Dir(c.path)
	err := disk.WriteFile(dir, filepath.Base(c.path), func(w io.Writer) error { return l.encode(w, c.run) })
	if err != nil {
		return err
	}
	return disk.SyncDir(dir)
}

func (l *learner) encode(to io.Writer, run string) error {
	h := header{Run: run, Round: l.round, Steps: [3]int{l.adamX.Steps, l.adamW.Steps, 0}}
	if l.adamM != nil {
		h.Steps[2] = l.adamM.Steps
	}
	accuracies := make([]float64, len(l.evals))
	for k, e := range l.evals {
		h.Evaluated, accuracies[k] = append(h.Evaluated, e.Round), e.Accuracy
	}
	for k, loss := range l.histories() {
		h.Losses[k] = len(*loss)
	}
	if l.best != nil {
		h.BestRound = l.best.round
	}
	text, err := json.Marshal(h)
	if err != nil {
		return err
	}
	sum := sha256.New()
	w := bufio.NewWriterSize(io.MultiWriter(to, sum), 1<<20)
	put := func(v any) {
		if err == nil {
			err = binary.Write(w, binary.LittleEndian, v)
		}
	}
	put([]byte(checkpointMagic))
	put(uint16(checkpointVersion))
	put(uint32(len(text)))
	put(text)
	for _, loss := range l.histories() {
		put(*loss)
	}
	put(accuracies)
	for _, part := range l.parts() {
		put(part)
	}
	if err = errors.Join(err, w.Flush()); err != nil {
		return err
	}
	_, err = to.Write(sum.Sum(nil))
	return err
}

func (l *learner) histories() []*[]float64 {
	return []*[]float64{&l.losses.Gra, &l.losses.Str, &l.losses.Tra, &l.losses.Ind}
}

// parts returns all arrays of the state in their order, as views.
func (l *learner) parts() [][]float32 {
	out := [][]float32{l.x.data, l.adamX.Mean, l.adamX.Square, l.weights.flat, l.adamW.Mean, l.adamW.Square}
	if l.raw != nil {
		out = append(out, l.raw.data, l.adamM.Mean, l.adamM.Square)
	}
	if l.best != nil {
		out = append(out, l.best.adj.data, l.best.x.data)
		if l.best.mapping != nil {
			out = append(out, l.best.mapping.data)
		}
	}
	return out
}

// restore reads the bytes of encode.
func (l *learner) restore(data []byte, run string) error {
	h, rest, err := parseCheckpoint(data)
	if err != nil {
		return err
	}
	if h.Run != run {
		return errors.New("it belongs to a run with other data or other options")
	}
	l.round = h.Round
	l.adamX.Steps, l.adamW.Steps = h.Steps[0], h.Steps[1]
	if l.adamM != nil {
		l.adamM.Steps = h.Steps[2]
	}
	l.best = l.emptyBest(h.BestRound)
	in := bytes.NewReader(rest)
	get := func(v any) {
		if err == nil {
			err = binary.Read(in, binary.LittleEndian, v)
		}
	}
	for k, loss := range l.histories() {
		if h.Losses[k] < 0 || h.Losses[k] > in.Len()/8 {
			return fmt.Errorf("it says %d losses, more than its %d bytes hold", h.Losses[k], in.Len())
		}
		if h.Losses[k] > 0 {
			*loss = make([]float64, h.Losses[k])
			get(*loss)
		}
	}
	accuracies := make([]float64, len(h.Evaluated))
	get(accuracies)
	for k, round := range h.Evaluated {
		l.evals = append(l.evals, Evaluation{round, accuracies[k]})
		if l.best != nil && round == l.best.round {
			l.best.accuracy = accuracies[k]
		}
	}
	for _, part := range l.parts() {
		get(part)
	}
	if err != nil {
		return fmt.Errorf("its arrays do not fit: %w", err)
	}
	if in.Len() > 0 {
		return fmt.Errorf("%d bytes too many", in.Len())
	}
	l.s.forward(l.weights, l.x)
	return nil
}

// emptyBest returns room for the best state; nil for round 0.
func (l *learner) emptyBest(round int) *state {
	if round == 0 {
		return nil
	}
	s := &state{round: round, accuracy: math.NaN(), adj: newMatrix[float32](l.nodes(), l.nodes()),
		x: newMatrix[float32](l.x.rows, l.x.cols)}
	if l.raw != nil {
		s.mapping = newMatrix[float32](l.raw.rows, l.raw.cols)
	}
	return s
}

// parseCheckpoint checks magic, version and checksum and returns the header and the arrays' bytes.
func parseCheckpoint(data []byte) (*header, []byte, error) {
	const fixed = len(checkpointMagic) + 2 + 4
	if len(data) < fixed+sha256.Size || string(data[:len(checkpointMagic)]) != checkpointMagic {
		return nil, nil, errors.New("it is not a checkpoint of learned MCond, or was cut short")
	}
	if v := binary.LittleEndian.Uint16(data[len(checkpointMagic):]); v != checkpointVersion {
		return nil, nil, fmt.Errorf("its format is %d, this program reads %d", v, checkpointVersion)
	}
	body, sum := data[:len(data)-sha256.Size], data[len(data)-sha256.Size:]
	if want := sha256.Sum256(body); !bytes.Equal(want[:], sum) {
		return nil, nil, errors.New("it is damaged: its checksum does not fit")
	}
	length := int64(binary.LittleEndian.Uint32(data[fixed-4:]))
	if length > int64(len(body)-fixed) {
		return nil, nil, fmt.Errorf("its header is %d bytes, more than it has", length)
	}
	h := &header{}
	if err := json.Unmarshal(body[fixed:fixed+int(length)], h); err != nil {
		return nil, nil, fmt.Errorf("its header: %w", err)
	}
	return h, body[fixed+int(length):], nil
}

// fingerprint identifies the run by the whole input except Validate, and the options that influence the result.
func (l *learner) fingerprint() string {
	sum := sha256.New()
	put := func(v any) {
		// binary.Write cannot fail here: all values have a fixed size, and a hash accepts everything.
		if err := binary.Write(sum, binary.LittleEndian, v); err != nil {
			panic(fmt.Sprintf("mcond: hashing %T: %v", v, err))
		}
	}
	options := *l.o
	options.Checkpoint = ""
	text, err := json.Marshal(struct {
		Options  Options
		Mapped   bool
		Validate bool
		Budget   []int
		Classes  int
	}{options, l.raw != nil, l.in.Validate != nil, l.in.Budget, l.in.Classes})
	if err != nil {
		panic(fmt.Sprintf("mcond: naming the run: %v", err)) // options are finite: Validate
	}
	put(text)
	put(l.in.Labels)
	put(l.preparedInput.x.data) // the features as this run sees them: they stand for X and Pre
	pattern := func(m *graph.CSR) {
		for _, k := range m.RowPtr {
			put(int64(k))
		}
		put(m.ColIdx)
	}
	pattern(l.in.Adj)
	if l.in.Support != nil {
		put(l.support.data)
		pattern(l.in.Support.R)
		if l.in.Support.Adj != nil {
			pattern(l.in.Support.Adj)
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}
