package httpd

import (
	"net/http"
	"strings"
)

// Tokens says which bearer tokens are taken.
type Tokens interface {
	// Takes reports whether a token is valid, in a time that does not tell how much of it is right.
	Takes(token string) bool
}

// Bearer returns the token of the one Authorization header. Tokens are looked for nowhere else: addresses and cookies
// end in logs.
func Bearer(h http.Header) (string, bool) {
	values := h.Values("Authorization")
	if len(values) != 1 {
		return "", false
	}
	scheme, token, found := strings.Cut(values[0], " ")
	return token, found && strings.EqualFold(scheme, "Bearer") && token != ""
}
