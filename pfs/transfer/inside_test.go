package transfer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

// service is a faulty file system that copies within itself in batches, as a client does.
// The hook is asked about the source of each file as "copy".
type service struct {
	*faulty
	requests, copied, alone atomic.Int64
}

func (s *service) CopyBatch(ctx context.Context, files []pfs.BatchCopy) []error {
	s.requests.Add(1)
	errs := make([]error, len(files))
	for i, f := range files {
		if errs[i] = s.hook("copy", f.Source); errs[i] != nil {
			continue
		}
		data := make([]byte, f.Size)
		read := []pfs.BatchFile{{Path: f.Source, Data: data}}
		if errs[i] = pfs.ReadBatch(ctx, s.FS, read)[0]; errs[i] != nil {
			continue
		}
		files[i].Digest = digest.Bytes(data)
		o := pfs.CopyOptions{NoReplace: f.NoReplace, NewTime: f.NewTime}.Commit(read[0].Info, files[i].Digest)
		errs[i] = s.FS.WriteBatch(ctx, []pfs.BatchEntry{{
			Path: f.Target, Mode: o.Mode, ModTime: o.ModTime, Data: data, Digest: o.Digest, NoReplace: o.NoReplace,
		}})[0]
		s.copied.Add(1)
	}
	return errs
}

func (s *service) CopyFile(ctx context.Context, src, dst pfs.Path, opts pfs.CopyOptions, progress func(int64)) (pfs.Info, error) {
	s.alone.Add(1)
	if err := s.hook("copy alone", src); err != nil {
		return pfs.Info{}, err
	}
	return s.FS.CopyFile(ctx, src, dst, opts, progress)
}

// plantMany makes n small files below /s, and one that is not small.
func plantMany(t *testing.T, fsys pfs.FileSystem, n int) {
	t.Helper()
	for i := range n {
		put(t, fsys, pfs.Path(fmt.Sprintf("/s/d%d/f%d", i%7, i)), []byte(fmt.Sprint("content ", i)))
	}
	put(t, fsys, "/s/large", noise(1, maxSmall+1))
}

func TestSmallFilesWithinAServiceTakeFewRequests(t *testing.T) {
	s := &service{faulty: newFaulty(t)}
	plantMany(t, s.FS, 2000)
	rec := &recorder{t: t}
	j := newJob(t, Options{Events: rec.record})
	must(t, j.Copy(context.Background(), End{s, "/s"}, End{s, "/d"}))
	if got, want := tree(t, s, "/d"), tree(t, s, "/s"); got != want {
		t.Error("the trees differ")
	}
	if n, copied := s.requests.Load(), s.copied.Load(); n > 20 || copied != 2000 {
		t.Errorf("%d files in %d requests, want 2000 in few", copied, n)
	}
	if st := j.Stats(); st.FilesDone != 2001 || st.BytesDone != st.Bytes || !st.Complete {
		t.Errorf("stats: %+v", st)
	}
	for _, e := range rec.of(Done) {
		if e.Size <= maxSmall && digest.Algorithm(e.Digest) != digest.XXH3 {
			t.Fatalf("%s is done with the digest %q", e.Path, e.Digest)
		}
	}
	info, err := s.Stat(context.Background(), "/d/d1/f1")
	if must(t, err); info.Mode.Perm() != 0o640 || !info.ModTime.Equal(past) {
		t.Errorf("mode %v and time %v of a copy, want those of its source", info.Mode, info.ModTime)
	}

	// Again: nothing to do.
	s.requests.Store(0)
	j = newJob(t, Options{})
	must(t, j.Copy(context.Background(), End{s, "/s"}, End{s, "/d"}))
	if st := j.Stats(); st.Skipped != 2001 || s.requests.Load() != 0 {
		t.Errorf("the second run sent %d requests: %+v", s.requests.Load(), st)
	}
}

// TestFaultsInABatchWithin checks that temporary errors are retried, and that other failed files
// are copied alone, which gives their error.
func TestFaultsInABatchWithin(t *testing.T) {
	for _, kind := range []pfs.Kind{pfs.Unavailable, pfs.Conflict, pfs.Integrity, pfs.Unsupported, pfs.Permission, pfs.Other} {
		t.Run(kind.Error(), func(t *testing.T) {
			s := &service{faulty: newFaulty(t)}
			plantMany(t, s.FS, 50)
			lasting := kind == pfs.Permission
			var failures atomic.Int64
			s.before = func(op string, name pfs.Path) error {
				if name == "/s/d0/f7" && (op == "copy" && failures.Add(1) == 1 || op == "copy alone" && lasting) {
					return pfs.E("test", name, kind, nil)
				}
				return nil
			}
			j := newJob(t, Options{})
			err := j.Copy(context.Background(), End{s, "/s"}, End{s, "/d"})
			st := j.Stats()
			if lasting && (!errors.As(err, new(*Incomplete)) || st.Failed != 1 || st.FilesDone != 50) {
				t.Errorf("got %v, %+v", err, st)
			}
			if !lasting && (err != nil || tree(t, s, "/d") != tree(t, s, "/s") || st.BytesDone != st.Bytes) {
				t.Errorf("got %v, %+v", err, st)
			}
		})
	}
}

// TestExistingWithin keeps existing files, even if the answer about their creation is lost.
func TestExistingWithin(t *testing.T) {
	s := &service{faulty: newFaulty(t)}
	plantMany(t, s.FS, 20)
	put(t, s.FS, "/d/d1/f1", []byte("of somebody else"))
	lost := false
	b := &answerLost{service: s, lose: func() bool { was := lost; lost = true; return !was }}
	j := newJob(t, Options{Overwrite: NoReplace})
	must(t, j.Copy(context.Background(), End{b, "/s"}, End{b, "/d"}))
	checkFile(t, s, "/d/d1/f1", []byte("of somebody else"))
	checkFile(t, s, "/d/d2/f2", []byte("content 2"))
	if st := j.Stats(); st.Skipped != 1 || st.FilesDone != 20 {
		t.Errorf("stats: %+v", st)
	}
}

// answerLost executes operations and loses the answer while lose returns true.
type answerLost struct {
	*service
	lose func() bool
}

func (f *answerLost) CopyBatch(ctx context.Context, files []pfs.BatchCopy) []error {
	errs := f.service.CopyBatch(ctx, files)
	if f.lose() {
		errs = slices.Repeat([]error{pfs.E("test.CopyBatch", "", pfs.Unavailable, nil)}, len(files))
	}
	return errs
}

// TestNoRoomWithin reports every file, and tries few of those alone that did not fit with their
// batch.
func TestNoRoomWithin(t *testing.T) {
	s := &service{faulty: newFaulty(t)}
	plantMany(t, s.FS, 300)
	must(t, s.FS.Remove(t.Context(), "/s/large"))
	s.before = func(op string, name pfs.Path) error {
		if op == "copy" || op == "copy alone" {
			return pfs.E("test", name, pfs.Quota, nil)
		}
		return nil
	}
	j := newJob(t, Options{})
	err := j.Copy(context.Background(), End{s, "/s"}, End{s, "/d"})
	if st := j.Stats(); !errors.Is(err, pfs.Quota) || st.Failed != 300 || st.FilesDone != 0 {
		t.Errorf("got %v, %+v, want Quota of 300 files", err, st)
	}
	if n := s.alone.Load(); n > 100 {
		t.Errorf("%d more files were begun", n)
	}
}
