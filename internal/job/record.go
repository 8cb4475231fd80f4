package job

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

const (
	recordName = "job.json"

	// maxRecord bounds the size of a record in bytes. A worker takes about 300.
	maxRecord = 16 << 20

	// recordReaders is how many records Records reads at a time.
	recordReaders = 16
)

// RecordPath returns the file with the Record of a job.
func RecordPath(datacenter, user, name string) pfs.Path {
	return Dir(datacenter, user, name).Join(recordName)
}

// CreateRecord writes the Record of a new job to the store. It answers Exist if there is one of that
// name, which makes names unique among all machines and engines.
func CreateRecord(ctx context.Context, fsys pfs.FileSystem, r *Record) error {
	path := RecordPath(r.Spec.Datacenter, r.Spec.User, r.Spec.Name)
	if err := pfs.MkdirAll(ctx, fsys, path.Parent(), 0o755); err != nil {
		return err
	}
	return writeRecord(ctx, fsys, path, r, true)
}

// WriteRecord replaces the Record of a job in the store.
func WriteRecord(ctx context.Context, fsys pfs.FileSystem, r *Record) error {
	return writeRecord(ctx, fsys, RecordPath(r.Spec.Datacenter, r.Spec.User, r.Spec.Name), r, false)
}

func writeRecord(ctx context.Context, fsys pfs.FileSystem, path pfs.Path, r *Record, create bool) error {
	copied := *r
	copied.Updated = time.Now().UTC()
	data, err := json.MarshalIndent(&copied, "", "  ")
	if err != nil {
		return err
	}
	data = append(data, '\n')
	opts := pfs.CommitOptions{Size: int64(len(data)), Mode: 0o644, NoReplace: create}
	w, err := fsys.Create(ctx, path, pfs.CreateOptions{Size: opts.Size})
	if err != nil {
		return err
	}
	defer w.Close(ctx)
	for off := 0; off < len(data); off += pfs.ChunkSize {
		chunk := data[off:min(len(data), off+pfs.ChunkSize)]
		if _, err := w.WriteAt(ctx, chunk, int64(off)); err != nil {
			return err
		}
	}
	_, err = w.Commit(ctx, opts)
	return err
}

// ReadRecord reads the Record of a job from the store.
func ReadRecord(ctx context.Context, fsys pfs.FileSystem, datacenter, user, name string) (*Record, error) {
	const op = "job.ReadRecord"
	if reason := CheckName(name); reason != "" {
		return nil, &SpecError{"name", name, reason}
	}
	path := RecordPath(datacenter, user, name)
	f, err := fsys.Open(ctx, path)
	if errors.Is(err, pfs.NotExist) {
		return nil, pfs.Errorf(op, "", pfs.NotExist, "there is no job %q", name)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size := f.Info().Size
	if size > maxRecord {
		return nil, pfs.Errorf(op, path, pfs.Integrity, "%d bytes are too many for the record of a job", size)
	}
	data := make([]byte, size)
	if err := pfs.ReadFull(ctx, f, data, 0); err != nil {
		return nil, err
	}
	r := &Record{}
	if err := json.Unmarshal(data, r); err != nil {
		return nil, pfs.Errorf(op, path, pfs.Integrity, "not the record of a job: %v", err)
	}
	if s := &r.Spec; s.Name != name || s.User != user || s.Datacenter != datacenter {
		return nil, pfs.Errorf(op, path, pfs.Integrity, "the record of another job: %q of %q in %q", s.Name, s.User, s.Datacenter)
	}
	return r, nil
}

// Records yields the Records of a user's jobs that the store has, in the store's order. An error of one
// job does not end the sequence. Directories without a record are not jobs.
func Records(ctx context.Context, fsys pfs.FileSystem, datacenter, user string) iter.Seq2[*Record, error] {
	return func(yield func(*Record, error) bool) {
		type result struct {
			record *Record
			err    error
		}
		ctx, cancel := context.WithCancel(ctx)
		var work sync.WaitGroup
		defer work.Wait()
		defer cancel()
		var reading []chan result // in the store's order
		first := func() bool {
			got := <-reading[0]
			reading = reading[1:]
			return errors.Is(got.err, pfs.NotExist) || yield(got.record, got.err)
		}
		var failed error
		for e, err := range pfs.Entries(ctx, fsys, jobsDir(datacenter, user), nil) {
			if err != nil {
				failed = err
				break
			}
			if !e.IsDir() || CheckName(e.Name) != "" {
				continue
			}
			if len(reading) == recordReaders && !first() {
				return
			}
			done := make(chan result, 1)
			reading = append(reading, done)
			work.Go(func() {
				r, err := ReadRecord(ctx, fsys, datacenter, user, e.Name)
				done <- result{r, err}
			})
		}
		for len(reading) > 0 {
			if !first() {
				return
			}
		}
		if failed != nil && !errors.Is(failed, pfs.NotExist) { // NotExist: no job was ever submitted
			yield(nil, failed)
		}
	}
}

// Delete removes a job that has ended: from the engine, unless that is nil because it does not know the job, and its
// logs and its Record from the store. Outputs and the package stay.
func Delete(ctx context.Context, fsys pfs.FileSystem, engine Engine, datacenter, user, name string) error {
	if engine != nil {
		if err := engine.Delete(ctx, user, name); err != nil && !errors.Is(err, pfs.NotExist) {
			return err
		}
	}
	dir := Dir(datacenter, user, name)
	if err := pfs.RemoveTree(ctx, fsys, dir.Join("logs")); err != nil && !errors.Is(err, pfs.NotExist) {
		return err
	}
	// The record goes last: until then the call can be repeated.
	if err := fsys.Remove(ctx, RecordPath(datacenter, user, name)); err != nil && !errors.Is(err, pfs.NotExist) {
		return err
	}
	_ = fsys.Remove(ctx, dir) // if it is empty
	return nil
}
