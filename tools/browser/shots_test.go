package browser

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// TestPictures writes pictures of each view: light, dark and narrow.
func TestPictures(t *testing.T) {
	dir := os.Getenv("RIVULET_TEST_SHOTS")
	if dir == "" {
		t.Skip("RIVULET_TEST_SHOTS names no directory")
	}
	at := os.Getenv("RIVULET_TEST_PAGE") // one that runs already
	if at == "" {
		at = startDemo(t).url
		time.Sleep(40 * time.Second) // so that there is something to see
	}
	views := map[string]string{"stream": "?view=stream&minutes=2", "arrival": "?view=arrival&partition=0&offset=3",
		"dead":     "?view=dead",
		"versions": "?view=versions", "map": "?view=map"}
	for mode, l := range map[string]look{"light": desktop, "dark": {width: 1280, height: 900, dark: true},
		"narrow": {width: 390, height: 844}, "narrow-dark": {width: 390, height: 844, dark: true}} {
		ctx := open(t, at, l)
		for view, query := range views {
			var shot []byte
			run(t, ctx, chromedp.Navigate(at+query), chromedp.WaitVisible("main .card", chromedp.ByQuery),
				chromedp.Sleep(2500*time.Millisecond),
				chromedp.FullScreenshot(&shot, 100))
			if wide := eval[float64](t, ctx, "document.documentElement.scrollWidth"); wide > float64(l.width) {
				t.Errorf("%s, %s: the page is %g pixels wide, the screen %d", view, mode, wide, l.width)
			}
			write(t, filepath.Join(dir, "page-"+view+"-"+mode+".png"), shot)
		}
	}
}

// TestPicturesOfDashboards takes pictures of the two dashboards that tools/dashboards draws. It fails if a title is cut
// off, if a legend shows {{label}} in place of a value, and if a panel has neither a chart nor the words "No data".
func TestPicturesOfDashboards(t *testing.T) {
	dir, to := os.Getenv("RIVULET_TEST_DASHBOARDS"), os.Getenv("RIVULET_TEST_SHOTS")
	if dir == "" || to == "" {
		t.Skip("RIVULET_TEST_DASHBOARDS and RIVULET_TEST_SHOTS name no directories: make dashboards sets them")
	}
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(server.Close)
	for _, name := range []string{"stream", "model"} {
		ctx := open(t, server.URL+"/?dashboard="+name, look{width: 1440, height: 900})
		run(t, ctx, chromedp.WaitVisible(".panel canvas", chromedp.ByQuery), chromedp.Sleep(2*time.Second))
		if wrong := eval[string](t, ctx, `[...document.querySelectorAll(".panel")].filter((panel) =>
			[...panel.querySelectorAll("h2")].some((title) => title.scrollWidth > title.clientWidth) ||
			/\{\{|\{\w+="/.test(panel.innerText) ||
			!panel.querySelector("canvas") && !panel.innerText.includes("\n"))
			.map((panel) => panel.innerText.split("\n")[0]).join(", ")`); wrong != "" {
			t.Errorf("%s: cut off, with the name of a label, or empty: %s", name, wrong)
		}
		var shot []byte
		run(t, ctx, chromedp.FullScreenshot(&shot, 100))
		write(t, filepath.Join(to, "dashboard-"+name+".png"), shot)
	}
}

// write writes a picture with a palette of 255 colours, which makes it small.
func write(t *testing.T, path string, shot []byte) {
	t.Helper()
	picture, err := png.Decode(bytes.NewReader(shot))
	if err != nil {
		t.Fatal(err)
	}
	small := image.NewPaletted(picture.Bounds(), paletteOf(picture))
	draw.Draw(small, small.Bounds(), picture, image.Point{}, draw.Src)
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(file, small); err != nil {
		t.Fatal(err)
	}
}

// paletteOf returns the colours of a picture that occur most, rounded to 32 steps where they are too many.
func paletteOf(picture image.Image) color.Palette {
	counts := map[color.RGBA]int{}
	b := picture.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			r, g, b, _ := picture.At(x, y).RGBA()
			counts[color.RGBA{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8), 255}]++
		}
	}
	var palette color.Palette
	for len(palette) < 255 && len(counts) > 0 {
		var most color.RGBA
		n := -1
		for c, k := range counts {
			if k > n {
				most, n = c, k
			}
		}
		palette = append(palette, most)
		for c := range counts { // what is close by is drawn in it
			if near(c, most) {
				delete(counts, c)
			}
		}
	}
	return palette
}

func near(a, b color.RGBA) bool {
	d := func(x, y uint8) int { return max(int(x)-int(y), int(y)-int(x)) }
	return d(a.R, b.R)+d(a.G, b.G)+d(a.B, b.B) < 9
}
