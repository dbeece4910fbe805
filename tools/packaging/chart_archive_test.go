package packaging

import (
	"os"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
)

// The chart becomes an archive of a release, where RIVULET_TEST_DIST names its directory. What Helm reads of the archive
// has the version, and runs the image of the version.
func TestChartArchive(t *testing.T) {
	dist, version := os.Getenv("RIVULET_TEST_DIST"), os.Getenv("RIVULET_TEST_VERSION")
	if dist == "" {
		dist = t.TempDir()
	}
	c, err := loader.LoadDir(chartDir)
	if err != nil {
		t.Fatal(err)
	}
	if version == "" {
		version = c.Metadata.Version
	}
	file, err := chartutil.Save(c, dist)
	if err != nil {
		t.Fatal(err)
	}
	packed, err := loader.LoadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if packed.Metadata.Version != version || packed.Metadata.AppVersion != version {
		t.Errorf("%s has the versions %s and %s, want %s", file, packed.Metadata.Version, packed.Metadata.AppVersion, version)
	}
	values, err := chartutil.ToRenderValues(packed, everything(t),
		chartutil.ReleaseOptions{Name: "rivulet", Namespace: "rivulet", Revision: 1, IsInstall: true}, chartutil.DefaultCapabilities)
	if err != nil {
		t.Fatal(err)
	}
	rendered, err := engine.Engine{Strict: true}.Render(packed, values)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(rendered["rivulet/templates/consumer.yaml"], ":"+version+"\"") {
		t.Errorf("the consumers of %s do not run the image %s", file, version)
	}
}
