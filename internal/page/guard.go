package page

import (
	"mime"
	"net/http"
	"slices"
	"strings"

	"rivulet/internal/httpd"
)

// Guard decides who may ask.
type Guard struct {
	// Hosts are the values of the Host header under which the page is reached, such as localhost:9466. Others are
	// refused, so that no other site's name can be made to point here.
	Hosts []string
	// TLS says that the page is served over https.
	TLS bool
	// Tokens are the bearer tokens that requests for data need; nil: they need none.
	Tokens httpd.Tokens
}

// policy is the content security policy: scripts, styles and data from the page's own server, and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; frame-ancestors 'none'"

// protect checks each request before anything else sees it.
func (g Guard) protect(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		switch {
		case !slices.Contains(g.Hosts, strings.ToLower(r.Host)):
			refuse(w, http.StatusMisdirectedRequest, "host",
				"this page is not reached under that name; page.hosts lists its names")
		case !g.sameOrigin(r):
			refuse(w, http.StatusForbidden, "origin", "requests from other sites are refused")
		case r.Method == http.MethodPost && !isJSON(r.Header.Get("Content-Type")):
			refuse(w, http.StatusUnsupportedMediaType, "content_type", "want application/json")
		case strings.HasPrefix(r.URL.Path, "/api/") && !g.knows(w, r):
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// sameOrigin reports whether a request comes from the page itself, from no page at all, or from a link elsewhere: it
// may lead here, but shows no data by itself.
func (g Guard) sameOrigin(r *http.Request) bool {
	return httpd.Origin{TLS: g.TLS}.Same(r) || r.Header.Get("Origin") == "" && r.Method == http.MethodGet &&
		r.URL.Path == "/" && r.Header.Get("Sec-Fetch-Mode") == "navigate"
}

// knows reports whether a request has the token, and answers it if not.
func (g Guard) knows(w http.ResponseWriter, r *http.Request) bool {
	if g.Tokens == nil {
		return true
	}
	if given, ok := httpd.Bearer(r.Header); ok && g.Tokens.Takes(given) {
		return true
	}
	w.Header().Set("WWW-Authenticate", `Bearer realm="rivulet page"`)
	refuse(w, http.StatusUnauthorized, "token", "want the page's token as a bearer token")
	return false
}

func isJSON(contentType string) bool {
	name, _, err := mime.ParseMediaType(contentType)
	return err == nil && name == "application/json"
}
