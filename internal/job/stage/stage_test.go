//go:build unix

package stage

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
)

// put writes files to a store.
func put(t *testing.T, fsys pfs.FileSystem, files map[pfs.Path]string) {
	t.Helper()
	for name, content := range files {
		err := pfs.MkdirAll(t.Context(), fsys, name.Parent(), 0o755)
		if err == nil {
			err = pfs.WriteBatch(t.Context(), fsys, []pfs.BatchEntry{{Path: name, Data: []byte(content)}})[0]
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// content returns the content of a staged file.
func contentOf(t *testing.T, in *Inputs, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(in.Dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestShared checks that jobs at the same time share one copy, and that a changed input is another one.
func TestShared(t *testing.T) {
	fsys := memfs.New(memfs.Options{})
	put(t, fsys, map[pfs.Path]string{"/pfs/dc/public/d/a": "one", "/pfs/dc/public/d/sub/b": "two", "/pfs/dc/public/f": "three"})
	dir := t.TempDir()
	var mu sync.Mutex
	copies := 0
	opts := Options{FS: fsys, Dir: dir, Told: func(s string) {
		mu.Lock()
		defer mu.Unlock()
		if strings.HasPrefix(s, "copying") {
			copies++
		}
	}}
	stage := func() *Inputs {
		in, err := Stage(t.Context(), opts, []pfs.Path{"/pfs/dc/public/d", "/pfs/dc/public/f"}, t.TempDir())
		if err != nil {
			t.Error(err)
			return &Inputs{}
		}
		t.Cleanup(in.Close)
		return in
	}
	var jobs sync.WaitGroup
	for range 4 {
		jobs.Go(func() { stage() })
	}
	jobs.Wait()
	in := stage()
	if contentOf(t, in, "dc/public/d/sub/b") != "two" || contentOf(t, in, "dc/public/f") != "three" || copies != 2 {
		t.Errorf("%d copies", copies)
	}
	put(t, fsys, map[pfs.Path]string{"/pfs/dc/public/d/a": "other"})
	if now := stage(); contentOf(t, now, "dc/public/d/a") != "other" || contentOf(t, in, "dc/public/d/a") != "one" {
		t.Error("the versions are mixed")
	}
}

// TestRepaired checks that a file that is missing in a complete copy is copied again.
func TestRepaired(t *testing.T) {
	fsys := memfs.New(memfs.Options{})
	put(t, fsys, map[pfs.Path]string{"/pfs/dc/d/a": "one"})
	opts := Options{FS: fsys, Dir: t.TempDir()}
	for range 2 {
		in, err := Stage(t.Context(), opts, []pfs.Path{"/pfs/dc/d"}, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		if contentOf(t, in, "dc/d/a") != "one" {
			t.Error("wrong content")
		}
		if err := os.Remove(filepath.Join(in.Dir, "dc/d/a")); err != nil {
			t.Fatal(err)
		}
		in.Close()
	}
}

// TestLimit checks that unused inputs make room, and that used ones stay.
func TestLimit(t *testing.T) {
	fsys := memfs.New(memfs.Options{})
	put(t, fsys, map[pfs.Path]string{"/pfs/a": "12345", "/pfs/b": "12345", "/pfs/c": "12345", "/pfs/big": "12345678901"})
	opts := Options{FS: fsys, Dir: t.TempDir(), Limit: 10}
	stage := func(input pfs.Path) (*Inputs, error) {
		return Stage(t.Context(), opts, []pfs.Path{input}, t.TempDir())
	}
	a, err := stage("/pfs/a")
	if err != nil {
		t.Fatal(err)
	}
	b, err := stage("/pfs/b")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stage("/pfs/c"); pfs.KindOf(err) != pfs.NoSpace {
		t.Errorf("while both are used: %v", err)
	}
	held, err := Hold(b.Dir, []pfs.Path{"/pfs/b"})
	if err != nil {
		t.Fatal(err)
	}
	b.Close()
	if _, err := stage("/pfs/c"); pfs.KindOf(err) != pfs.NoSpace {
		t.Errorf("while another process holds one: %v", err)
	}
	held.Close()
	c, err := stage("/pfs/c")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := os.Stat(filepath.Join(b.Dir, "b")); err == nil {
		t.Error("the unused input is still there")
	}
	if _, err := Hold(b.Dir, []pfs.Path{"/pfs/b"}); err == nil {
		t.Error("an input that was removed is held")
	}
	if contentOf(t, a, "a") != "12345" {
		t.Error("the used input has gone")
	}
	if _, err := stage("/pfs/big"); pfs.KindOf(err) != pfs.NoSpace {
		t.Errorf("too big: %v", err)
	}
	if _, err := stage("/pfs/none"); pfs.KindOf(err) != pfs.NotExist {
		t.Errorf("missing: %v", err)
	}
}

// TestInputInInput stages a tree, and a file in it.
func TestInputInInput(t *testing.T) {
	fsys := memfs.New(memfs.Options{})
	put(t, fsys, map[pfs.Path]string{"/pfs/dc/public/d/a": "one", "/pfs/dc/public/d/sub/b": "two"})
	for _, inputs := range [][]pfs.Path{{"/pfs/dc/public/d", "/pfs/dc/public/d/sub/b"}, {"/pfs/dc/public/d/sub/b", "/pfs/dc/public/d", "/pfs/dc/public/d"}} {
		links := t.TempDir()
		in, err := Stage(t.Context(), Options{FS: fsys, Dir: t.TempDir()}, inputs, links)
		if err != nil {
			t.Errorf("%q: %v", inputs, err)
			continue
		}
		defer in.Close()
		held, err := Hold(links, inputs)
		if err != nil {
			t.Errorf("%q: %v", inputs, err)
			continue
		}
		defer held.Close()
		if contentOf(t, held, "dc/public/d/a") != "one" || contentOf(t, held, "dc/public/d/sub/b") != "two" {
			t.Errorf("%q: other content", inputs)
		}
	}
}
