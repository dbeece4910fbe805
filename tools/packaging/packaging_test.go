// Package packaging holds no code. Its tests render the Helm chart of deploy/chart, and read the recipe of releases.
// They want the libraries of Helm and goreleaser, so they are a module of their own: nobody who builds Rivulet
// downloads these.
//
//	go test . -update   writes deploy/kubernetes, the chart as plain manifests, and the chart's copy of the alerts
package packaging

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/client-go/kubernetes/scheme"
)

var update = flag.Bool("update", false, "write deploy/kubernetes, and the chart's copy of the alerts")

const (
	chartDir     = "../../deploy/chart/rivulet"
	manifestsDir = "../../deploy/kubernetes"
)

// render returns the rendered templates by their file names, for a release called rivulet.
func render(values chartutil.Values) (map[string]string, error) {
	c, err := loader.Load(chartDir)
	if err != nil {
		return nil, err
	}
	release := chartutil.ReleaseOptions{Name: "rivulet", Namespace: "rivulet", Revision: 1, IsInstall: true}
	all, err := chartutil.ToRenderValues(c, values, release, chartutil.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	rendered, err := engine.Engine{Strict: true}.Render(c, all)
	files := map[string]string{}
	for name, text := range rendered {
		if base := path.Base(name); strings.HasSuffix(base, ".yaml") && strings.TrimSpace(text) != "" {
			files[base] = text
		}
	}
	return files, err
}

// everything returns the values of deploy/kubernetes, which enable all components.
func everything(t *testing.T) chartutil.Values {
	t.Helper()
	values, err := chartutil.ReadValuesFile(filepath.Join(manifestsDir, "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return values
}

// set returns values with further ones, each under its path, such as serve.enabled.
func set(values chartutil.Values, more map[string]any) chartutil.Values {
	for key, value := range more {
		at := values
		keys := strings.Split(key, ".")
		for _, k := range keys[:len(keys)-1] {
			if _, ok := at[k].(map[string]any); !ok {
				at[k] = map[string]any{}
			}
			at = at[k].(map[string]any)
		}
		at[keys[len(keys)-1]] = value
	}
	return values
}

// A chart has no files from outside of its directory, so it has a copy of the alerts.
func TestAlerts(t *testing.T) {
	text, err := os.ReadFile("../../deploy/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	hold(t, filepath.Join(chartDir, "files", "alerts.yaml"), text)
}

// hold compares a file with what it must be, or writes it with -update.
func hold(t *testing.T, file string, want []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, want, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if is, err := os.ReadFile(file); err != nil || !bytes.Equal(is, want) {
		t.Errorf("%s is not up to date: go test . -update in tools/packaging (%v)", file, err)
	}
}

// Each set of values gives objects that Kubernetes' own types take, without a field that they do not have.
func TestObjects(t *testing.T) {
	for name, values := range map[string]chartutil.Values{
		"defaults":   {},
		"everything": everything(t),
		"autoscaled": set(everything(t), map[string]any{"autoscaling.enabled": true,
			"monitoring.dashboards": true, "monitoring.runbooks": "https://git.example/rivulet/"}),
		"static members": set(everything(t), map[string]any{"consumer.staticMembership": true,
			"autoscaling.enabled": true}),
		"page in the network": set(everything(t), map[string]any{"page.secrets": map[string]any{
			"page.tls.cert_file": map[string]any{"name": "tls", "key": "tls.crt"},
			"page.tls.key_file":  map[string]any{"name": "tls", "key": "tls.key"},
			"page.token_file":    map[string]any{"name": "tokens", "key": "tokens"}}}),
		"scheduled": set(chartutil.Values{}, map[string]any{"consumer.nodeSelector": map[string]any{"pool": "stream"},
			"consumer.tolerations": []any{map[string]any{"key": "stream", "operator": "Exists"}},
			"imagePullSecrets":     []any{map[string]any{"name": "registry"}}, "refresh.enabled": true,
			"data.existingClaim": "graph", "data.storageClass": "fast"}),
		"M as a file":            set(everything(t), cached),
		"M as a file of a claim": set(set(everything(t), cached), map[string]any{"cache.existingClaim": "rows"}),
		"serve behind a proxy": set(chartutil.Values{}, map[string]any{"serve.enabled": true, "consumer.enabled": false,
			"serve.settings.serve.open": true, "networkPolicy.enabled": false, "podDisruptionBudget.enabled": false}),
	} {
		t.Run(name, func(t *testing.T) {
			files, err := render(values)
			if err != nil {
				t.Fatal(err)
			}
			for file, text := range files {
				for _, document := range documents(text) {
					if err := decode(document); err != nil {
						t.Errorf("%s: %v in\n%s", file, err, document)
					}
				}
			}
		})
	}
}

var separator = regexp.MustCompile(`(?m)^---$`)

func documents(text string) (found []string) {
	for _, d := range separator.Split(text, -1) {
		if strings.TrimSpace(d) != "" {
			found = append(found, d)
		}
	}
	return found
}

// decode reads an object strictly. KEDA's types would want all of KEDA, so its definition of a ScaledObject is used.
func decode(document string) error {
	if strings.Contains(document, "kind: ScaledObject") {
		return scaledObject(document)
	}
	objects := runtime.NewScheme()
	if err := scheme.AddToScheme(objects); err != nil {
		return err
	}
	if err := monitoring.AddToScheme(objects); err != nil {
		return err
	}
	strict := json.NewSerializerWithOptions(json.DefaultMetaFactory, objects, objects,
		json.SerializerOptions{Yaml: true, Strict: true})
	_, _, err := strict.Decode([]byte(document), nil, nil)
	return err
}

// keda is the module that has the definition.
const keda = "github.com/kedacore/keda/v2@v2.19.0"

func scaledObject(document string) error {
	out, err := exec.Command("go", "mod", "download", "-json", keda).Output()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	module, err := chartutil.ReadValues(out)
	if err != nil {
		return err
	}
	definition, err := chartutil.ReadValuesFile(filepath.Join(module["Dir"].(string),
		"config/crd/bases/keda.sh_scaledobjects.yaml"))
	if err != nil {
		return err
	}
	spec := definition["spec"].(map[string]any)
	version := spec["versions"].([]any)[0].(map[string]any)
	shape := version["schema"].(map[string]any)["openAPIV3Schema"]
	closed(shape)
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("keda.json", shape); err != nil {
		return err
	}
	schema, err := compiler.Compile("keda.json")
	if err != nil {
		return err
	}
	object, err := chartutil.ReadValues([]byte(document))
	if err != nil {
		return err
	}
	return schema.Validate(map[string]any(object))
}

// closed lets a schema refuse what it does not name. The API server drops such fields without a word.
func closed(shape any) {
	switch s := shape.(type) {
	case map[string]any:
		if properties, is := s["properties"].(map[string]any); is && len(properties) > 0 &&
			s["additionalProperties"] == nil && s["x-kubernetes-preserve-unknown-fields"] == nil {
			s["additionalProperties"] = false
		}
		for _, below := range s {
			closed(below)
		}
	case []any:
		for _, below := range s {
			closed(below)
		}
	}
}

func TestLint(t *testing.T) {
	for _, values := range []map[string]any{{}, everything(t)} {
		for _, m := range lint.All(chartDir, values, "rivulet", true).Messages {
			if m.Severity > support.InfoSev {
				t.Errorf("%v", m)
			}
		}
	}
}

// What cannot work is refused with a reason.
func TestRefusals(t *testing.T) {
	for want, values := range map[string]chartutil.Values{
		"serve wants TLS and a token": set(chartutil.Values{}, map[string]any{"serve.enabled": true}),
		"redis.password_file has no key": set(chartutil.Values{}, map[string]any{
			"secrets": map[string]any{"redis.password_file": map[string]any{"name": "redis"}}}),
	} {
		if _, err := render(values); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// byHelm matches labels and annotations that say that Helm keeps an object.
var byHelm = regexp.MustCompile(`(?m)^ *(annotations: \{)?(helm\.sh/|app\.kubernetes\.io/managed-by:).*\n`)

var blank = regexp.MustCompile(`(?m)^[ \t]*\n`)

// deploy/kubernetes is the chart as plain manifests.
func TestManifests(t *testing.T) {
	files, err := render(everything(t))
	if err != nil {
		t.Fatal(err)
	}
	scaled, err := render(set(everything(t), map[string]any{"autoscaling.enabled": true}))
	if err != nil {
		t.Fatal(err)
	}
	files["autoscaling.yaml"] = scaled["autoscaling.yaml"]
	list, err := os.ReadFile(filepath.Join(manifestsDir, "kustomization.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		text := blank.ReplaceAllString(byHelm.ReplaceAllString(files[name], ""), "")
		text = "# Made of deploy/chart/rivulet by tools/packaging; do not edit.\n" + strings.TrimPrefix(text, "---\n")
		hold(t, filepath.Join(manifestsDir, name), []byte(text))
		if !bytes.Contains(list, []byte("- "+name+"\n")) {
			t.Errorf("kustomization.yaml does not name %s", name)
		}
	}
	entries, err := filepath.Glob(filepath.Join(manifestsDir, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != len(files)+2 { // values.yaml and kustomization.yaml
		t.Errorf("%d files are in %s, want %d and two", len(entries), manifestsDir, len(files))
	}
}

// cached are settings of an artifact in a bucket whose M is a file.
var cached = map[string]any{"settings.artifact": "s3://models/next", "settings.cache.directory": "/var/cache/rivulet",
	"cache.sizeLimit": "1Gi"}

// The programs that serve have a volume at cache.directory, of the pod or of a claim; the trainer and pods without that
// setting have none.
func TestCache(t *testing.T) {
	const mount = "- {name: cache, mountPath: /var/cache/rivulet}\n"
	for name, c := range map[string]struct {
		values chartutil.Values
		volume string
		files  []string
	}{
		"none": {everything(t), "", nil},
		"of the pod": {set(everything(t), cached), "emptyDir: {sizeLimit: 1Gi}\n",
			[]string{"consumer.yaml", "page.yaml", "serve.yaml"}},
		"of a claim": {set(set(everything(t), cached), map[string]any{"cache.existingClaim": "rows"}),
			"persistentVolumeClaim: {claimName: rows}\n", []string{"consumer.yaml", "page.yaml", "serve.yaml"}},
	} {
		files, err := render(c.values)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for file, text := range files {
			want := slices.Contains(c.files, file)
			has := strings.Contains(text, "- name: cache\n") && strings.Contains(text, c.volume) && strings.Contains(text, mount)
			if has != want || !want && strings.Contains(text, "name: cache") {
				t.Errorf("%s: %s has the volume: %v, want %v:\n%s", name, file, has, want, text)
			}
		}
	}
}
