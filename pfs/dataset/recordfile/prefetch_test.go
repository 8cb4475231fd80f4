package recordfile_test

import (
	"bytes"
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/dataset/recordfile"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
	"github.com/paddlecloud/pfs/pfs/transfer"
	"github.com/paddlecloud/pfs/recordio"
)

// fakeService counts the requests that a client of a service would send.
type fakeService struct {
	*memfs.FS
	batches, reads atomic.Int64
}

func (s *fakeService) ReadRanges(ctx context.Context, ranges []pfs.Range) []error {
	s.batches.Add(1)
	return pfs.ReadRanges(ctx, s.FS, ranges)
}

func (s *fakeService) Open(ctx context.Context, name pfs.Path) (pfs.File, error) {
	f, err := s.FS.Open(ctx, name)
	return &fakeFile{f, s}, err
}

type fakeFile struct {
	pfs.File
	s *fakeService
}

func (f *fakeFile) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	f.s.reads.Add(1)
	return f.File.ReadAt(ctx, p, off)
}

// TestPrefetch reads records of eight files with one request.
func TestPrefetch(t *testing.T) {
	s := &fakeService{FS: memfs.New(memfs.Options{})}
	record := func(file, n int) []byte { return bytes.Repeat(fmt.Appendf(nil, "%d of %d ", n, file), 100) }
	const files, records = 8, 2000
	var wants []recordfile.Want
	for i := range files {
		var file, index bytes.Buffer
		w := recordio.NewWriter(&file, recordio.WriterOptions{Compressor: recordio.Snappy})
		for n := range records {
			if err := w.Write(record(i, n)); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		x, err := recordio.BuildIndex(bytes.NewReader(file.Bytes()), recordio.ScanOptions{})
		if err == nil {
			err = recordio.WriteIndex(&index, x)
		}
		if err != nil {
			t.Fatal(err)
		}
		name := pfs.Path(fmt.Sprint("/x", i))
		pfstest.WriteFile(t, s.FS, name, file.Bytes())
		pfstest.WriteFile(t, s.FS, pfs.Path("/"+recordio.IndexName(name.Base())), index.Bytes())
		f, err := recordfile.OpenRecords(t.Context(), recordfile.File{Title: string(name), End: transfer.End{FS: s, Path: name}, Remote: true}, recordio.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		wants = append(wants, recordfile.Want{File: f, Numbers: []int64{int64(i), 700, 1999}})
	}
	before := s.reads.Load()
	release := recordfile.Prefetch(t.Context(), wants)
	for i, w := range wants {
		err := w.File.ReadBatch(w.Numbers, func(k int, rec []byte) error {
			if want := record(i, int(w.Numbers[k])); !bytes.Equal(rec, want) {
				return fmt.Errorf("file %d, record %d: %.20q", i, w.Numbers[k], rec)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	if batches, reads := s.batches.Load(), s.reads.Load()-before; batches != 1 || reads != 0 {
		t.Errorf("%d requests for ranges and %d for others, want 1 and 0", batches, reads)
	}
	release()
	if err := wants[0].File.ReadBatch([]int64{1500}, func(int, []byte) error { return nil }); err != nil || s.reads.Load() == before {
		t.Errorf("a record that was not fetched: %v, %d reads", err, s.reads.Load()-before)
	}
}
