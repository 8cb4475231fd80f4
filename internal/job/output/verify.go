package output

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/retry"
	"github.com/paddlecloud/pfs/pfs/transfer"
)

// Report is the state of the outputs of one run of a rank.
type Report struct {
	Dir    pfs.Path `json:"dir"`
	Marker string   `json:"marker,omitempty"` // Success, Failed or Incomplete; empty: not committed
	Run
	Exit    *job.Exit `json:"exit,omitempty"`
	Files   int64     `json:"files"`
	Bytes   int64     `json:"bytes"`
	LeftOut int64     `json:"left_out"`
	Reasons []string  `json:"reasons,omitempty"` // why outputs are incomplete

	// Verified is true if the manifest and all files in it have their digests.
	Verified bool      `json:"verified"`
	Problems []Problem `json:"problems,omitempty"` // the first ones
	Wrong    int64     `json:"wrong"`              // number of problems
}

// Problem is a file that is not as its manifest says.
type Problem struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// Whole reports whether all outputs are there and verified, and nothing was left out.
func (r *Report) Whole() bool {
	return r.Verified && r.LeftOut == 0 && (r.Marker == Success || r.Marker == Failed)
}

const (
	maxProblems = 1000
	verifiers   = 4
)

// Verify checks the outputs in dir, one run of a rank. It computes the digests of all files from their
// bytes. Errors are those of the store; what is wrong with the outputs is in the Report. told, if not
// nil, is called after each file with its size.
func Verify(ctx context.Context, fsys pfs.FileSystem, dir pfs.Path, told func(size int64)) (*Report, error) {
	if retry.From(ctx) == nil {
		ctx = budgeted(ctx, retry.Default)
	}
	r := &Report{Dir: dir}
	m, err := ReadMarker(ctx, fsys, dir)
	if err != nil {
		return nil, err
	}
	if m == nil {
		r.Reasons = []string{notCommitted(ctx, fsys, dir)}
		return r, nil
	}
	r.Marker, r.Run, r.Exit, r.Files, r.Bytes, r.LeftOut, r.Reasons = m.Name, m.Run, m.Exit, m.Files, m.Bytes, m.LeftOut, m.Reasons
	if m.Manifest == "" {
		return r, nil
	}
	v := &verifier{fs: fsys, dir: dir, report: r, told: told}
	if err := v.all(ctx, m); err != nil {
		return nil, err
	}
	r.Verified = r.Wrong == 0
	return r, nil
}

// notCommitted describes outputs without a marker.
func notCommitted(ctx context.Context, fsys pfs.FileSystem, dir pfs.Path) string {
	var c claimed
	if err := readRecord(ctx, fsys, dir.Join(uploading), &c); err != nil {
		return "there is no marker"
	}
	return fmt.Sprintf("there is no marker: the uploader on the machine %s, which began at %s, has not finished", c.Host, c.Since.Format("2006-01-02T15:04:05Z07:00"))
}

// verifier is the work of Verify.
type verifier struct {
	fs   pfs.FileSystem
	dir  pfs.Path
	told func(int64)

	mu     sync.Mutex
	report *Report
}

// wrong notes a problem.
func (v *verifier) wrong(path, reason string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.report.Wrong++
	if len(v.report.Problems) < maxProblems {
		v.report.Problems = append(v.report.Problems, Problem{path, reason})
	}
}

// all checks the manifest and the files in it.
func (v *verifier) all(caller context.Context, m *Marker) error {
	name := v.dir.Join(Manifest)
	sum, err := digest.Stored(caller, v.fs, name, digest.Algorithm(m.Manifest), nil)
	switch {
	case errors.Is(err, pfs.NotExist):
		v.wrong(Manifest, "it is missing")
		return nil
	case err != nil:
		return err
	case sum != m.Manifest:
		v.wrong(Manifest, "its digest is "+sum+", the marker has "+m.Manifest)
		return nil
	}
	f, err := v.fs.Open(caller, name)
	if err != nil {
		return err
	}
	defer f.Close()
	ctx, cancel := context.WithCancelCause(caller)
	defer cancel(nil)
	files := make(chan File, verifiers)
	var work sync.WaitGroup
	for range verifiers {
		work.Go(func() {
			for file := range files {
				if err := v.file(ctx, file); err != nil {
					cancel(err)
				}
			}
		})
	}
	ahead := transfer.NewReadAhead(ctx, f, 0, f.Info().Size)
	run, err := readManifest(ahead, func(file File) error {
		select {
		case files <- file:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}, func(LeftOut) error { return nil })
	ahead.Stop()
	close(files)
	work.Wait()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil && pfs.KindOf(err) != pfs.Other:
		return err
	case err != nil:
		v.wrong(Manifest, err.Error())
	case run != m.Run:
		v.wrong(Manifest, fmt.Sprintf("it is of the run %+v, the marker of %+v", run, m.Run))
	}
	return nil
}

// file checks one file.
func (v *verifier) file(ctx context.Context, f File) error {
	name := v.dir + "/" + pfs.Path(f.Path)
	var info pfs.Info
	var sum string
	err := retry.From(ctx).Do(ctx, retry.Op{}, func(ctx context.Context) (err error) {
		if info, err = v.fs.Stat(ctx, name); err == nil && info.Size == f.Size {
			sum, err = digest.Stored(ctx, v.fs, name, digest.Algorithm(f.Digest), nil)
		}
		return err
	})
	switch {
	case errors.Is(err, pfs.NotExist), errors.Is(err, pfs.NotDir), errors.Is(err, pfs.IsDir), errors.Is(err, pfs.Symlink):
		v.wrong(f.Path, pfs.KindOf(err).Error())
	case errors.Is(err, pfs.Integrity):
		v.wrong(f.Path, err.Error())
	case err != nil:
		return err
	case info.Size != f.Size:
		v.wrong(f.Path, fmt.Sprintf("it has %d bytes, the manifest says %d", info.Size, f.Size))
	case !strings.EqualFold(sum, f.Digest):
		v.wrong(f.Path, "its digest is "+sum+", the manifest says "+f.Digest)
	}
	if v.told != nil {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.told(f.Size)
	}
	return nil
}
