package localfs

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

const (
	// quotaFile, in a directory, limits what is below it.
	quotaFile = pfs.TempPrefix + "quota"

	// quotaKnown is how long a directory's quota is believed before its file is
	// looked at again: the time in which a change by another process is seen.
	quotaKnown = 10 * time.Second

	// mostAccounts bounds the directories remembered.
	mostAccounts = 100_000
)

// limits is the content of a quota file.
type limits struct {
	MaxBytes int64 `json:"max_bytes"`
	MaxFiles int64 `json:"max_files"`
}

// quotas knows the limited trees.
type quotas struct {
	fs *FS

	mu       sync.Mutex
	accounts map[pfs.Path]*account
}

// account is what is known of one directory: mostly that it has no quota.
type account struct {
	dir   pfs.Path
	limit limits
	read  time.Time // when the file was looked at

	mu      sync.Mutex
	used    pfs.Usage
	counted time.Time // zero: used is not known
}

func (q *quotas) init(s *FS) {
	q.fs, q.accounts = s, map[pfs.Path]*account{}
}

// over returns the accounts with limits that name counts for: of the directories above
// it.
func (q *quotas) over(name pfs.Path) []*account {
	if q.fs.opts.FollowLinks {
		return nil // a user's own files have no quota of ours
	}
	var out []*account
	for dir := name; dir != pfs.Root; {
		dir = dir.Parent()
		if a := q.account(dir); a.limit != (limits{}) {
			out = append(out, a)
		}
	}
	return out
}

// account returns what is known of dir, looking at its quota file if need be.
func (q *quotas) account(dir pfs.Path) *account {
	q.mu.Lock()
	a := q.accounts[dir]
	q.mu.Unlock()
	if a != nil && time.Since(a.read) < quotaKnown {
		return a
	}
	fresh := &account{dir: dir, limit: q.readLimits(dir), read: time.Now()}
	q.mu.Lock()
	defer q.mu.Unlock()
	if a := q.accounts[dir]; a != nil && a.limit == fresh.limit {
		a.read = fresh.read
		return a
	}
	if len(q.accounts) >= mostAccounts {
		clear(q.accounts)
	}
	q.accounts[dir] = fresh
	return fresh
}

// readLimits reads the quota file of dir. One that cannot be read limits nothing, and
// is told to the administrator.
func (q *quotas) readLimits(dir pfs.Path) (l limits) {
	const op = "localfs.readLimits"
	d, err := q.fs.openDir(op, dir)
	if err != nil {
		return l
	}
	defer d.Close()
	f, err := d.open(quotaFile, os.O_RDONLY, 0)
	if err != nil {
		return l
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 4096))
	if err == nil {
		err = json.Unmarshal(b, &l)
	}
	if err != nil {
		q.fs.opts.Logger.Error("quota file ignored", "directory", string(dir), "error", err)
	}
	return l
}

// charge adds to what the trees above name hold, or answers Quota.
func (q *quotas) charge(ctx context.Context, op string, name pfs.Path, bytes, files int64) error {
	accounts := q.over(name)
	for i, a := range accounts {
		if err := q.add(ctx, op, name, a, bytes, files, true); err != nil {
			for _, b := range accounts[:i] {
				b.change(-bytes, -files)
			}
			return err
		}
	}
	return nil
}

// check answers Quota if bytes more would not fit, without adding them.
func (q *quotas) check(ctx context.Context, op string, name pfs.Path, bytes int64) error {
	for _, a := range q.over(name) {
		if err := q.add(ctx, op, name, a, bytes, 0, false); err != nil {
			return err
		}
	}
	return nil
}

// refund takes from what the trees above name hold.
func (q *quotas) refund(name pfs.Path, bytes, files int64) {
	for _, a := range q.over(name) {
		a.change(-bytes, -files)
	}
}

// recount makes the trees above name be counted anew when that is next needed.
func (q *quotas) recount(name pfs.Path) {
	for _, a := range q.over(name) {
		a.mu.Lock()
		a.counted = time.Time{}
		a.mu.Unlock()
	}
}

// same reports whether the same limits hold for both names.
func (q *quotas) same(a, b pfs.Path) bool { return slices.Equal(q.over(a), q.over(b)) }

func (a *account) change(bytes, files int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.used.Bytes += bytes
	a.used.Files += files
}

// add checks, and if take is set adds, bytes and files.
func (q *quotas) add(ctx context.Context, op string, name pfs.Path, a *account, bytes, files int64, take bool) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := q.count(ctx, a); err != nil {
		return err
	}
	if most := a.limit.MaxBytes; most > 0 && bytes > 0 && a.used.Bytes+bytes > most {
		return pfs.Errorf(op, name, pfs.Quota, "%s may hold %d bytes, holds %d, and %d more were asked for", a.dir, most, a.used.Bytes, bytes)
	}
	if most, have := a.limit.MaxFiles, a.used.Files+a.used.Dirs; most > 0 && files > 0 && have+files > most {
		return pfs.Errorf(op, name, pfs.Quota, "%s may hold %d files and directories and holds %d", a.dir, most, have)
	}
	if take {
		a.used.Bytes += bytes
		a.used.Files += files
	}
	return nil
}

// count walks the tree if what it holds is not known, or was counted too long ago.
// a.mu is held: writers of this tree wait, and no others.
func (q *quotas) count(ctx context.Context, a *account) error {
	if !a.counted.IsZero() && time.Since(a.counted) < q.fs.opts.RecountEvery {
		return nil
	}
	d, err := q.fs.openDir("localfs.count", a.dir)
	if err != nil {
		return err
	}
	defer d.Close()
	used, err := d.usage(ctx, ".")
	if err != nil {
		return fail("localfs.count", a.dir, err)
	}
	a.used, a.counted = used, time.Now()
	return nil
}

// usage sums what is below the directory name of d. Staged writes count by their
// bytes.
func (d *dir) usage(ctx context.Context, name string) (u pfs.Usage, err error) {
	sum := func(_ *dir, entry string, st statted) error {
		switch {
		case st.info.IsDir():
			u.Dirs++
		case strings.HasPrefix(entry, stagePrefix):
			u.Bytes += st.info.Size
		case strings.HasPrefix(entry, pfs.TempPrefix):
		default:
			u.Files++
			u.Bytes += st.info.Size
		}
		return nil
	}
	if name == "." {
		return u, d.each(ctx, sum)
	}
	err = d.below(ctx, name, sum)
	return u, err
}

// Usage sums the tree below name by walking it where it lies.
func (s *FS) Usage(ctx context.Context, name pfs.Path) (pfs.Usage, error) {
	const op = "localfs.Usage"
	if err := begin(ctx, op, name); err != nil {
		return pfs.Usage{}, err
	}
	d, err := s.openDir(op, name)
	if err != nil {
		return pfs.Usage{}, err
	}
	defer d.Close()
	u, err := d.usage(ctx, ".")
	if err != nil {
		return pfs.Usage{}, fail(op, name, err)
	}
	a := s.quotas.account(name)
	u.MaxBytes, u.MaxFiles = a.limit.MaxBytes, a.limit.MaxFiles
	return u, nil
}

// SetQuota limits the tree below name.
func (s *FS) SetQuota(ctx context.Context, name pfs.Path, maxBytes, maxFiles int64) error {
	const op = "localfs.SetQuota"
	if err := begin(ctx, op, name); err != nil {
		return err
	}
	if maxBytes < 0 || maxFiles < 0 {
		return pfs.Errorf(op, name, pfs.Invalid, "quota of %d bytes and %d files", maxBytes, maxFiles)
	}
	d, err := s.openDir(op, name)
	if err != nil {
		return err
	}
	defer d.Close()
	l := limits{maxBytes, maxFiles}
	if l == (limits{}) {
		err = d.unlink(quotaFile)
		if errors.Is(err, os.ErrNotExist) {
			err = nil
		}
	} else {
		err = d.replaceFile(quotaFile, l)
	}
	if err == nil {
		err = d.sync()
	}
	s.quotas.mu.Lock()
	delete(s.quotas.accounts, name)
	s.quotas.mu.Unlock()
	return fail(op, name, err)
}

// replaceFile writes v as JSON to name, atomically and durably.
func (d *dir) replaceFile(name string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	temp := tempName(pfs.NewID(), name)
	f, err := d.open(temp, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err = f.Write(b); err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = d.rename(temp, d, name)
	}
	if err != nil {
		_ = d.unlink(temp)
	}
	return err
}
