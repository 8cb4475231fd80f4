package cachefs

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

const crashEnv = "PFS_TEST_CACHE" // the cache directory of a process that is killed

// crashSizes are the lengths of the files of the crash test.
var crashSizes = []int{1, 100_000, blockSize, blockSize + 1, 3*blockSize - 5, 6 * blockSize}

func crashStore(t testing.TB) (m *memfs.FS, contents [][]byte) {
	m = memfs.New(memfs.Options{})
	for i, size := range crashSizes {
		data := pfstest.Pattern(uint64(i), size)
		contents = append(contents, data)
		// The version of a file of memfs is the number of changes, so each process has the same.
		pfstest.WriteFileWith(t, m, pfs.Path(fmt.Sprintf("/f%d", i)), data, pfs.CommitOptions{Size: int64(size), ModTime: time.Unix(1, 0)})
	}
	return m, contents
}

// readAtRandom reads steps random ranges through a cache in dir, and compares them. boot is the run
// of the system.
func readAtRandom(t testing.TB, dir string, boot bootID, steps int, seed uint64) {
	m, contents := crashStore(t)
	c, err := New(m, Options{Dirs: []string{dir}, Size: 40 * mib, Reserve: 1, Settle: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.boot = boot
	r := rand.New(rand.NewPCG(seed, 1))
	for range steps {
		i := r.IntN(len(contents))
		f, err := c.Open(t.Context(), pfs.Path(fmt.Sprintf("/f%d", i)))
		if err != nil {
			t.Fatal(err)
		}
		for range r.IntN(4) {
			off := r.IntN(len(contents[i]))
			buf := make([]byte, min(len(contents[i])-off, 1+r.IntN(2*blockSize)))
			if _, err := f.ReadAt(t.Context(), buf, int64(off)); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(buf, contents[i][off:off+len(buf)]) {
				t.Fatalf("wrong bytes in file %d at %d", i, off)
			}
		}
		if l := f.(*File).Local(); l != nil {
			got := make([]byte, len(contents[i]))
			if _, err := l.ReadAt(got, 0); err != nil || !bytes.Equal(got, contents[i]) {
				t.Fatalf("the local file of %d has other bytes, %v", i, err)
			}
		}
		f.Close()
	}
}

// TestCrashes kills a process that reads through the cache at random moments, damages the files as the
// end of the system does, and reads again with another process.
func TestCrashes(t *testing.T) {
	if dir := os.Getenv(crashEnv); dir != "" {
		for seed := uint64(os.Getpid()); ; seed++ {
			boot, _ := strconv.Atoi(os.Getenv(crashEnv + "_BOOT"))
			readAtRandom(t, dir, bootID{byte(boot)}, 20, seed)
		}
	}
	rounds := 30
	if testing.Short() {
		rounds = 6
	}
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
	boot := 1
	for round := range rounds {
		var children []*exec.Cmd
		var outs []*bytes.Buffer
		for range 2 {
			c := exec.Command(os.Args[0], "-test.run=^TestCrashes$")
			c.Env = append(os.Environ(), crashEnv+"="+dir, fmt.Sprintf("%s_BOOT=%d", crashEnv, boot))
			out := &bytes.Buffer{}
			c.Stdout, c.Stderr = out, out
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			children, outs = append(children, c), append(outs, out)
		}
		time.Sleep(time.Duration(100+r.IntN(400)) * time.Millisecond)
		for i, c := range children {
			c.Process.Kill()
			c.Wait()
			if outs[i].Len() > 0 {
				t.Fatalf("round %d: %s", round, outs[i])
			}
		}
		if round%2 == 1 { // the system ended: some of what was written last is lost
			boot++
			for _, path := range filesOf(t, dir) {
				for _, name := range []string{path + dataSuffix, path + indexSuffix} {
					damage(t, r, name)
				}
			}
		}
		readAtRandom(t, dir, bootID{byte(boot)}, 30, uint64(round))
	}
}

// damage overwrites a page of a file with zeros, cuts the file, or removes it, sometimes.
func damage(t *testing.T, r *rand.Rand, name string) {
	info, err := os.Stat(name)
	if err != nil || info.Size() == 0 {
		return
	}
	switch r.IntN(6) {
	case 0, 1:
		f, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		off := r.Int64N(info.Size()) &^ 4095
		f.WriteAt(make([]byte, min(4096, info.Size()-off)), off)
		f.Close()
	case 2:
		os.Truncate(name, r.Int64N(info.Size()))
	case 3:
		os.Remove(name)
	}
}
