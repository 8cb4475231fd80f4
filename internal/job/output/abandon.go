package output

import (
	"context"
	"errors"
	"io/fs"
	"strconv"
	"time"

	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/retry"
)

// Abandon writes the marker Incomplete for each run of w in its attempt that has none. The caller knows
// that the uploaders of w have ended. The marker has the reason and the number of files in the store. There
// is no manifest, because the files were not compared with those of the program. A run that is known
// neither to the store nor to w gets no marker. Abandon sets the marker of the last run in w.
func Abandon(ctx context.Context, fsys pfs.FileSystem, spec *job.Spec, w *job.Worker, reason string) error {
	ctx = budgeted(ctx, retry.Default)
	runs, err := runsOf(ctx, fsys, job.OutputDir(spec, w.Attempt, w.Name))
	if err != nil {
		return err
	}
	for i, dir := range runs {
		m, err := ReadMarker(ctx, fsys, dir)
		if err == nil && m == nil {
			m = &Marker{Version: formatVersion, Run: Run{Worker: w.Name, Attempt: w.Attempt}, Reasons: []string{reason}, Written: time.Now().UTC(), Name: Incomplete}
			if i > 0 {
				m.Restart, _ = strconv.Atoi(dir.Base())
			}
			if i < len(runs)-1 {
				m.Reasons[0] = "the program was started again before the outputs of this run were committed"
			}
			err = m.count(ctx, fsys, dir)
			if errors.Is(err, pfs.NotExist) {
				if w.Started.IsZero() {
					continue
				}
				err = pfs.MkdirAll(ctx, fsys, dir, 0o755)
			}
			if err == nil {
				err = writeMarker(ctx, fsys, dir, m)
			}
			if err == nil {
				_ = fsys.Remove(ctx, dir.Join(uploading)) // without it the claim is only a file that nobody needs
			}
		}
		if err != nil {
			return err
		}
		w.Outputs = m.Name
	}
	return nil
}

// count counts the files of a run that the store has.
func (m *Marker) count(ctx context.Context, fsys pfs.FileSystem, dir pfs.Path) error {
	return pfs.Walk(ctx, fsys, dir, func(name pfs.Path, info pfs.Info, err error) error {
		switch {
		case err != nil:
			return err
		case name.Parent() == dir && reserved(info.Name):
			if info.IsDir() {
				return fs.SkipDir
			}
		case info.IsRegular():
			m.Files++
			m.Bytes += info.Size
		}
		return nil
	})
}
