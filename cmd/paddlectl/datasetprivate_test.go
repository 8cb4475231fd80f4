package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
)

// TestConvertKeepsPlacesToItself names inputs by whole paths: messages have these,
// manifest and records do not.
func TestConvertKeepsPlacesToItself(t *testing.T) {
	t.Chdir(t.TempDir())
	private := t.TempDir()
	png, err := os.ReadFile(convertData(t, "images/cat/a.png"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{private + "/pets/cat/a.png", private + "/pets/cat/b.png", private + "/more/cat/c.png"} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		text := png
		if strings.HasSuffix(name, "b.png") {
			text = []byte("no image")
		}
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got := runHere(t, "dataset", "convert", "--output-path", "out", "--name-prefix", "x", "--payload", "json", "--compressor", "none",
		"--bad", "skip", private+"/pets", private+"/more/")
	if got.code != cliio.Done || !strings.Contains(got.stderr, private+"/pets/cat/b.png, record 1") {
		t.Fatalf("code %d: %s", got.code, got.stderr)
	}
	for _, name := range filesOf(t, "out") {
		text, err := os.ReadFile("out/" + name)
		if err != nil || strings.Contains(string(text), private) {
			t.Errorf("%s tells of %s (%v)", name, private, err)
		}
	}
	if got := runHere(t, "dataset", "cat", "-n", "1", "out"); !strings.HasPrefix(got.stdout, `{"name":"pets/cat/a.png","label":"cat"`) {
		t.Errorf("got %s", got.stdout)
	}
	if text, err := os.ReadFile("out/.x.manifest"); !strings.Contains(string(text), `"path": "pets"`) || !strings.Contains(string(text), `"path": "more"`) {
		t.Errorf("the manifest: %s (%v)", text, err)
	}
}
