package httpd

import (
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
)

// Origin says from where a browser may ask. Another site's page may not: neither by a request to this server, nor by a
// name of its own that its DNS points here (DNS rebinding).
type Origin struct {
	TLS bool // the server has TLS
	// Hosts are names of the server, beside the names that no other site can have.
	Hosts []string
}

// Knows reports whether a Host header names this server: none (old probes), an IP address, a name without a dot, a name
// that only local networks resolve, this machine's name, or one of Hosts. None of them can be the name of another site.
func (o Origin) Knows(host string) bool {
	name := strings.ToLower(host)
	if bare, _, err := net.SplitHostPort(name); err == nil {
		name = bare
	}
	name = strings.TrimSuffix(strings.Trim(name, "[]"), ".")
	if net.ParseIP(name) != nil || !strings.Contains(name, ".") {
		return true
	}
	for _, local := range []string{".localhost", ".local", ".internal", ".svc", ".test"} {
		if strings.HasSuffix(name, local) {
			return true
		}
	}
	machine, err := os.Hostname()
	return err == nil && strings.EqualFold(machine, name) || slices.ContainsFunc(o.Hosts, func(h string) bool {
		return strings.EqualFold(h, host) || strings.EqualFold(h, name)
	})
}

// Same reports whether a request comes from this server's own pages, or from no page at all. Browsers send Origin with
// every POST, and Sec-Fetch-Site with everything to a trustworthy address.
func (o Origin) Same(r *http.Request) bool {
	scheme := "http"
	if o.TLS {
		scheme = "https"
	}
	origins := r.Header.Values("Origin")
	if len(origins) > 1 || len(origins) == 1 && !strings.EqualFold(origins[0], scheme+"://"+r.Host) {
		return false
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return true
	}
	return false
}

// Refusal returns why a request is refused, and the status of the answer; 0 if it is not.
func (o Origin) Refusal(r *http.Request, setting string) (status int, detail string) {
	switch {
	case !o.Knows(r.Host):
		return http.StatusMisdirectedRequest, "this server is not reached under that name; see " + setting
	case !o.Same(r):
		return http.StatusForbidden, "requests from other sites are refused"
	}
	return 0, ""
}

// Guard refuses requests that a browser sends for another site.
func (o Origin) Guard(next http.Handler, setting string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if status, detail := o.Refusal(r, setting); status != 0 {
			http.Error(w, detail, status)
			return
		}
		next.ServeHTTP(w, r)
	})
}
