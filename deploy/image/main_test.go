package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestImage reads an image as a docker archive and as an OCI layout.
func TestImage(t *testing.T) {
	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, []byte("#!"), 0o700); err != nil {
		t.Fatal(err)
	}
	im := image{name: "docker.io/a/b:v1", programs: []string{program}}
	var first, second bytes.Buffer
	if err := im.write(&first); err != nil {
		t.Fatal(err)
	}
	if err := im.write(&second); err != nil || !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Errorf("a second image differs (%v)", err)
	}
	archive := entries(t, &first)
	for name, data := range archive {
		if digest, ok := strings.CutPrefix(name, "blobs/sha256/"); ok && len(digest) == 64 {
			if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != digest {
				t.Errorf("%s has another digest", name)
			}
		}
	}
	var docker []struct {
		Config           string
		RepoTags, Layers []string
	}
	parse(t, archive["manifest.json"], &docker)
	if len(docker) != 1 || docker[0].RepoTags[0] != im.name {
		t.Fatalf("manifest.json is %s", archive["manifest.json"])
	}
	type blob struct{ Digest string }
	var index struct{ Manifests []blob }
	var manifest struct {
		Config blob
		Layers []blob
	}
	file := func(b blob) string { return "blobs/sha256/" + strings.TrimPrefix(b.Digest, "sha256:") }
	parse(t, archive["index.json"], &index)
	parse(t, archive[file(index.Manifests[0])], &manifest)
	if file(manifest.Config) != docker[0].Config || file(manifest.Layers[0]) != docker[0].Layers[0] {
		t.Errorf("the manifests differ: %+v and %+v", manifest, docker[0])
	}
	var config struct {
		Config struct {
			User       string
			Entrypoint []string
			Labels     map[string]string
		}
	}
	parse(t, archive[docker[0].Config], &config)
	if c := config.Config; c.User != "65534:65534" || c.Entrypoint[0] != "/bin/program" || c.Labels["org.opencontainers.image.version"] != "v1" {
		t.Errorf("the configuration is %+v", c)
	}
	zip, err := gzip.NewReader(bytes.NewReader(archive[docker[0].Layers[0]]))
	if err != nil {
		t.Fatal(err)
	}
	if root := entries(t, zip); string(root["bin/program"]) != "#!" || !strings.Contains(string(root["etc/passwd"]), "nobody") {
		t.Errorf("the root has %q", root)
	}
}

// entries returns the files of an archive.
func entries(t *testing.T, r io.Reader) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for archive := tar.NewReader(r); ; {
		h, err := archive.Next()
		if err == io.EOF {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[h.Name], err = io.ReadAll(archive); err != nil {
			t.Fatal(err)
		}
		if h.ModTime.Unix() != 0 || h.Uid != 0 {
			t.Errorf("%s has the time %v and the owner %d", h.Name, h.ModTime, h.Uid)
		}
	}
}

func parse(t *testing.T, data []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
}

// TestTree adds a directory to an image.
func TestTree(t *testing.T) {
	from := t.TempDir()
	err := os.Mkdir(filepath.Join(from, "d"), 0o755)
	if err == nil {
		err = os.WriteFile(filepath.Join(from, "d", "f"), []byte("x"), 0o644)
	}
	if err == nil {
		err = os.Symlink("d/f", filepath.Join(from, "link"))
	}
	if err != nil {
		t.Fatal(err)
	}
	files, err := image{tree: "usr/lib/x=" + from}.files()
	if err != nil || files["usr/lib/x/d/f"].from == "" || files["usr/lib/x/link"].from == "" {
		t.Errorf("%v, %v", files, err)
	}
	if _, err := (image{tree: "x=" + from + "/none"}).files(); err == nil {
		t.Error("a directory that does not exist is accepted")
	}
}
