package config

import (
	"strings"
	"testing"
)

// Variables that Kubernetes puts into a container for the Services of its namespace are no settings. An unknown
// variable of another form stops the program, with the setting that it may have meant.
func TestVariablesOfKubernetes(t *testing.T) {
	services := []string{
		"RIVULET_SERVICE_HOST=10.0.0.7", "RIVULET_SERVICE_PORT=8080", "RIVULET_SERVICE_PORT_HTTP=8080",
		"RIVULET_PORT=tcp://10.0.0.7:8080", "RIVULET_PORT_8080_TCP=tcp://10.0.0.7:8080", "RIVULET_PORT_8080_TCP_PROTO=tcp",
		"RIVULET_PORT_8080_TCP_PORT=8080", "RIVULET_PORT_8080_TCP_ADDR=10.0.0.7",
		"RIVULET_PAGE_SERVICE_HOST=10.0.0.8", "RIVULET_PAGE_SERVICE_PORT=53", "RIVULET_PAGE_SERVICE_PORT_DNS_UDP=53",
		"RIVULET_PAGE_PORT=udp://10.0.0.8:53", "RIVULET_PAGE_PORT_53_UDP=udp://10.0.0.8:53",
		"RIVULET_PAGE_PORT_53_UDP_ADDR=10.0.0.8",
		"RIVULET_REDIS_SERVICE_HOST=fd00::7", "RIVULET_REDIS_SERVICE_PORT=6379", "RIVULET_REDIS_PORT=tcp://[fd00::7]:6379",
		"RIVULET_S1_PORT=sctp://10.0.0.9:9", "RIVULET_S1_PORT_9_SCTP_PROTO=sctp",
	}
	cfg, err := Load[Consumer](Sources{Environ: append(services, "RIVULET_BATCH_SIZE=7")})
	if err != nil || cfg.Batch.Size != 7 {
		t.Errorf("with the variables of Services: size %d, %v", cfg.Batch.Size, err)
	}
	for _, tc := range []struct{ variable, suggestion string }{
		{"RIVULET_BATHC_SIZE=1", "did you mean RIVULET_BATCH_SIZE?"},
		{"RIVULET_PORT=8080", ""}, // a number is no link of Kubernetes
		{"RIVULET_HTTP_PORT=9464", ""},
		{"RIVULET_SERVICE_HOST=", ""},
		{"RIVULET_OTHER_SERVICE_PORT=1", ""}, // no Service of this name
		{"RIVULET_SERVICE_PORTS=1", ""},
		{"RIVULET_PORT_8080=tcp://10.0.0.7:8080", ""},
		{"RIVULET_SERVE_LISTNE=:1", "did you mean RIVULET_SERVE_LISTEN?"},
	} {
		_, err := Load[Consumer](Sources{Environ: append(services[8:14:14], tc.variable)})
		name, _, _ := strings.Cut(tc.variable, "=")
		if err == nil || !strings.Contains(err.Error(), name+" (environment): unknown variable") ||
			!strings.Contains(err.Error(), tc.suggestion) {
			t.Errorf("%s: got %v, want an unknown variable, %s", tc.variable, err, tc.suggestion)
		}
	}
}
