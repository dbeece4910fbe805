package record

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/sr"
	"github.com/twmb/franz-go/pkg/sr/srfake"

	"rivulet/event"
)

// Registry is a schema registry in this process, with a schema for each form by the registry.
type Registry struct {
	server  *srfake.Registry
	root    string       // of the module
	away    atomic.Bool  // it answers no request
	refused atomic.Int64 // requests while it was away

	mu  sync.Mutex
	ids map[Form]uint32
	n   int // of the schemas
}

// NewRegistry starts a registry. root is the directory of the module. The caller closes it.
func NewRegistry(root string) (*Registry, error) {
	r := &Registry{server: srfake.New(), root: root, ids: map[Form]uint32{}}
	r.server.Intercept(func(w http.ResponseWriter, _ *http.Request) bool {
		if !r.away.Load() {
			return false
		}
		r.refused.Add(1)
		http.Error(w, "away", http.StatusServiceUnavailable)
		return true
	})
	return r, r.Renew()
}

// URL returns the registry's address.
func (r *Registry) URL() string { return r.server.URL() }

// Close ends the registry.
func (r *Registry) Close() { r.server.Close() }

// ID returns the number of the newest schema of a form.
func (r *Registry) ID(form Form) uint32 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ids[form]
}

// Renew registers new schemas, which nobody has read yet and which mean the same.
func (r *Registry) Renew() error {
	proto, err := os.ReadFile(filepath.Join(r.root, "event", "schema", "arrival.proto"))
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.n++
	for form, schema := range map[Form]sr.Schema{
		ByAvro:  {Type: sr.TypeAvro, Schema: strings.Replace(event.ArrivalAvro, "{", fmt.Sprintf(`{"version": %d,`, r.n), 1)},
		ByProto: {Type: sr.TypeProtobuf, Schema: fmt.Sprintf("%s\n// version %d\n", proto, r.n)},
		ByJSON: {Type: sr.TypeJSON, Schema: strings.Replace(string(event.ArrivalSchema), "{",
			fmt.Sprintf(`{"x-version": %d,`, r.n), 1)},
	} {
		id, _, err := r.server.RegisterSchema(fmt.Sprintf("%s %d", form, r.n), schema)
		if err != nil {
			return fmt.Errorf("registering the schema of %s: %w", form, err)
		}
		r.ids[form] = uint32(id)
	}
	return nil
}

// SetAway has the registry answer no request, or all of them. It returns how many it has refused so far.
func (r *Registry) SetAway(away bool) int64 {
	r.away.Store(away)
	return r.refused.Load()
}
