package page

import (
	"cmp"
	"embed"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"strconv"
	"time"

	"rivulet/internal/httpd"
)

//go:embed static
var static embed.FS

// maxBody is the largest body of a request.
const maxBody = 1 << 20

// Handler answers everything: the page's files, and its data below /api/.
func (p *Page) Handler() http.Handler {
	mux := http.NewServeMux()
	files, err := fs.Sub(static, "static")
	if err != nil {
		panic(err) // it is embedded
	}
	mux.Handle("GET /", http.FileServerFS(plain{files}))
	mux.HandleFunc("GET /api/about", p.about)
	mux.HandleFunc("GET /api/stream", p.stream)
	mux.HandleFunc("GET /api/dead", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, p.deadView())
	})
	mux.HandleFunc("GET /api/versions",
		func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, p.versionsView()) })
	mux.HandleFunc("GET /api/map", p.plane)
	mux.HandleFunc("GET /api/map/node", p.planeNode)
	mux.HandleFunc("GET /api/map/arrivals", p.planeArrivals)
	mux.HandleFunc("GET /api/arrival", p.arrival)
	mux.HandleFunc("POST /api/try", p.try)
	if p.o.Activator != nil {
		mux.HandleFunc("POST /api/activate", p.activate)
	}
	return p.o.Guard.protect(mux)
}

// plain is a file system whose directories are not listed.
type plain struct{ fs.FS }

// Open opens a file, or the directory of the page itself.
func (f plain) Open(name string) (fs.File, error) {
	file, err := f.FS.Open(name)
	if err != nil || name == "." {
		return file, err
	}
	if info, err := file.Stat(); err == nil && info.IsDir() {
		_ = file.Close()
		return nil, fs.ErrNotExist
	}
	return file, nil
}

// About has the facts that do not change while the page runs.
type About struct {
	Topics  Topics `json:"topics"`
	Group   string `json:"group"`
	Labels  bool   `json:"labels"`
	Pinned  bool   `json:"pinned"`
	Serves  string `json:"serves"` // the version that answers here; "": none yet
	Model   string `json:"model"`
	History int    `json:"history"` // seconds
}

func (p *Page) about(w http.ResponseWriter, _ *http.Request) {
	a := About{Topics: p.o.Topics, Group: p.o.Group, Labels: p.o.Labels != nil, Pinned: p.o.Publications == nil,
		History: int(p.o.History.Seconds())}
	if v := p.o.Versions.Current(); v != nil {
		a.Serves, a.Model = v.ID(), v.Model()
	}
	writeJSON(w, http.StatusOK, a)
}

func (p *Page) stream(w http.ResponseWriter, r *http.Request) {
	second, bad1 := strconv.ParseInt(cmp.Or(r.FormValue("after"), "0"), 10, 64)
	sample, bad2 := strconv.ParseUint(cmp.Or(r.FormValue("sample"), "0"), 10, 64)
	if err := errors.Join(bad1, bad2); err != nil {
		refuse(w, http.StatusBadRequest, "query", err.Error())
		return
	}
	var view Stream
	if v := p.o.Versions.Current(); v != nil {
		view = p.tally.stream(second, sample, v.Manifest(), v.Model())
	} else {
		view = p.tally.stream(second, sample, nil, "")
	}
	view.Status = p.status()
	writeJSON(w, http.StatusOK, view)
}

// DeadView is the view of the dead letters.
type DeadView struct {
	DeadLetters
	Total  int64  `json:"total"` // in the topic, by its offsets
	Status Status `json:"status"`
}

func (p *Page) deadView() DeadView {
	p.tally.mu.Lock()
	defer p.tally.mu.Unlock()
	return DeadView{p.tally.dead.view(p.tally.now()), p.tally.totals[deadLetterTopic], p.status()}
}

// fault is the answer to a request that cannot be answered otherwise.
type fault struct {
	Reason string `json:"reason"`
	Detail string `json:"detail"`
}

func refuse(w http.ResponseWriter, status int, reason, detail string) {
	writeJSON(w, status, map[string]fault{"error": {reason, detail}})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a client that has gone needs no answer
}

// readJSON reads the body of a request; if that is not the wanted JSON, it answers the request.
func readJSON(w http.ResponseWriter, r *http.Request, v any) bool {
	body, ok := readBody(w, r)
	if !ok {
		return false
	}
	if err := json.Unmarshal(body, v); err != nil {
		refuse(w, http.StatusBadRequest, "unparsable", err.Error())
		return false
	}
	return true
}

func readBody(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(readTimeout)) // where it cannot be set nobody is slow
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var beyond *http.MaxBytesError
	switch {
	case err == nil:
		httpd.BodyRead(w)
		return body, true
	case errors.As(err, &beyond):
		refuse(w, http.StatusRequestEntityTooLarge, "too_large", "want at most "+strconv.Itoa(maxBody)+" bytes")
	case httpd.IsTimeout(err):
		refuse(w, http.StatusRequestTimeout, "timeout", "the body did not come within "+readTimeout.String())
	default:
		refuse(w, http.StatusBadRequest, "unparsable", "the body cannot be read: "+err.Error())
	}
	return nil, false
}
