package pfstest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
)

var concurrentPromises = []promise{
	{says: "of two writers of one path one wins whole", check: func(e *env) {
		const writers = 4
		for range rounds(10) {
			for _, err := range together(writers, func(i int) error {
				return e.write("/f", numberedContent(i), pfs.CommitOptions{})
			}) {
				e.ok(err)
			}
			e.wantNumbered(ReadFile(e, e.fs, "/f"), writers)
			WantNames(e, e.fs, pfs.Root, "f")
		}
	}},
	{says: "a reader sees the old file or the new one, whole, while it is replaced", check: func(e *env) {
		commits := rounds(200)
		e.ok(e.write("/f", numberedContent(0), pfs.CommitOptions{}))
		e.readWhile(commits, func() {
			for i := range commits {
				if err := e.write("/f", numberedContent(i), pfs.CommitOptions{}); err != nil {
					e.Error(detail(err))
				}
			}
		})
		WantFile(e, e.fs, "/f", numberedContent(commits-1))
	}},
	{says: "a reader sees one of two files while they are renamed over a third", check: func(e *env) {
		renames := rounds(100)
		e.ok(e.write("/f", numberedContent(0), pfs.CommitOptions{}))
		e.readWhile(renames, func() {
			for i := range renames {
				err := e.write("/next", numberedContent(i), pfs.CommitOptions{})
				if err == nil {
					err = e.fs.Rename(e.ctx, "/next", "/f")
				}
				if err != nil {
					e.Error(detail(err))
				}
			}
		})
		WantNames(e, e.fs, pfs.Root, "f")
	}},
	{says: "of many Commits with NoReplace one succeeds", needs: NoExclusiveCommit, check: func(e *env) {
		for round := range rounds(10) {
			name := pfs.Root.Join(fmt.Sprint("f", round))
			e.wantOne(together(6, func(i int) error {
				return e.write(name, numberedContent(i), pfs.CommitOptions{NoReplace: true})
			}), pfs.Exist)
			e.wantNumbered(ReadFile(e, e.fs, name), 6)
		}
	}},
	{says: "of many RenameExclusive to one name one succeeds", needs: NoExclusiveRename, check: func(e *env) {
		for round := range rounds(10) {
			to := pfs.Root.Join(fmt.Sprint("to", round))
			from := func(i int) pfs.Path { return pfs.Root.Join(fmt.Sprintf("from%d-%d", round, i)) }
			for i := range 6 {
				WriteFile(e, e.fs, from(i), numberedContent(i))
			}
			e.wantOne(together(6, func(i int) error {
				return pfs.RenameExclusive(e.ctx, e.fs, from(i), to)
			}), pfs.Exist)
			e.wantNumbered(ReadFile(e, e.fs, to), 6)
		}
		if got := len(Names(e, e.fs, pfs.Root)); got != 6*rounds(10) {
			e.Errorf("%d entries, want %d", got, 6*rounds(10))
		}
	}},
	{says: "of many Removes of one name one succeeds", check: func(e *env) {
		for range rounds(10) {
			WriteFile(e, e.fs, "/f", nil)
			e.wantOne(together(6, func(int) error { return e.fs.Remove(e.ctx, "/f") }), pfs.NotExist)
		}
	}},
	{says: "of many Renames of one name one succeeds", check: func(e *env) {
		for round := range rounds(10) {
			WriteFile(e, e.fs, "/f", nil)
			e.wantOne(together(6, func(i int) error {
				return e.fs.Rename(e.ctx, "/f", pfs.Root.Join(fmt.Sprintf("to%d-%d", round, i)))
			}), pfs.NotExist)
		}
		if got := len(Names(e, e.fs, pfs.Root)); got != rounds(10) {
			e.Errorf("%d entries, want %d", got, rounds(10))
		}
	}},
	{says: "many may make the same directory", needs: NoEmptyDir, check: func(e *env) {
		for _, err := range together(8, func(int) error {
			return pfs.MkdirAll(e.ctx, e.fs, "/a/b/c/d", 0o755)
		}) {
			e.ok(err)
		}
		WantNames(e, e.fs, "/a/b/c", "d")
	}},
	{says: "many may write to one directory", check: func(e *env) {
		const n = 8
		for _, err := range together(n, func(i int) error {
			for k := range 10 {
				if err := e.write(pfs.Root.Join(fmt.Sprintf("f%d-%d", i, k)), numberedContent(i), pfs.CommitOptions{}); err != nil {
					return err
				}
			}
			return nil
		}) {
			e.ok(err)
		}
		names := Names(e, e.fs, pfs.Root)
		if len(names) != n*10 {
			e.Errorf("%d entries, want %d", len(names), n*10)
		}
		for i := range n {
			WantFile(e, e.fs, pfs.Root.Join(fmt.Sprintf("f%d-9", i)), numberedContent(i))
		}
	}},
	{says: "a file committed into a directory that is removed is there with it or not at all", needs: NoEmptyDir, check: func(e *env) {
		for range rounds(20) {
			MustMkdir(e, e.fs, "/dir")
			errs := together(2, func(i int) error {
				if i == 0 {
					return e.fs.Remove(e.ctx, "/dir")
				}
				return e.write("/dir/f", numberedContent(1), pfs.CommitOptions{})
			})
			removed, written := errs[0] == nil, errs[1] == nil
			if removed == written {
				e.Fatalf("Remove: %v, Commit: %v: one of them must succeed", errs[0], errs[1])
			}
			if written {
				e.want(errs[0], pfs.NotEmpty, "/dir")
				WantFile(e, e.fs, "/dir/f", numberedContent(1))
				e.ok(pfs.RemoveTree(e.ctx, e.fs, "/dir"))
			}
			WantAbsent(e, e.fs, "/dir")
		}
	}},
}

// together runs f n times at once and returns the errors.
func together(n int, f func(i int) error) []error {
	errs := make([]error, n)
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-start
			errs[i] = f(i)
		})
	}
	close(start)
	wg.Wait()
	return errs
}

// wantOne fails unless one of errs is nil and the others are of the Kind.
func (e *env) wantOne(errs []error, kind pfs.Kind) {
	e.Helper()
	done := 0
	for _, err := range errs {
		if err == nil {
			done++
		} else {
			WantKind(e, err, kind)
		}
	}
	if done != 1 {
		e.Fatalf("%d of %d succeeded, want 1", done, len(errs))
	}
}

// numberedContent is a content that can be identified by its length.
func numberedContent(i int) []byte { return Pattern(uint64(i), 10_000+i*31) }

// wantNumbered fails unless p is one of the first n numbered contents.
func (e *env) wantNumbered(p []byte, n int) {
	i := (len(p) - 10_000) / 31
	if i < 0 || i >= n || !bytes.Equal(p, numberedContent(i)) {
		e.Errorf("content is %s, not one of those that were written", brief(p))
	}
}

// write publishes data as name in several calls, without failing the test.
func (e *env) write(name pfs.Path, data []byte, opts pfs.CommitOptions) error {
	w, err := e.fs.Create(e.ctx, name, pfs.CreateOptions{})
	if err != nil {
		return err
	}
	defer w.Close(e.ctx)
	for opts.Size < int64(len(data)) {
		n, err := w.WriteAt(e.ctx, data[opts.Size:min(int(opts.Size)+4096, len(data))], opts.Size)
		if err != nil {
			return err
		}
		opts.Size += int64(n)
	}
	_, err = w.Commit(e.ctx, opts)
	return err
}

// rounds returns how often a race is repeated: n times, with -short a quarter of that.
func rounds(n int) int {
	if testing.Short() {
		return n / 4
	}
	return n
}

// readWhole reads name in several calls; a replaced file may refuse.
func (e *env) readWhole(name pfs.Path) ([]byte, error) {
	f, err := e.fs.Open(e.ctx, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(pfs.NewReader(e.ctx, f))
	if size := f.Info().Size; err == nil && int64(len(data)) != size {
		err = fmt.Errorf("%d bytes of a file of %d", len(data), size)
	}
	return data, err
}

// readWhile reads /f, which holds numbered contents, again and again until f
// returns.
func (e *env) readWhile(n int, f func()) {
	var stop atomic.Bool
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for !stop.Load() && !e.Failed() {
				data, err := e.readWhole("/f")
				switch {
				case err == nil:
					e.wantNumbered(data, n)
				case !errors.Is(err, pfs.Conflict):
					e.Errorf("reading a file that is replaced: %v", err)
				}
			}
		})
	}
	f()
	stop.Store(true)
	wg.Wait()
}
