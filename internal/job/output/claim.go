package output

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/pfs"
)

// ErrTaken is the cause of a Conflict: another uploader has the outputs of the run, or has committed them.
var ErrTaken = errors.New("the outputs belong to another uploader")

// claimed names the uploader that works on the outputs of a run. An uploader that is started again for the
// same job.RankDir has the same ID and continues. Any other one is refused, so a pod that still ends and
// the one that replaces it never mix.
type claimed struct {
	Uploader string    `json:"uploader"`
	Host     string    `json:"host"`
	Since    time.Time `json:"since"`
}

// uploaderID returns the ID of the uploader of a rank directory.
func uploaderID(rank job.RankDir) (string, error) {
	name := filepath.Join(rank.Run(), "uploader")
	id, err := os.ReadFile(name)
	if err == nil && pfs.ValidID(string(id)) {
		return string(id), nil
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	made := pfs.NewID()
	return made, job.WriteFile(name, []byte(made), 0o644)
}

// claim reserves the directory for this uploader. It returns the marker if this uploader has written
// it already or the run was abandoned, and Conflict if another one has the directory.
func (u *uploader) claim(ctx context.Context) (*Marker, error) {
	host, _ := os.Hostname()
	name := u.opts.Dir.Join(uploading)
	if err := pfs.MkdirAll(ctx, u.opts.FS, u.opts.Dir, 0o755); err != nil {
		return nil, err
	}
	mine := claimed{u.id, host, time.Now().UTC()}
	err := writeRecord(ctx, u.opts.FS, name, mine, true)
	taken := errors.Is(err, pfs.Exist)
	switch {
	case errors.Is(err, pfs.Unsupported): // the store cannot do it in one step
		if err = readRecord(ctx, u.opts.FS, name, new(claimed)); errors.Is(err, pfs.NotExist) {
			err = writeRecord(ctx, u.opts.FS, name, mine, false)
		}
		if taken = err == nil; err != nil {
			return nil, err
		}
	case err != nil && !taken:
		return nil, err
	}
	if taken {
		var other claimed
		if err := readRecord(ctx, u.opts.FS, name, &other); err != nil {
			return nil, err
		}
		if other.Uploader != u.id {
			return nil, pfs.Errorf("output.Upload", u.opts.Dir, pfs.Conflict,
				"%w, on the machine %s since %s", ErrTaken, other.Host, other.Since.Format(time.RFC3339))
		}
	}
	u.resumed = taken
	// The directory is ours. If the run had ended before that, it stays as it is.
	m, err := ReadMarker(ctx, u.opts.FS, u.opts.Dir)
	if err != nil || m == nil {
		return nil, err
	}
	u.unclaim(ctx)
	if m.Uploader != u.id && m.Uploader != "" {
		return nil, pfs.Errorf("output.Upload", u.opts.Dir, pfs.Conflict, "%w, which has written %s", ErrTaken, m.Name)
	}
	return m, nil
}

// unclaim gives the directory up. A claim that stays is a useless file, but harmless.
func (u *uploader) unclaim(ctx context.Context) {
	_ = u.opts.FS.Remove(ctx, u.opts.Dir.Join(uploading))
}
