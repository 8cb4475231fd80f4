//go:build ceph

package cephfs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/internal/posix"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// TestStorm writes and reads files from many goroutines, and changes names, while daemons are
// killed, become silent and evict the client. Each file is whole and correct, or absent, and
// successful changes persist.
func TestStorm(t *testing.T) {
	testbed.Long(t)
	c := testbed.CephAlone(t)
	s := &storm{T: t, f: faulty(t, c), done: make(chan struct{}, 1), failed: make(chan struct{}, 1), over: make(chan struct{})}
	var stop atomic.Bool
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for round := 0; !stop.Load() && !t.Failed(); round++ {
				name := pfs.Root.Join(fmt.Sprintf("f%d-%d", i, round%3))
				data := pfstest.Pattern(uint64(i*1000+round), 3*pfs.ChunkSize+i*1000+round)
				s.write(name, data)
				s.read(name, data)
				s.names(pfs.Root.Join(fmt.Sprintf("d%d-%d", i, round)))
				tell(s.done)
			}
		})
	}
	go func() {
		wg.Wait()
		close(s.over)
	}()
	for _, strike := range []func(){
		func() { evict(t, c) },
		func() { c.Pause(t, "mds"); s.wait(s.failed); c.Resume(t, "mds") },
		func() { c.Kill(t, "osd"); c.Start(t, "osd") },
		func() { c.Pause(t, "osd"); s.wait(s.failed); c.Resume(t, "osd") },
		func() { c.Kill(t, "mds"); c.Start(t, "mds") },
		func() { evict(t, c) },
		func() { c.Kill(t, "mon"); c.Start(t, "mon") },
	} {
		strike()
		for range 8 {
			s.wait(s.done)
		}
	}
	stop.Store(true)
	<-s.over
}

// storm is the shared state of the goroutines of TestStorm.
type storm struct {
	*testing.T
	f      FS
	done   chan struct{} // signals that a file was written and read
	failed chan struct{} // signals that something had to be retried
	over   chan struct{} // closed when all goroutines have ended
}

// wait waits for c, unless all goroutines have ended.
func (s *storm) wait(c chan struct{}) {
	select {
	case <-c:
	case <-s.over:
	}
}

// tell sends on c if it is empty.
func tell(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// again retries as a sender does whose call returns Unavailable.
func (s *storm) again(do func() error) error {
	return again(func() error {
		err := do()
		if err != nil {
			tell(s.failed)
		}
		return err
	})
}

// write publishes data as a sender does that resumes its upload.
func (s *storm) write(name pfs.Path, data []byte) {
	id := pfs.NewID()
	err := s.again(func() error {
		w, err := s.f.Create(s.Context(), name, pfs.CreateOptions{ID: id})
		if err != nil {
			return err
		}
		defer w.Suspend(s.Context())
		if _, err := w.WriteAt(s.Context(), data, 0); err != nil {
			return err
		}
		_, err = w.Commit(s.Context(), pfs.CommitOptions{Size: int64(len(data))})
		return err
	})
	if err != nil {
		s.Errorf("write %s: %v", name, err)
	}
}

// read reads the file that write wrote.
func (s *storm) read(name pfs.Path, want []byte) {
	var got []byte
	err := s.again(func() error {
		r, err := s.f.Open(s.Context(), name)
		if err != nil {
			return err
		}
		defer r.Close()
		got, err = io.ReadAll(pfs.NewReader(s.Context(), r))
		return err
	})
	if err != nil {
		s.Errorf("read %s: %v", name, err)
	} else if !bytes.Equal(got, want) {
		s.Errorf("%s holds %d bytes, and not the %d that were written", name, len(got), len(want))
	}
}

// names makes a directory with small files and renames it, and relies on the result of each step.
func (s *storm) names(dir pfs.Path) {
	var entries []pfs.BatchEntry
	for i := range groupFew + 2 {
		entries = append(entries, pfs.BatchEntry{Path: dir.Join(fmt.Sprint("f", i)), Data: pfstest.Pattern(uint64(i), 1000+i)})
	}
	moved := dir + "-moved"
	for _, step := range []func() error{
		func() error { return s.f.Mkdir(s.Context(), dir, 0o755) },
		func() error { return errors.Join(s.f.WriteBatch(s.Context(), entries)...) },
		func() error { return s.moved(s.f.Rename(s.Context(), dir, moved), moved) },
		func() error { return s.hold(moved, entries) },
		func() error { return posix.UnlessMissing(s.f.RemoveTree(s.Context(), moved)) },
		func() error { _, err := s.f.Stat(s.Context(), moved); return absent(err) },
	} {
		if err := s.again(step); err != nil {
			s.Errorf("%s: %v", dir, err)
			return
		}
	}
}

// moved treats an earlier attempt that has renamed to name as success.
func (s *storm) moved(err error, name pfs.Path) error {
	if pfs.KindOf(err) != pfs.NotExist && pfs.KindOf(err) != pfs.Exist {
		return err
	}
	_, err = s.f.Stat(s.Context(), name)
	return err
}

// hold checks that dir has exactly the entries.
func (s *storm) hold(dir pfs.Path, entries []pfs.BatchEntry) error {
	for _, e := range entries {
		r, err := s.f.Open(s.Context(), dir.Join(e.Path.Base()))
		if err != nil {
			return err
		}
		got, err := io.ReadAll(pfs.NewReader(s.Context(), r))
		r.Close()
		if err != nil {
			return err
		}
		if !bytes.Equal(got, e.Data) {
			return fmt.Errorf("%s holds %d bytes, and not the %d that were written", e.Path, len(got), len(e.Data))
		}
	}
	return nil
}

// absent checks for NotExist.
func absent(err error) error {
	if err == nil {
		return errors.New("it is there, and was removed")
	}
	return posix.UnlessMissing(err)
}
