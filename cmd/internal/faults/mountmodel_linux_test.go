package faults

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// step is one operation of TestMountModel.
type step struct {
	op        int
	a, b      string
	off       int64
	data      []byte
	openFlags int
	mode      fs.FileMode
}

// stepOps are the operations. Each works on the mount and on a local directory, with the same result.
var stepOps = []struct {
	name  string
	often int
	do    func(dir string, s step) (string, error)
}{
	{"mkdir", 2, func(d string, s step) (string, error) { return "", os.Mkdir(d+s.a, 0o755) }},
	{"write", 5, func(d string, s step) (string, error) {
		f, err := os.OpenFile(d+s.a, os.O_CREATE|os.O_RDWR|s.openFlags, 0o644)
		if err != nil {
			return "", err
		}
		defer f.Close()
		if s.openFlags&os.O_APPEND != 0 {
			_, err = f.Write(s.data)
		} else {
			_, err = f.WriteAt(s.data, s.off)
		}
		if err == nil && s.mode&1 != 0 {
			err = f.Sync()
		}
		return "", err
	}},
	{"rename", 3, func(d string, s step) (string, error) { return "", syscall.Rename(d+s.a, d+s.b) }},
	{"truncate", 2, func(d string, s step) (string, error) { return "", os.Truncate(d+s.a, s.off) }},
	{"unlink", 2, func(d string, s step) (string, error) { return "", syscall.Unlink(d + s.a) }},
	{"rmdir", 1, func(d string, s step) (string, error) { return "", syscall.Rmdir(d + s.a) }},
	{"link", 1, func(d string, s step) (string, error) { return "", os.Link(d+s.a, d+s.b) }},
	{"chmod", 1, func(d string, s step) (string, error) {
		if err := os.Chmod(d+s.a, 0o700|s.mode); err != nil {
			return "", err
		}
		info, err := os.Stat(d + s.a)
		return fmt.Sprint(info.Mode()), err
	}},
	{"xattr", 1, func(d string, s step) (string, error) {
		value := make([]byte, 10)
		err := syscall.Setxattr(d+s.a, "user.test", []byte(s.b), 0)
		n, err2 := syscall.Getxattr(d+s.a, "user.test", value)
		return string(value[:max(0, n)]), errors.Join(err, err2)
	}},
	{"list", 1, func(d string, s step) (string, error) {
		entries, err := os.ReadDir(d + s.a)
		return fmt.Sprint(entries), err
	}},
	{"read", 4, func(d string, s step) (string, error) {
		b, err := os.ReadFile(d + s.a)
		return fmt.Sprintf("%d %x", len(b), sha256.Sum256(b)), err
	}},
	{"unlink while open", 1, func(d string, s step) (string, error) {
		f, err := os.OpenFile(d+s.a, os.O_RDWR, 0)
		if err != nil {
			return "", err
		}
		defer f.Close()
		err = os.Remove(d + s.a)
		_, err2 := f.WriteAt(s.data, s.off)
		b, err3 := io.ReadAll(f)
		return fmt.Sprintf("%d %x", len(b), sha256.Sum256(b)), errors.Join(err, err2, err3)
	}},
	{"mmap", 1, func(d string, s step) (string, error) {
		f, err := os.OpenFile(d+s.a, os.O_RDWR, 0)
		if err != nil {
			return "", err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil || info.Size() == 0 || len(s.data) == 0 {
			return "", err
		}
		m, err := syscall.Mmap(int(f.Fd()), 0, int(info.Size()), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
		if err != nil {
			return "", err
		}
		copy(m[min(s.off, info.Size()-1):], s.data)
		return "", errors.Join(syscall.Munmap(m), f.Sync())
	}},
}

// TestMountModel does random operations on a mount of a home and on a local directory. Meanwhile it
// cuts and delays the connections of the mount, and kills the service, and the server of the mount. An
// operation that was hit may fail; then it was done, or half, or not at all. Nothing else may differ.
func TestMountModel(t *testing.T) {
	needMount(t)
	t.Parallel()
	s := newScene(t)
	t.Logf("seed %d", *seed)
	m := s.mount("--root", "/pfs/local/home/alice")
	steps, every := 6000, 15
	if testing.Short() {
		steps, every = 400, 40
	}
	faults := []struct {
		name   string
		strike func()
	}{
		{"cut", func() { s.line.cutNext(1 + s.rng.IntN(3)) }},
		{"delay", func() { s.line.delay.Store(int64(20 * time.Millisecond)) }},
		{"kill the service", s.killServer},
		{"kill the mount", func() { must(t, syscall.Kill(m.status().ServerPID, syscall.SIGKILL)) }},
	}
	local, before := filepath.Join(t.TempDir(), "now"), filepath.Join(t.TempDir(), "before")
	must(t, os.Mkdir(local, 0o755))
	var ops []int
	for i, op := range stepOps {
		for range op.often {
			ops = append(ops, i)
		}
	}
	hit := map[string]int{}
	for i := range steps {
		st := randomStep(s.rng, ops, i)
		op := stepOps[st.op]
		fault := -1
		if i%every == every-1 && op.name != "mmap" && op.name != "unlink while open" { // these may be done in parts
			fault = (i / every) % len(faults)
		}
		if fault < 0 {
			m.same(i, op.name, st, local)
			continue
		}
		must(t, os.RemoveAll(before))
		copyTree(t, local, before)
		struck := make(chan struct{})
		wait := time.Duration(s.rng.IntN(5)) * time.Millisecond
		strike := faults[fault]
		go func() {
			defer close(struck)
			time.Sleep(wait)
			strike.strike()
		}()
		failed := make(chan error, 1)
		go func() {
			_, err := op.do(m.dir, st)
			failed <- err
		}()
		<-struck
		switch strike.name {
		case "kill the service":
			s.startServer()
		case "kill the mount":
			m.revive()
		}
		err := <-failed
		s.line.calm()
		hit[strike.name]++
		_, wantErr := op.do(local, st)
		if sameErrno(err, wantErr) {
			m.wantTree(i, local, op.name+", "+strike.name)
			continue
		}
		hit["failed"]++
		got := treeOf(t, m.dir)
		if got == treeOf(t, local) {
			continue // done, but the answer was lost
		}
		begun := st
		begun.data = nil
		tried := []string{treeOf(t, before)}
		if got != tried[0] {
			_, _ = op.do(before, begun)
			tried = append(tried, treeOf(t, before))
		}
		if got != tried[len(tried)-1] {
			t.Fatalf("step %d, %s of %s, %s, with the fault %q: error %v, want %v; then there is\n%s\nwant one of\n%s\n%s", i, op.name, st.a, st.b, strike.name, err, wantErr,
				got, strings.Join(tried, "\n"), treeOf(t, local))
		}
		must(t, os.RemoveAll(local))
		must(t, os.Rename(before, local))
	}
	m.wantTree(steps, local, "the end")
	t.Logf("%d steps, seed %d, faults: %v", steps, *seed, hit)
}

// randomStep returns an operation on random names.
func randomStep(r *rand.Rand, ops []int, i int) step {
	name := func() string {
		n := ""
		for range 1 + r.IntN(3) {
			n += "/" + string(rune('a'+r.IntN(3)))
		}
		return n
	}
	return step{
		op: ops[r.IntN(len(ops))], a: name(), b: name(), off: r.Int64N(200_000),
		data:      []byte(strings.Repeat(string(rune('A'+i%26)), r.IntN(50_000))),
		openFlags: []int{0, 0, os.O_TRUNC, os.O_APPEND}[r.IntN(4)],
		mode:      fs.FileMode(r.IntN(0o100)),
	}
}

// same does a step on both sides.
func (m *mounted) same(i int, name string, st step, local string) {
	m.Helper()
	got, err := stepOps[st.op].do(m.dir, st)
	want, wantErr := stepOps[st.op].do(local, st)
	if got != want || !sameErrno(err, wantErr) {
		m.Fatalf("step %d, %s of %s, %s, %d bytes at %d, flags %#x, seed %d: %s, %v; want %s, %v", i, name, st.a, st.b, len(st.data), st.off, st.openFlags, *seed, got, err, want, wantErr)
	}
}

func sameErrno(a, b error) bool {
	var x, y syscall.Errno
	errors.As(a, &x)
	errors.As(b, &y)
	return x == y && (a == nil) == (b == nil)
}

// wantTree compares the whole trees.
func (m *mounted) wantTree(i int, local, when string) {
	m.Helper()
	if got, want := treeOf(m.T, m.dir), treeOf(m.T, local); got != want {
		m.Fatalf("step %d, %s, seed %d: the mount has\n%s\nwant\n%s", i, when, *seed, got, want)
	}
}

// revive mounts again if the mount does not survive the death of its server.
func (m *mounted) revive() {
	m.Helper()
	if m.status().State == "dead" {
		m.mount(m.args...)
	}
}

// treeOf describes everything below dir.
func treeOf(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || name == dir {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		fmt.Fprint(&all, strings.TrimPrefix(name, dir), " ", info.Mode())
		if info.Mode().IsRegular() {
			b, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			fmt.Fprintf(&all, " %d %d %.8x", info.Size(), len(b), sha256.Sum256(b))
		}
		all.WriteByte('\n')
		return nil
	})
	must(t, err)
	return all.String()
}

// copyTree copies a tree with its links.
func copyTree(t *testing.T, from, to string) {
	t.Helper()
	if out, err := exec.Command("cp", "-a", from, to).CombinedOutput(); err != nil {
		t.Fatalf("cp: %v\n%s", err, out)
	}
}
