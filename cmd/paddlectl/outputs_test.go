package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
	"github.com/paddlecloud/pfs/recordio"
)

// namesIn lists the directory dir.
func namesIn(t *testing.T, fsys pfs.FileSystem, dir pfs.Path) string {
	t.Helper()
	var names []string
	for info, err := range pfs.Entries(t.Context(), fsys, dir, nil) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, info.Name)
	}
	return strings.Join(names, " ")
}

// failing is a file system with configured failures.
type failing struct {
	pfs.FileSystem
	write, commit func(name pfs.Path) error
}

type failingStaged struct {
	pfs.Staged
	f    *failing
	name pfs.Path
}

func (f *failing) Create(ctx context.Context, name pfs.Path, opts pfs.CreateOptions) (pfs.Staged, error) {
	w, err := f.FileSystem.Create(ctx, name, opts)
	return &failingStaged{w, f, name}, err
}

func (w *failingStaged) WriteAt(ctx context.Context, p []byte, off int64) (int, error) {
	if w.f.write != nil {
		if err := w.f.write(w.name); err != nil {
			return 0, err
		}
	}
	return w.Staged.WriteAt(ctx, p, off)
}

func (w *failingStaged) Commit(ctx context.Context, opts pfs.CommitOptions) (pfs.Info, error) {
	if w.f.commit != nil {
		if err := w.f.commit(w.name); err != nil {
			return pfs.Info{}, err
		}
	}
	return w.Staged.Commit(ctx, opts)
}

const goldenDir = "../../recordio/testdata/golden"

// inScratch changes into an empty directory with the golden file a.
func inScratch(t *testing.T) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(goldenDir, "text-manychunks.snappy.recordio"))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.WriteFile("a", data, 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestFullStoreLeavesNothing(t *testing.T) {
	inScratch(t)
	fsys := newHome(t)
	f := &failing{FileSystem: fsys, write: func(name pfs.Path) error {
		if name == home+"/set/a-00002" {
			return pfs.E("failing.WriteAt", name, pfs.NoSpace, nil)
		}
		return nil
	}}
	got := run(t, testMain(t, f, "recordio", "split", "--records", "600", "--output-path", home+"/set", "a"))
	const want = "paddlectl: recordio split: /pfs/dc/home/alice/set/a-00002: no space left\nhint: paddlectl df shows the space on each datacenter\n"
	if got.code != cliio.Failed || got.stderr != want {
		t.Errorf("code %d, %q; want 1, %q", got.code, got.stderr, want)
	}
	if names := namesIn(t, fsys, home+"/set"); names != "" {
		t.Errorf("there is %q, want nothing", names)
	}
	if n, _, err := fsys.Sweep(t.Context(), home, 0); n != 0 || err != nil {
		t.Errorf("%d uploads were left (%v)", n, err)
	}
}

func TestSetThatCannotBeCompletedIsTakenBack(t *testing.T) {
	inScratch(t)
	fsys := newHome(t)
	f := &failing{FileSystem: fsys, commit: func(name pfs.Path) error {
		if name == home+"/set/a-00003" {
			return pfs.E("failing.Commit", name, pfs.Exist, nil)
		}
		return nil
	}}
	got := run(t, testMain(t, f, "recordio", "split", "--records", "600", "--output-path", home+"/set", "a"))
	if got.code != cliio.Exists || !strings.Contains(got.stderr, "a-00003: already exists") {
		t.Errorf("code %d: %s", got.code, got.stderr)
	}
	if names := namesIn(t, fsys, home+"/set"); names != "" {
		t.Errorf("there is %q, want nothing", names)
	}
	if n, _, err := fsys.Sweep(t.Context(), home, 0); n != 0 || err != nil {
		t.Errorf("%d uploads were left (%v)", n, err)
	}
}

func TestInterruptedSplitLeavesNothing(t *testing.T) {
	inScratch(t)
	fsys := newHome(t)
	f := &interruptible{FileSystem: fsys, left: 3, interrupts: make(chan os.Signal, 1)}
	m := testMain(t, f, "recordio", "split", "--records", "600", "--output-path", home+"/set", "a")
	m.Interrupts = f.interrupts
	got := run(t, m)
	if got.code != cliio.Interrupted || got.stderr != "paddlectl: recordio split: interrupted\n" {
		t.Errorf("code %d: %q", got.code, got.stderr)
	}
	if names := namesIn(t, fsys, home+"/set"); names != "" {
		t.Errorf("there is %q, want nothing", names)
	}
	if n, _, err := fsys.Sweep(t.Context(), home, 0); n != 0 || err != nil {
		t.Errorf("%d uploads were left (%v)", n, err)
	}
}

// TestInterruptWhileInputWaits checks that a pipe on which nothing comes does not
// keep an interrupted command.
func TestInterruptWhileInputWaits(t *testing.T) {
	r, w := io.Pipe()
	defer w.Close()
	interrupts := make(chan os.Signal, 1)
	m := testMain(t, newHome(t), "recordio", "verify", "-")
	m.Stdin = readerFunc(func(p []byte) (int, error) {
		interrupts <- os.Interrupt
		return r.Read(p)
	})
	m.Interrupts = interrupts
	if got := run(t, m); got.code != cliio.Interrupted {
		t.Errorf("code %d: %s", got.code, got.stderr)
	}
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// vanishing is a file system whose files are replaced while they are read.
type vanishing struct{ pfs.FileSystem }

type vanishingFile struct {
	pfs.File
	name pfs.Path
}

func (f vanishing) Open(ctx context.Context, name pfs.Path) (pfs.File, error) {
	file, err := f.FileSystem.Open(ctx, name)
	return vanishingFile{file, name}, err
}

func (f vanishingFile) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	if off > 0 {
		return 0, pfs.Errorf("vanishing.ReadAt", f.name, pfs.Conflict, "it was replaced")
	}
	return f.File.ReadAt(ctx, p, off)
}

func TestInputThatChanges(t *testing.T) {
	fsys := newHome(t)
	var file bytes.Buffer
	w := recordio.NewWriter(&file, recordio.WriterOptions{ChunkBytes: 1 << 20})
	for range 6 {
		if err := w.Write(make([]byte, 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	pfstest.WriteFile(t, fsys, home+"/a", file.Bytes())
	got := run(t, testMain(t, vanishing{fsys}, "recordio", "merge", "-q", home+"/a", "-o", home+"/b"))
	const want = "paddlectl: recordio merge: /pfs/dc/home/alice/a: "
	if got.code != cliio.Exists || !strings.HasPrefix(got.stderr, want) || !strings.Contains(got.stderr, "it was replaced") {
		t.Errorf("code %d, %q", got.code, got.stderr)
	}
	if names := namesIn(t, fsys, home); names != "a" {
		t.Errorf("there is %q, want only a", names)
	}
}
