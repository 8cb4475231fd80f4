package faults

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/fuse"
	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// stops are the daemons of a store that stop together.
type stops struct {
	name         string
	stop, resume func()
}

// TestMountStoreStops stops daemons of a store that is mounted twice without a service: reads of one mount wait, and those of the
// other one fail after some seconds. No file is ever missing, no listing short, no byte wrong, and both mounts go on afterwards.
func TestMountStoreStops(t *testing.T) {
	testbed.Long(t)
	needMount(t)
	t.Run("HDFS", func(t *testing.T) {
		t.Parallel()
		c := testbed.HDFSAlone(t)
		each := func(do func(t testing.TB, daemon string), daemons ...string) func() {
			return func() {
				for _, daemon := range daemons {
					do(t, daemon)
				}
			}
		}
		storeStops(t, fmt.Sprintf("hdfs://%s?conf-dir=%s&user=%s&block-size=1048576", c.Scratch(t), c.ConfDir, c.Superuser), []stops{
			{"DataNodes", each(c.Pause, "dn1", "dn2", "dn3"), each(c.Resume, "dn1", "dn2", "dn3")},
			{"NameNode", each(c.Pause, "nn"), each(c.Resume, "nn")},
		})
	})
	t.Run("CephFS", func(t *testing.T) {
		t.Parallel()
		needCeph(t)
		c := testbed.CephAlone(t)
		spec, _ := cephDir(t, c)
		storeStops(t, fmt.Sprintf("%s?user=%s&keyring=%s", spec.URL, c.User, c.Keyring), []stops{
			{"OSD", func() { c.Pause(t, "osd") }, func() {
				c.Resume(t, "osd")
				c.Command(t, "osd", "down", "0") // a group of the only OSD of a cluster else waits for ever
			}},
			{"MDS", func() { c.Pause(t, "mds") }, func() { c.Resume(t, "mds") }},
		})
	})
}

const (
	stopped   = 40 * time.Second // longer than a mount with errors takes for them
	stopNames = 20
	stopSize  = 300_000
)

// together runs all of do at a time, and returns their errors.
func together(do map[string]func() error) map[string]error {
	errs, mu := map[string]error{}, sync.Mutex{}
	var all sync.WaitGroup
	for what, do := range do {
		all.Go(func() {
			err := do()
			mu.Lock()
			defer mu.Unlock()
			errs[what] = err
		})
	}
	all.Wait()
	return errs
}

// reads looks at what has a name with n, for the first time: else the kernel would have it.
func reads(dir string, n int) map[string]error {
	named := func(kind string) string { return filepath.Join(dir, kind+fmt.Sprint(n)) }
	return together(map[string]func() error{
		"stat": func() error {
			info, err := os.Stat(named("stat"))
			if err == nil && info.Size() != stopSize {
				err = errWrong
			}
			return err
		},
		"list": func() error {
			names, err := os.ReadDir(named("list"))
			if err == nil && len(names) != stopNames {
				err = fmt.Errorf("%d names: %w", len(names), errWrong)
			}
			return err
		},
		"read": func() error {
			got, err := os.ReadFile(named("read"))
			if want := pfstest.Pattern(uint64(n), stopSize); !bytes.HasPrefix(want, got) || err == nil && len(got) < len(want) {
				err = errors.Join(errWrong, err)
			}
			return err
		},
	})
}

// changes writes files whose names have n, and that only this mount writes.
func changes(dir string, n int, who string) map[string]error {
	return together(map[string]func() error{
		"write": func() error {
			return os.WriteFile(filepath.Join(dir, fmt.Sprint("written", n)+who), pfstest.Pattern(uint64(n), stopSize), 0o644)
		},
		"change": func() error {
			f, err := os.OpenFile(filepath.Join(dir, fmt.Sprint("changed", n)+who), os.O_RDWR, 0)
			if err == nil {
				_, err = f.WriteAt([]byte("changed"), 1000)
				err = errors.Join(err, f.Close())
			}
			return err
		},
	})
}

// makeUsed makes what reads and changes use.
func makeUsed(t *testing.T, dir string, n int, whos ...string) {
	t.Helper()
	data := pfstest.Pattern(uint64(n), stopSize)
	names := []string{"stat", "read"}
	list := filepath.Join(dir, fmt.Sprint("list", n))
	must(t, os.Mkdir(list, 0o755))
	for i := range stopNames {
		must(t, os.WriteFile(filepath.Join(list, fmt.Sprint(i)), nil, 0o644))
	}
	for _, name := range names {
		must(t, os.WriteFile(filepath.Join(dir, fmt.Sprint(name, n)), data, 0o644))
	}
	for _, who := range whos {
		must(t, os.WriteFile(filepath.Join(dir, fmt.Sprint("changed", n)+who), data, 0o644))
	}
}

func storeStops(t *testing.T, url string, all []stops) {
	maker := newMount(t, nil, "--store", url, "--cache-size", "0")
	for n := range 2 * len(all) {
		makeUsed(t, maker.dir, n, "waits", "fails")
	}
	impatient := url + "&timeout=5s"
	waits := newMount(t, nil, "--store", impatient, "--cache-size", "0", "--retry-time", "0")
	fails := newMount(t, nil, "--store", impatient, "--cache-size", "0", "--retry-time", "1s", "--grace", "5s")
	for n, s := range all {
		t.Cleanup(s.resume)
		began := time.Now()
		s.stop()
		waited, failed, changed := make(chan map[string]error, 1), make(chan map[string]error, 1), make(chan map[string]error, 2)
		go func() { waited <- reads(waits.dir, 2*n) }()
		go func() { failed <- reads(fails.dir, 2*n) }()
		for who, m := range map[string]*mounted{"waits": waits, "fails": fails} {
			go func() { changed <- changes(m.dir, 2*n, who) }()
		}
		select {
		case errs := <-failed:
			some := false
			for what, err := range errs {
				if some = some || err != nil; err != nil && !errors.Is(err, syscall.EIO) {
					t.Errorf("%s stopped: %s: %v", s.name, what, err)
				}
			}
			if t.Logf("%s stopped: %v after %v", s.name, errs, time.Since(began).Round(time.Second)); !some {
				t.Errorf("%s stopped: nothing needed it", s.name)
			}
		case <-time.After(3 * stopped):
			t.Errorf("%s stopped: the mount that should fail waits", s.name)
		}
		time.Sleep(time.Until(began.Add(stopped)))
		if len(waited) > 0 {
			t.Errorf("%s stopped: the mount that should wait does not", s.name)
		}
		s.resume()
		resumed := time.Now()
		for what, err := range <-waited {
			if err != nil {
				t.Errorf("%s stopped: %s, which waits: %v", s.name, what, err)
			}
		}
		for range 2 { // a change is not repeated, and a writer of HDFS that has lost all DataNodes must open the file again
			for what, err := range <-changed {
				if err != nil && !errors.Is(err, syscall.EIO) && !errors.Is(err, syscall.ESTALE) {
					t.Errorf("%s stopped: %s: %v", s.name, what, err)
				}
			}
		}
		for who, m := range map[string]*mounted{"waits": waits, "fails": fails} {
			for { // a store may take some time until all of it works
				errs := reads(m.dir, 2*n)
				maps.Copy(errs, changes(m.dir, 2*n, who))
				maps.DeleteFunc(errs, func(_ string, err error) bool { return err == nil })
				wrong := slices.ContainsFunc(slices.Collect(maps.Values(errs)), func(err error) bool {
					return errors.Is(err, errWrong) || !errors.Is(err, syscall.EIO) && !errors.Is(err, syscall.ESTALE)
				})
				if len(errs) == 0 {
					break
				}
				if wrong || time.Since(resumed) > 2*time.Minute {
					t.Errorf("%s again, %v later: %v", s.name, time.Since(resumed), errs)
					break
				}
				time.Sleep(time.Second)
			}
			errs := reads(m.dir, 2*n+1)
			maps.Copy(errs, changes(m.dir, 2*n+1, who))
			for what, err := range errs {
				if err != nil {
					t.Errorf("%s again, for the first time: %s: %v", s.name, what, err)
				}
			}
		}
		t.Logf("%s again: all is well after %v", s.name, time.Since(resumed).Round(100*time.Millisecond))
	}
	for _, m := range []*mounted{waits, fails} { // what was staged meanwhile is on the store
		if code, out := m.ctl("mount", "flush", m.dir); code != 0 {
			t.Errorf("flush: exit %d\n%s", code, out)
		}
	}
	time.Sleep(1100 * time.Millisecond) // fuse.DefaultTimeout
	for n := range 2 * len(all) {
		for _, who := range []string{"waits", "fails"} {
			want := pfstest.Pattern(uint64(n), stopSize)
			if err := wantContent(filepath.Join(maker.dir, fmt.Sprint("written", n)+who), want); err != nil {
				t.Error(err)
			}
			copy(want[1000:], "changed")
			if err := wantContent(filepath.Join(maker.dir, fmt.Sprint("changed", n)+who), want); err != nil {
				t.Error(err)
			}
		}
	}

	last := all[len(all)-1]
	st, err := fuse.MountAt(fails.dir)
	must(t, err)
	last.stop()
	began := time.Now()
	must(t, syscall.Kill(st.BrokerPID, syscall.SIGTERM))
	for syscall.Kill(st.BrokerPID, 0) == nil && time.Since(began) < time.Minute {
		time.Sleep(poll)
	}
	if took := time.Since(began); took > 8*time.Second {
		t.Errorf("%s stopped: the end of a mount took %v", last.name, took)
	}
	last.resume()
	fails.mount(fails.args...)
}
