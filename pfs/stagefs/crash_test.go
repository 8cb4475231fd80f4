package stagefs

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/localfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

const (
	crashEnv   = "PFS_TEST_STAGING" // the directory of a process that is killed
	crashFiles = 4
	crashSize  = 300_000
)

// appendOnly is a store in a directory without random writes.
type appendOnly struct{ *pfs.Layer }

func newAppendOnly(t testing.TB, dir string) pfs.FileSystem {
	store, err := localfs.New(dir, localfs.Options{NoSync: true})
	must(t, err)
	t.Cleanup(func() { store.Close() })
	return appendOnly{pfs.NewLayer(func(_ context.Context, _ pfs.Access, name pfs.Path, call func(pfs.FileSystem, pfs.Path) error) error {
		return call(store, name)
	})}
}

func (a appendOnly) Capabilities(ctx context.Context, name pfs.Path) (pfs.Capabilities, error) {
	c, err := a.Layer.Capabilities(ctx, name)
	return c &^ pfs.CanWriteRandom, err
}

func (a appendOnly) OpenHandle(ctx context.Context, name pfs.Path, flags pfs.OpenFlags, perm os.FileMode) (pfs.Handle, error) {
	h, err := a.Layer.OpenHandle(ctx, name, flags, perm)
	return appendHandle{h}, err
}

type appendHandle struct{ pfs.Handle }

func (h appendHandle) WriteAt(ctx context.Context, p []byte, off int64) (int, error) {
	if info, err := h.Stat(ctx); err != nil || info.Size != off {
		return 0, pfs.E("test.WriteAt", "", pfs.Unsupported, err)
	}
	return h.Handle.WriteAt(ctx, p, off)
}

// writeVersions replaces the contents of files by their next versions, and prints what it does.
func writeVersions(t testing.TB, dir string) {
	f := newFS(t, newAppendOnly(t, dir+"/store"), Options{Dir: dir + "/staging"})
	r := rand.New(rand.NewPCG(uint64(os.Getpid()), 1))
	for version := uint64(time.Now().UnixNano()); ; version++ {
		name := pfs.Path(fmt.Sprintf("/f%d", r.IntN(crashFiles)))
		fmt.Println("try", name, version)
		h := openFile(t, f, name, pfs.OpenCreate)
		data := pfstest.Pattern(version, crashSize)
		for _, i := range r.Perm(10) {
			writeAt(t, h, string(data[i*crashSize/10:(i+1)*crashSize/10]), int64(i*crashSize/10))
		}
		if r.IntN(2) == 0 {
			must(t, h.Sync(t.Context()))
		} else {
			must(t, h.Flush(t.Context()))
		}
		fmt.Println("done", name, version)
		must(t, h.Close(t.Context()))
	}
}

// TestCrashes kills a process that writes, at random moments. The next one finds on the store what was acknowledged, or
// what was closed after it; never a part.
func TestCrashes(t *testing.T) {
	if dir := os.Getenv(crashEnv); dir != "" {
		writeVersions(t, dir)
	}
	rounds := 40
	if testing.Short() {
		rounds = 8
	}
	dir := t.TempDir()
	must(t, os.Mkdir(dir+"/store", 0o755))
	r := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
	possible := map[string][]uint64{} // versions by name: the one that was acknowledged last, and later ones
	kept := 0
	for round := range rounds {
		c := exec.Command(os.Args[0], "-test.run=^TestCrashes$")
		c.Env = append(os.Environ(), crashEnv+"="+dir)
		out := &bytes.Buffer{}
		c.Stdout = out
		must(t, c.Start())
		time.Sleep(time.Duration(50+r.IntN(150)) * time.Millisecond)
		c.Process.Kill()
		c.Wait()
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var what, name string
			var version uint64
			if n, _ := fmt.Sscan(lines.Text(), &what, &name, &version); n != 3 {
				t.Fatalf("round %d: %s", round, lines.Text())
			}
			if what == "done" {
				possible[name] = []uint64{version}
			} else {
				if possible[name] == nil {
					possible[name] = []uint64{0} // an empty file
				}
				possible[name] = append(possible[name], version)
			}
		}
		store := newAppendOnly(t, dir+"/store")
		f := newFS(t, store, Options{Dir: dir + "/staging"})
		must(t, f.Flush(t.Context()))
		for _, st := range f.Status() {
			if st.State != string(incomplete) {
				t.Fatalf("round %d: %+v after a flush", round, st)
			}
			kept++
			must(t, f.Discard(t.Context(), st.ID))
		}
		for name, versions := range possible {
			var got []byte
			there, err := pfs.Exists(t.Context(), store, pfs.Path(name))
			must(t, err)
			if there || versions[0] != 0 {
				got = pfstest.ReadFile(t, store, pfs.Path(name))
			}
			found := len(got) == 0 && versions[0] == 0
			for _, version := range versions {
				found = found || bytes.Equal(got, pfstest.Pattern(version, crashSize))
			}
			if !found {
				t.Fatalf("round %d: %s has %d bytes of none of the versions %d", round, name, len(got), versions)
			}
		}
		must(t, f.Close())
	}
	if kept == 0 && rounds > 20 {
		t.Error("no process was killed while it had a file open")
	}
	names, err := filepath.Glob(dir + "/staging/*")
	must(t, err)
	if len(names) != 1 || !strings.HasSuffix(names[0], "lock") {
		t.Errorf("local files are left: %q", names)
	}
}
