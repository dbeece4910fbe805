package deploy

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"rivulet/config"
	"rivulet/test/expect"
)

// object has the fields of a Kubernetes object that the tests here compare. tools/packaging checks all fields.
type object struct {
	Kind     string
	Metadata struct{ Name string }
	Data     map[string]string
	Spec     struct {
		Template    podTemplate
		JobTemplate struct {
			Spec struct{ Template podTemplate }
		} `yaml:"jobTemplate"`
		Ports []struct{ Port int }
	}
}

type podTemplate struct {
	Spec struct {
		Service  bool `yaml:"enableServiceLinks"`
		Token    bool `yaml:"automountServiceAccountToken"`
		Grace    int  `yaml:"terminationGracePeriodSeconds"`
		Security struct {
			NonRoot bool `yaml:"runAsNonRoot"`
		} `yaml:"securityContext"`
		Init       []container `yaml:"initContainers"`
		Containers []container
		Volumes    []struct {
			ConfigMap struct{ Name string } `yaml:"configMap"`
		}
	}
}

type container struct {
	Name    string
	Command []string
	Args    []string
	Env     []struct{ Name, Value string }
	Ports   []struct {
		Number int `yaml:"containerPort"`
	}
	Security struct {
		ReadOnly bool `yaml:"readOnlyRootFilesystem"`
	} `yaml:"securityContext"`
}

// objects returns the objects of deploy/kubernetes.
func objects(t *testing.T) (found []object) {
	t.Helper()
	files, err := filepath.Glob("kubernetes/*.yaml")
	expect.OK(t, err)
	for _, name := range files {
		text, err := os.ReadFile(name)
		expect.OK(t, err)
		for document := range strings.SplitSeq(string(text), "\n---\n") {
			var o object
			if err := yaml.Unmarshal([]byte(document), &o); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if o.Kind != "" && o.Kind != "Kustomization" {
				found = append(found, o)
			}
		}
	}
	return found
}

// serviceVariables returns what Kubernetes gives containers for the Services, where enableServiceLinks is left out.
func serviceVariables(all []object) (variables []string) {
	for _, o := range all {
		if o.Kind != "Service" {
			continue
		}
		name := strings.ToUpper(strings.ReplaceAll(o.Metadata.Name, "-", "_"))
		for _, p := range o.Spec.Ports {
			port := strconv.Itoa(p.Port)
			link := name + "_PORT_" + port + "_TCP"
			variables = append(variables, name+"_SERVICE_HOST=10.0.0.7", name+"_SERVICE_PORT="+port,
				name+"_SERVICE_PORT_HTTP="+port, name+"_PORT=tcp://10.0.0.7:"+port, link+"=tcp://10.0.0.7:"+port,
				link+"_PROTO=tcp", link+"_PORT="+port, link+"_ADDR=10.0.0.7")
		}
	}
	return variables
}

// loaders read the settings of each component's program.
var loaders = map[string]func(config.Sources) (listen string, drain time.Duration, err error){
	"consumer": func(from config.Sources) (string, time.Duration, error) {
		cfg, err := config.Load[config.Consumer](from)
		return cfg.HTTP.Listen, cfg.Shutdown.DrainTimeout, err
	},
	"serve": func(from config.Sources) (string, time.Duration, error) {
		cfg, err := config.Load[config.Serve](from)
		return cfg.Server.Listen, cfg.Shutdown.DrainTimeout + 5*time.Second, err // preStop
	},
	"page": func(from config.Sources) (string, time.Duration, error) {
		cfg, err := config.Load[config.Page](from)
		return cfg.Page.Listen, 0, err
	},
	"publish": func(from config.Sources) (string, time.Duration, error) {
		from.Environ = append(from.Environ, "RIVULET_ARTIFACT=/data/artifacts/first") // a flag
		_, err := config.Load[config.Publish](from)
		return "", 0, err
	},
	"train": func(from config.Sources) (string, time.Duration, error) {
		_, err := config.Load[config.Lines](from)
		return "", 0, err
	},
	"refresh": func(from config.Sources) (string, time.Duration, error) {
		_, err := config.Load[config.Refresh](from)
		return "", 0, err
	},
}

// The programs take the settings that the manifests give them, listen where probes and Services ask, have time for
// their drain, and run without rights that they do not need.
func TestKubernetes(t *testing.T) {
	all := objects(t)
	settings := map[string]string{} // files of settings, by the name of their ConfigMap
	for _, o := range all {
		if text, is := o.Data["rivulet.yaml"]; is && o.Kind == "ConfigMap" {
			file := filepath.Join(t.TempDir(), o.Metadata.Name)
			expect.OK(t, os.WriteFile(file, []byte(text), 0o600))
			settings[o.Metadata.Name] = file
		}
	}
	seen := map[string]bool{}
	links := serviceVariables(all)
	for _, o := range all {
		pod := o.Spec.Template.Spec
		if o.Kind == "CronJob" {
			pod = o.Spec.JobTemplate.Spec.Template.Spec
		}
		for _, c := range append(pod.Init, pod.Containers...) {
			seen[c.Name] = true
			if pod.Service || pod.Token || !pod.Security.NonRoot || !c.Security.ReadOnly {
				t.Errorf("%s has rights that it does not need, or variables of Services", c.Name)
			}
			environ := slices.Clone(links)
			for _, v := range c.Env {
				environ = append(environ, v.Name+"="+v.Value)
			}
			for _, v := range pod.Volumes {
				if v.ConfigMap.Name != "" {
					environ = append(environ, "RIVULET_CONFIG="+settings[v.ConfigMap.Name])
				}
			}
			load := loaders[c.Name]
			if load == nil {
				t.Fatalf("container %s is not known here", c.Name)
			}
			listen, drain, err := load(config.Sources{Environ: environ})
			if err != nil {
				t.Errorf("%s: %v", c.Name, err)
			}
			if grace := time.Duration(cmp.Or(pod.Grace, 30)) * time.Second; grace <= drain {
				t.Errorf("%s is killed after %s, in a drain of %s", c.Name, grace, drain)
			}
			for _, p := range c.Ports {
				if !strings.HasSuffix(listen, ":"+strconv.Itoa(p.Number)) {
					t.Errorf("%s listens on %s, and its container says %d", c.Name, listen, p.Number)
				}
			}
		}
	}
	for name := range loaders {
		if !seen[name] {
			t.Errorf("no container is called %s", name)
		}
	}
}
