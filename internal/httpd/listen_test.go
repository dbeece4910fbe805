package httpd

import (
	"testing"

	"rivulet/test/expect"
)

func TestATakenAddressNamesItsSetting(t *testing.T) {
	l, err := Listen(t.Context(), "http.listen", "127.0.0.1:0")
	expect.OK(t, err)
	defer func() { _ = l.Close() }()
	address := l.Addr().String()
	err = expect.ErrorOf(Listen(t.Context(), "http.listen", address))
	expect.Error(t, err, `http.listen is "`+address+`": another process listens there`)
	expect.Error(t, err, "(--http.listen)")
	expect.Error(t, expect.ErrorOf(Listen(t.Context(), "page.listen", "no-such-host.invalid:1")),
		`page.listen is "no-such-host.invalid:1": `)
}
