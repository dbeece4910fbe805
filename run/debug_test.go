package run

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"rivulet/config"
	"rivulet/test/expect"
)

// Profiles and settings are there, settings without passwords, and not for pages of other sites.
func TestDebugHandler(t *testing.T) {
	cfg := config.Default[config.Consumer]()
	cfg.Redis.URL, cfg.Kafka.SASL.Password = "redis://me:hidden@localhost:6379", "hidden"
	handler := debugHandler(config.Shown(cfg))
	get := func(path, host string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Host = host
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w
	}
	if w := get("/debug/pprof/goroutine?debug=1", "127.0.0.1:6060"); !strings.Contains(w.Body.String(),
		"TestDebugHandler") {
		t.Errorf("goroutines: status %d, %s", w.Code, w.Body)
	}
	w := get("/debug/settings", "127.0.0.1:6060")
	var settings []config.Setting
	expect.OK(t, json.Unmarshal(w.Body.Bytes(), &settings))
	if len(settings) != len(config.Shown(cfg)) || strings.Contains(w.Body.String(), "hidden") {
		t.Errorf("settings: %s", w.Body)
	}
	if w := get("/debug/settings", "evil.example.com"); w.Code != http.StatusMisdirectedRequest {
		t.Errorf("under another name: status %d", w.Code)
	}
}
