package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// No way of printing the settings, and no message about a wrong URL, shows the password.
func TestPasswordIsNotPrinted(t *testing.T) {
	for _, url := range []string{
		"redis://user:hunter2@host:6379/0",
		"redis://:hunter2@host:6379/0?client_name=hunter2",
		// what people write by mistake
		"redis://:pa/hunter2@host:6379/0",
		"redis://:12/hunter2@host:6379/0",
		"redis://:12#hunter2@host:6379/0",
		"redis://:12?hunter2@host:6379/0",
		"redis://:%zzhunter2@host:6379/0",
		"redis:hunter2@host",
		"hunter2@host:6379",
	} {
		cfg := Default[Consumer]()
		cfg.Redis.URL = RedisURL(url)
		var printed bytes.Buffer
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x"} {
			fmt.Fprintf(&printed, verb+"\n"+verb+"\n", cfg, cfg.Redis.URL)
		}
		slog.New(slog.NewTextHandler(&printed, nil)).Info("settings", "config", cfg, "url", cfg.Redis.URL)
		slog.New(slog.NewJSONHandler(&printed, nil)).Info("settings", "config", cfg, "url", cfg.Redis.URL)
		asJSON, _ := json.Marshal(cfg)
		asYAML, _ := yaml.Marshal(cfg)
		printed.Write(asJSON)
		printed.Write(asYAML)
		_, err := Load[Consumer](Sources{Environ: []string{"RIVULET_REDIS_URL=" + url, "RIVULET_BATCH_SIZE=0"}})
		printed.WriteString(err.Error()) // batch.size is wrong in any case
		if strings.Contains(printed.String(), "hunter2") || strings.Contains(printed.String(), fmt.Sprintf("%x", "hunter2")) {
			t.Errorf("%s: the password is in\n%s", url, printed.String())
		}
		if cfg.Redis.URL.Reveal() != url {
			t.Errorf("Reveal gives %s", cfg.Redis.URL.Reveal())
		}
	}
	if got := RedisURL("rediss://user:word@host:6380/2?protocol=3").String(); got != "rediss://user:xxxxx@host:6380/2?…" {
		t.Errorf("String gives %s", got)
	}
}
