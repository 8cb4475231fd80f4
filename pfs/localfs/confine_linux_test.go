package localfs

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/pfstest"
	"golang.org/x/sys/unix"
)

// TestNothingOutsideIsReached runs every operation while an attacker exchanges, as fast as the
// kernel can, a directory for a link out of the store or to a neighbour in it, and a file for a
// link to a secret. Nothing there may be read or changed.
func TestNothingOutsideIsReached(t *testing.T) {
	for name, open := range map[string]func(string, bool) (dir, error){"openat2": openTop, "element by element": openByElements} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			attack(t, open, root, t.TempDir(), "")
		})
		t.Run(name+" inside", func(t *testing.T) {
			root := t.TempDir()
			attack(t, open, root, filepath.Join(root, "neighbour"), "neighbour")
		})
	}
}

const attackRounds = 1000

// attack runs the race with links to the directory outside, written as target if that is not empty.
func attack(t *testing.T, open func(string, bool) (dir, error), root, outside, target string) {
	if target == "" {
		target = outside
	}
	secret := []byte("secret")
	for _, d := range []string{root, outside} {
		must(t, os.MkdirAll(filepath.Join(d, "sub"), 0o755))
	}
	must(t, os.WriteFile(filepath.Join(outside, "file"), secret, 0o600))
	must(t, os.WriteFile(filepath.Join(outside, "sub", "file"), secret, 0o600))
	before := snapshot(t, outside)

	f, err := newFS(root, Options{NoSync: true}, open)
	must(t, err)
	defer f.Close()
	pfstest.WriteFile(t, f, "/sub/file", []byte("public"))
	must(t, os.Symlink(target, filepath.Join(root, "to-outside")))
	must(t, os.Symlink(filepath.Join(target, "file"), filepath.Join(root, "to-file")))
	pfstest.WriteFile(t, f, "/file", []byte("public"))

	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { flip(root, stop, "sub", "to-outside") })
	wg.Go(func() { flip(root, stop, "file", "to-file") })
	seen := map[pfs.Kind]int{}
	for i := range attackRounds {
		for _, name := range []pfs.Path{"/sub/file", "/file"} {
			for _, err := range assault(t.Context(), t, f, name, secret, i) {
				if err != nil {
					seen[pfs.KindOf(err)]++
				} else {
					seen[255]++
				}
			}
		}
	}
	close(stop)
	wg.Wait()
	if seen[pfs.Symlink] == 0 || seen[255] == 0 {
		t.Errorf("the race was not run: %v", seen)
	}
	if after := snapshot(t, outside); !equal(before, after) {
		t.Errorf("outside changed from %v to %v", before, after)
	}
}

// flip exchanges two names of dir until stopped.
func flip(dir string, stop <-chan struct{}, a, b string) {
	a, b = filepath.Join(dir, a), filepath.Join(dir, b)
	for {
		select {
		case <-stop:
			return
		default:
			unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
		}
	}
}

// assault does one round of operations on name and returns how they ended.
func assault(ctx context.Context, t *testing.T, f *FS, name pfs.Path, secret []byte, round int) []error {
	var errs []error
	add := func(err error) { errs = append(errs, err) }
	add(readSecret(ctx, t, f, name, secret))
	switch round % 8 {
	case 0:
		add(pfs.SetAttr(ctx, f, name, pfs.AttrMode, pfs.Attrs{Mode: 0o644}))
	case 1:
		add(pfs.SetAttr(ctx, f, name, pfs.AttrModTime, pfs.Attrs{ModTime: time.Unix(1e9, 0)}))
	case 2:
		add(f.WriteBatch(ctx, []pfs.BatchEntry{{Path: name.Parent().Join("batch"), Data: []byte("x")}})[0])
	case 3:
		add(f.Mkdir(ctx, "/sub/made", 0o755))
		add(f.Remove(ctx, "/sub/made"))
	case 4:
		h, err := f.OpenHandle(ctx, name, readWrite, 0)
		if err == nil {
			_, err = h.WriteAt(ctx, []byte("public"), 0)
			h.Close(ctx)
		}
		add(err)
	case 5:
		_, err := f.List(ctx, "/sub", pfs.ListOptions{})
		add(err)
		_, _, err = f.Sweep(ctx, "/", 0)
		add(err)
		_, err = f.Usage(ctx, "/sub")
		add(err)
	case 6:
		w, err := f.Create(ctx, "/sub/staged", pfs.CreateOptions{})
		if err == nil {
			w.WriteAt(ctx, []byte("staged"), 0)
			_, err = w.Commit(ctx, pfs.CommitOptions{Size: 6})
			w.Close(ctx)
		}
		add(err)
	case 7:
		add(f.Rename(ctx, "/sub/staged", "/sub/renamed"))
		add(f.RemoveTree(ctx, "/sub/renamed"))
	}
	return errs
}

// readSecret reads name and fails if it gets content from outside.
func readSecret(ctx context.Context, t *testing.T, f *FS, name pfs.Path, secret []byte) error {
	r, err := f.Open(ctx, name)
	if err != nil {
		return err
	}
	defer r.Close()
	p := make([]byte, len(secret))
	if _, err := r.ReadAt(ctx, p, 0); err != nil {
		return err
	}
	if bytes.Equal(p, secret) {
		t.Errorf("%s gave a secret away", name)
	}
	return nil
}

// snapshot describes everything in dir.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	must(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		must(t, err)
		info, err := d.Info()
		must(t, err)
		all[path] = info.Mode().String() + info.ModTime().String()
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			must(t, err)
			all[path] += string(data)
		}
		return nil
	}))
	return all
}

func equal(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if b[k] != v {
			return false
		}
	}
	return true
}

// TestOpenSpecial opens files that would block or do harm.
func TestOpenSpecial(t *testing.T) {
	f, dir := openStore(t, Options{})
	must(t, unix.Mkfifo(filepath.Join(dir, "fifo"), 0o600))
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	must(t, err)
	defer unix.Close(fd)
	t.Chdir(dir) // the path of a socket is short
	must(t, unix.Bind(fd, &unix.SockaddrUnix{Name: "socket"}))
	for name, mode := range map[pfs.Path]os.FileMode{"/fifo": os.ModeNamedPipe, "/socket": os.ModeSocket} {
		_, err := f.Open(t.Context(), name)
		pfstest.WantKind(t, err, pfs.Unsupported)
		_, err = f.OpenHandle(t.Context(), name, readWrite, 0)
		pfstest.WantKind(t, err, pfs.Invalid)
		if got := pfstest.MustStat(t, f, name).Mode.Type(); got != mode {
			t.Errorf("%s is %v, want %v", name, got, mode)
		}
	}
	pfstest.WantNames(t, f, pfs.Root, "fifo", "socket")
	pfstest.WriteFile(t, f, "/fifo", []byte("replaced"))
	pfstest.WantFile(t, f, "/fifo", []byte("replaced"))
}

// TestNamesOnDisk lists entries with invalid names, and hides only those that the store makes.
func TestNamesOnDisk(t *testing.T) {
	staged, removed := digest.StagedName("f", id), pfs.RemovedName()
	for _, tt := range []struct {
		name          string
		dir           bool
		listed, known bool // in the listing; with a name
	}{
		{name: "good", listed: true, known: true},
		{name: ".pfs-up-x", listed: true, known: true},
		{name: ".pfs-config", listed: true, known: true},
		{name: ".pfs-dir", dir: true, listed: true, known: true},
		{name: "bad\xff", listed: true},
		{name: staged},
		{name: staged, dir: true, listed: true},
		{name: removed, listed: true},
		{name: removed, dir: true},
		{name: quotaName},
		{name: quotaName, dir: true, listed: true},
		{name: pfs.StageName, dir: true, listed: true},
	} {
		f, dir := openStore(t, Options{})
		must(t, f.Mkdir(t.Context(), "/d", 0o755))
		at := filepath.Join(dir, "d", tt.name)
		if tt.dir {
			must(t, os.Mkdir(at, 0o755))
			must(t, os.WriteFile(filepath.Join(at, "file"), []byte("four"), 0o600))
		} else {
			must(t, os.WriteFile(at, nil, 0o600))
		}
		page, err := f.List(t.Context(), "/d", pfs.ListOptions{})
		must(t, err)
		if len(page.Entries) == 1 != (tt.listed && tt.known) || len(page.Unnamed) == 1 != (tt.listed && !tt.known) {
			t.Errorf("%q, directory %v: page = %+v", tt.name, tt.dir, page)
		}
		// A reserved name that is not a valid quota file is refused: it might have been one.
		if _, _, err := f.Sweep(t.Context(), "/", -time.Hour); err != nil && tt.name != quotaName {
			t.Errorf("%q: Sweep: %v", tt.name, err)
		}
		if _, err := os.Stat(at); (err == nil) != (tt.listed || tt.name == quotaName) {
			t.Errorf("%q, directory %v: after Sweep: %v", tt.name, tt.dir, err)
		}
		err = f.Remove(t.Context(), "/d")
		if (err == nil) != !tt.listed || err != nil && !errors.Is(err, pfs.NotEmpty) {
			t.Errorf("%q, directory %v: Remove of the directory: %v", tt.name, tt.dir, err)
		}
	}
}

// TestFollowLinks tests the options for the local side of a command.
func TestFollowLinks(t *testing.T) {
	for name, open := range map[string]func(string, bool) (dir, error){"system": openTop, "os.Root": openRoot} {
		t.Run(name, func(t *testing.T) { followLinks(t, open) })
	}
}

func followLinks(t *testing.T, open func(string, bool) (dir, error)) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	f, err := newFS(dir, Options{FollowLinks: true}, open)
	must(t, err)
	defer f.Close()
	must(t, os.Mkdir(filepath.Join(elsewhere, "d"), 0o755))
	must(t, os.WriteFile(filepath.Join(elsewhere, "f"), []byte("content"), 0o600))
	must(t, os.Symlink(elsewhere, filepath.Join(dir, "to-dir")))
	must(t, os.Symlink(filepath.Join(elsewhere, "f"), filepath.Join(dir, "to-file")))

	pfstest.WantFile(t, f, "/to-file", []byte("content"))
	pfstest.WantFile(t, f, "/to-dir/f", []byte("content"))
	pfstest.WantNames(t, f, "/to-dir", "d", "f")
	if info := pfstest.MustStat(t, f, "/to-file"); !info.IsLink() || info.Target != filepath.Join(elsewhere, "f") {
		t.Errorf("Stat describes %+v, want the link", info)
	}
	must(t, f.Mkdir(t.Context(), "/to-dir", 0o755))
	must(t, f.Mkdir(t.Context(), "/to-dir/made", 0o755))
	pfstest.WriteFile(t, f, "/to-dir/made/g", []byte("through"))
	if got, err := os.ReadFile(filepath.Join(elsewhere, "made", "g")); string(got) != "through" {
		t.Errorf("written through a link: %q, %v", got, err)
	}
	must(t, f.RemoveTree(t.Context(), "/to-dir"))
	if _, err := os.Stat(filepath.Join(elsewhere, "made", "g")); err != nil {
		t.Errorf("RemoveTree of a link followed it: %v", err)
	}
	pfstest.WriteFile(t, f, "/to-file", []byte("replaced"))
	if got, _ := os.ReadFile(filepath.Join(elsewhere, "f")); string(got) != "content" {
		t.Errorf("Commit wrote through a link: %q", got)
	}
	err = f.SetQuota(t.Context(), "/", 1, 1)
	if !errors.Is(err, pfs.Unsupported) {
		t.Errorf("SetQuota: %v, want Unsupported", err)
	}
}
