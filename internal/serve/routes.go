package serve

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"rivulet/internal/httpd"
)

// route is one operation of the API. openapi.json describes all of them.
type route struct {
	method, path string
	open         bool // no token is asked for: probes have none
	serve        handler
}

// handler answers a request, or says why it does not: [Server.measured] answers that.
type handler func(w http.ResponseWriter, r *http.Request) *refusal

// always is a handler that answers by itself whatever it is asked.
func always(serve http.HandlerFunc) handler {
	return func(w http.ResponseWriter, r *http.Request) *refusal {
		serve(w, r)
		return nil
	}
}

const (
	metricsPath  = "/metrics"
	livePath     = "/healthz"
	readyPath    = "/readyz"
	openAPIPath  = "/openapi.json"
	predictPath  = "/predict"
	explainPath  = "/explain"
	otherPattern = "other" // the label of requests of no route
)

func (s *Server) routes() []route {
	get, post := http.MethodGet, http.MethodPost
	return []route{
		{post, predictPath, false, s.predict},
		{post, explainPath, false, s.explain},
		{get, openAPIPath, false, always(serveOpenAPI)},
		{get, metricsPath, false, always(s.o.Health.ServeHTTP)},
		{get, livePath, true, always(s.o.Health.ServeHTTP)},
		{get, readyPath, true, always(s.readyz)},
	}
}

// readyz answers as Health does, but while the server is being stopped.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	if s.Draining() {
		http.Error(w, "the server is being stopped", http.StatusServiceUnavailable)
		return
	}
	s.o.Health.ServeHTTP(w, r)
}

// mux serves the routes; any other path and method gets an answer of the same form as other errors.
func (s *Server) mux() http.Handler {
	mux := http.NewServeMux()
	methods := map[string][]string{}
	for _, r := range s.routes() {
		mux.Handle(r.method+" "+r.path, s.measured(r.path, s.checked(r)))
		methods[r.path] = append(methods[r.path], r.method)
	}
	for path, allowed := range methods {
		slices.Sort(allowed)
		mux.Handle(path, s.measured(path, func(w http.ResponseWriter, r *http.Request) *refusal {
			w.Header().Set("Allow", strings.Join(allowed, ", "))
			return &refusal{http.StatusMethodNotAllowed, "method",
				"the method is " + r.Method + ", want " + strings.Join(allowed, " or ")}
		}))
	}
	mux.Handle("/", s.measured(otherPattern, func(http.ResponseWriter, *http.Request) *refusal {
		return &refusal{http.StatusNotFound, "not_found",
			"there is nothing at this path; " + openAPIPath + " lists what there is"}
	}))
	return mux
}

// asksForHealth reports whether a request is a probe, which a full server still answers.
func (s *Server) asksForHealth(r *http.Request) bool {
	return r.URL.Path == livePath || r.URL.Path == readyPath
}

// checked asks for the token. Where none is asked for, a browser may have been sent here by the page of another site.
func (s *Server) checked(r route) handler {
	if r.open {
		return r.serve
	}
	return func(w http.ResponseWriter, req *http.Request) *refusal {
		if s.o.Tokens == nil {
			if status, detail := s.o.Origin.Refusal(req, "serve.hosts"); status != 0 {
				return &refusal{status, "origin", detail}
			}
		} else if token, ok := httpd.Bearer(req.Header); !ok || !s.o.Tokens.Takes(token) {
			w.Header().Set("WWW-Authenticate", "Bearer")
			return &refusal{http.StatusUnauthorized, "unauthorized",
				"want a header Authorization: Bearer with a token that is taken here"}
		}
		return r.serve(w, req)
	}
}

// measured counts requests, their time and the status of their answers.
func (s *Server) measured(route string, serve handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		begun := time.Now()
		seen := &statusWriter{ResponseWriter: w, status: http.StatusOK}
		header := w.Header()
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Cache-Control", "no-store")
		if e := serve(seen, r); e != nil {
			fail(seen, e)
		}
		took := time.Since(begun)
		s.counted(route, seen.status, took)
		s.o.Log.Debug("a request was answered", "method", r.Method, "route", route, "status", seen.status, "took", took)
	}
}

// statusWriter remembers the status of an answer.
type statusWriter struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements [http.ResponseWriter].
func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap gives [http.ResponseController] the connection.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
