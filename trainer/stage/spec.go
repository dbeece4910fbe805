package stage

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Function is a stage at work: a pure function from the records of one key to records. It is made once in a process and
// called for many keys, by one goroutine at a time; anything that it keeps from one key to the next must not change a
// result.
type Function interface {
	// Reduce takes all records of a key, in the order of [Compare]. Where [Spec.Map] is set, they are any of the
	// records, and the key is meaningless. An error names the row that is wrong.
	Reduce(key int64, in Records, out Output) error
}

// Constructor makes a function of its options and small files. An error names the option.
type Constructor func(options json.RawMessage, sides Sides) (Function, error)

// With makes a constructor of a function that takes its options decoded.
func With[T any](construct func(o T, sides Sides) (Function, error)) Constructor {
	return func(options json.RawMessage, sides Sides) (Function, error) {
		var o T
		if err := json.Unmarshal(options, &o); err != nil {
			return nil, err
		}
		return construct(o, sides)
	}
}

// Fixed makes a constructor of a stage without options.
func Fixed(f Function) Constructor {
	return func(json.RawMessage, Sides) (Function, error) { return f, nil }
}

// Registry holds the functions of a method by name. A worker has the registries of all methods.
type Registry map[string]Constructor

// Join returns the functions of several registries.
func Join(all ...Registry) Registry {
	out := Registry{}
	for _, r := range all {
		maps.Copy(out, r)
	}
	return out
}

// New makes the function of a stage.
func (r Registry) New(s Spec) (Function, error) {
	construct, ok := r[s.Name]
	if !ok {
		return nil, fmt.Errorf("stage %q is not known to this build", s.Name)
	}
	f, err := construct(s.Options, s.Sides)
	if err != nil {
		return nil, fmt.Errorf("stage %s: %w", s.Name, err)
	}
	return f, nil
}

// Spec is a stage with all that it depends on, except its inputs. A worker process makes the stage from the name, the
// options and the files of Sides.
type Spec struct {
	Name    string          // of the function in its [Registry]
	Options json.RawMessage // compact JSON: small, a few kilobytes at most
	Sides   Sides
	Outputs int // tables that it writes
	// Map says that records need not be brought together by key: the function treats each on its own.
	Map bool
}

// Sides are files that a stage reads as a whole, such as weights, by name.
type Sides map[string][]byte

// NewSpec returns a stage of so many outputs. Options must be a value that JSON can hold.
func NewSpec(name string, options any, sides Sides, outputs int) Spec {
	text, err := json.Marshal(options)
	if err != nil {
		panic(fmt.Sprintf("stage %s: its options: %v", name, err)) // cannot be, of a type of ours
	}
	return Spec{Name: name, Options: text, Sides: sides, Outputs: outputs}
}

// Hash is the SHA-256 of the content of a side.
func (s Sides) Hash(name string) string {
	sum := sha256.Sum256(s[name])
	return hex.EncodeToString(sum[:])
}

// Names are the sides' names, in order.
func (s Sides) Names() []string {
	return slices.Sorted(maps.Keys(s))
}

// Code is the revision of the stages' results. It is part of the name of every table: raise it with every change of a
// result, so that an older build's tables are not taken for this one's.
const Code = 4

// Table is the name of an output of a stage on inputs: "NAME-" and 32 hexadecimal digits of the SHA-256 of the
// stage with its options and sides, the inputs' names and the output's number. Two tables of one name have the
// same records.
func (s Spec) Table(output int, inputs ...string) string {
	h := sha256.New()
	fmt.Fprintf(h, "%d\n%s\n%s\n%d\n", Code, s.Name, s.Options, output)
	for _, side := range s.Sides.Names() {
		fmt.Fprintf(h, "side %q %s\n", side, s.Sides.Hash(side))
	}
	for _, input := range inputs {
		fmt.Fprintf(h, "input %q\n", input)
	}
	return strings.ReplaceAll(s.Name, "/", "_") + "-" + hex.EncodeToString(h.Sum(nil))[:32]
}
