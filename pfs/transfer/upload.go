package transfer

import (
	"context"
	"errors"
	"maps"
	"sync"

	"github.com/paddlecloud/pfs/pfs"
)

// upload is an upload that is reopened when its target has lost it. It counts all repairs, in which
// bytes are sent again.
type upload struct {
	j      *Job
	name   pfs.Path // of Retry events
	target End
	opts   pfs.CreateOptions

	opening    chan struct{} // full while the upload is opened again, which may take long
	staged     pfs.Staged    // nil while suspended
	generation int           // how often the upload was opened
	durable    bool          // bytes are at the target that can be sent from nowhere

	counting sync.Mutex
	repairs  map[int64]int // of each part, by its offset or number
}

// whole is the part that is the whole upload.
const whole = -1

func newUpload(j *Job, name pfs.Path, target End) *upload {
	return &upload{j: j, name: name, target: target, opening: make(chan struct{}, 1), repairs: map[int64]int{}}
}

// create begins or resumes the upload, or with reopen opens it again.
func (u *upload) create(ctx context.Context, reopen bool) error {
	opts := u.opts
	opts.Reopen = reopen
	return u.j.retry(ctx, u.name, func(ctx context.Context) error {
		staged, err := u.target.FS.Create(ctx, u.target.Path, opts)
		if err == nil {
			u.staged = staged
			u.generation++
		}
		return err
	})
}

func (u *upload) current() (pfs.Staged, int) {
	u.opening <- struct{}{}
	defer func() { <-u.opening }()
	return u.staged, u.generation
}

// isLost reports whether err means that the target no longer has the upload or its handle.
func isLost(err error) bool {
	if other := (*overtaken)(nil); errors.As(err, &other) {
		return false
	}
	return errors.Is(err, pfs.Conflict) || errors.Is(err, pfs.Closed) || errors.Is(err, pfs.NotExist)
}

// repair prepares to send a part again after err, with which one generation of the upload failed. It
// opens the upload again if the target has lost that. It returns an error if the part must not be sent again.
func (u *upload) repair(ctx context.Context, generation int, part int64, err error) error {
	if !isLost(err) {
		if gone := (*notKept)(nil); errors.As(err, &gone) || !errors.Is(err, pfs.Integrity) {
			return err
		}
		return u.count(ctx, part, err)
	}
	u.opening <- struct{}{}
	defer func() { <-u.opening }()
	if u.generation != generation {
		return nil // another goroutine has opened it again
	}
	if err := u.count(ctx, whole, err); err != nil {
		return err
	}
	_ = u.staged.Suspend(ctx)
	err = u.create(ctx, true)
	if errors.Is(err, pfs.Conflict) && !u.durable {
		err = u.create(ctx, false)
	}
	return err
}

// count spends one repair of a part. A part is sent again at most retry.MaxRepairs times, alone and with the
// whole upload together, unless the upload gains.
func (u *upload) count(ctx context.Context, part int64, err error) error {
	u.counting.Lock()
	alone := 0
	for p, n := range u.repairs {
		if p != whole && (p == part || part == whole) {
			alone = max(alone, n)
		}
	}
	made := alone + u.repairs[whole]
	u.repairs[part]++
	u.counting.Unlock()
	if err := u.j.budgetOf(ctx).Repair(ctx, made, err); err != nil {
		return err
	}
	u.j.retried(u.name, 0, err)
	return nil
}

// gained resets the count of repairs of the whole upload and of the parts before one: the target
// has more bytes than ever.
func (u *upload) gained(before int64) {
	u.counting.Lock()
	defer u.counting.Unlock()
	maps.DeleteFunc(u.repairs, func(part int64, _ int) bool { return part < before })
}

// suspend gives up the handle, and reopen opens it again.
func (u *upload) suspend(ctx context.Context) error {
	err := u.staged.Suspend(ctx)
	_ = u.staged.Close(ctx)
	u.staged = nil
	return err
}

func (u *upload) reopen(ctx context.Context) error {
	if u.staged != nil {
		return nil
	}
	return u.create(ctx, true)
}
