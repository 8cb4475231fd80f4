// Package stage copies the inputs of jobs to the local disk, where all jobs of a machine share them.
//
// A directory for inputs has, for each version of a file or tree,
//
//	KEY/data    the files
//	KEY/lock    held exclusively by the process that copies or removes them, shared by those that use them
//	KEY/state   the description of the input, once the copy is complete; its time is that of the last use
//
// KEY is the digest of path, sizes and times of all files, so a changed input gets another KEY. Copies are
// verified and can be resumed, like all copies of package transfer. When the disk budget is used up, the
// least recently used inputs are removed.
//
// It needs a Unix system.
package stage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/internal/sorter"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/localfs"
	"github.com/paddlecloud/pfs/pfs/retry"
	"github.com/paddlecloud/pfs/pfs/transfer"
)

// lookEvery is how often a lock that another process has is tried.
const lookEvery = 100 * time.Millisecond

// Options are the options of Stage.
type Options struct {
	FS  pfs.FileSystem // has the inputs
	Dir string         // for inputs on this machine; it is made

	// Limit bounds the bytes of all inputs in Dir; 0 means no limit but the disk.
	Limit int64

	// Told, if not nil, is called now and then with a sentence about what Stage does.
	Told func(string)
}

// Inputs are inputs on the local disk. They stay until Close.
type Inputs struct {
	Dir   string // has the inputs under their paths below /pfs, as links
	locks []*os.File
}

// Close lets the inputs be removed when others need the room.
func (in *Inputs) Close() {
	for _, f := range in.locks {
		f.Close()
	}
	in.locks = nil
}

// content is what an input is, as the file state has it.
type content struct {
	Source pfs.Path `json:"source"`
	Files  int64    `json:"files"`
	Bytes  int64    `json:"bytes"`
	Key    string   `json:"-"`
}

// Stage copies the inputs to Options.Dir, unless they are there, verifies them, and links them into the
// directory links, which it makes: /pfs/dc/public/x becomes links/dc/public/x. It may be interrupted and called again.
func Stage(ctx context.Context, opts Options, inputs []pfs.Path, links string) (_ *Inputs, err error) {
	in := &Inputs{Dir: links}
	defer func() {
		if err != nil {
			in.Close()
		}
	}()
	if err := os.MkdirAll(opts.Dir, 0o755); err != nil {
		return nil, err
	}
	for _, input := range outer(inputs) {
		s := &stager{opts: opts, input: input}
		lock, data, err := s.get(ctx)
		if err != nil {
			return nil, err
		}
		in.locks = append(in.locks, lock)
		if err := link(data, linkName(links, input)); err != nil {
			return nil, err
		}
	}
	return in, nil
}

// Hold returns inputs that Stage has linked into the directory links, for another process that uses them.
func Hold(links string, inputs []pfs.Path) (*Inputs, error) {
	in := &Inputs{Dir: links}
	for _, input := range outer(inputs) {
		data, err := os.Readlink(linkName(links, input))
		var lock *os.File
		if err == nil {
			lock, err = os.Open(filepath.Join(filepath.Dir(data), "lock"))
		}
		if err == nil {
			in.locks = append(in.locks, lock)
			if err = flock(lock, false); err == nil && !kept(lock, lock.Name()) {
				err = os.ErrNotExist
			}
		}
		if err != nil {
			in.Close()
			return nil, fmt.Errorf("the input %s is not staged: %w", input, err)
		}
	}
	return in, nil
}

// outer returns the inputs that are not in another one, which has their files, too.
func outer(inputs []pfs.Path) []pfs.Path {
	return slices.DeleteFunc(slices.Clone(inputs), func(p pfs.Path) bool {
		return slices.ContainsFunc(inputs, func(o pfs.Path) bool { return o != p && p.Within(o) })
	})
}

// linkName returns the name of the link to an input.
func linkName(links string, input pfs.Path) string {
	return filepath.Join(links, strings.TrimPrefix(string(input), "/pfs"))
}

// link makes name a link to the directory or file data.
func link(data, name string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	data, err := filepath.Abs(data)
	if err != nil {
		return err
	}
	if to, err := os.Readlink(name); err == nil {
		if to == data {
			return nil
		}
		if err := os.Remove(name); err != nil {
			return err
		}
	}
	return os.Symlink(data, name)
}

// stager gets one input.
type stager struct {
	opts  Options
	input pfs.Path
}

func (s *stager) tell(format string, args ...any) {
	if s.opts.Told != nil {
		s.opts.Told(fmt.Sprintf(format, args...))
	}
}

// get returns the local place of the input, and a shared lock on it. If the input changes while it is copied, get
// begins again, once.
func (s *stager) get(ctx context.Context) (lock *os.File, data string, err error) {
	for range 2 {
		var before, after content
		if before, err = s.list(ctx); err != nil {
			return nil, "", err
		}
		if lock, data, err = s.copy(ctx, before); err != nil {
			if errors.Is(err, pfs.Conflict) {
				continue
			}
			return nil, "", err
		}
		if after, err = s.list(ctx); err == nil && after.Key == before.Key {
			return lock, data, nil
		}
		lock.Close()
		if err == nil {
			err = pfs.Errorf("stage.Stage", s.input, pfs.Conflict, "the input changes while it is copied: jobs need inputs that nobody changes")
		}
	}
	return nil, "", err
}

// list describes the current version of the input.
func (s *stager) list(ctx context.Context) (content, error) {
	c := content{Source: s.input}
	lines := sorter.New(strings.Compare)
	defer lines.Close()
	err := pfs.Walk(ctx, s.opts.FS, s.input, func(name pfs.Path, info pfs.Info, err error) error {
		if err == nil && !info.IsDir() && !info.IsRegular() {
			err = pfs.Errorf("stage.Stage", name, pfs.Unsupported, "inputs have only files and directories")
		}
		if err != nil || info.IsDir() {
			return err
		}
		c.Files++
		c.Bytes += info.Size
		return lines.Add(fmt.Sprintf("%q %d %d", name.Rebase(s.input, "/"), info.Size, info.ModTime.UnixNano()))
	})
	if err != nil {
		return c, err
	}
	sum := []byte(s.input)
	err = lines.Each(func(line string) error {
		leaf := digest.Leaf(append(append(sum, '\n'), line...))
		sum = leaf[:]
		return nil
	})
	key := digest.Leaf(sum)
	c.Key = fmt.Sprintf("%x", key[:])
	return c, err
}

// copy makes the version c of the input complete, and returns its place with a shared lock.
func (s *stager) copy(ctx context.Context, c content) (_ *os.File, data string, err error) {
	var lock *os.File
	shared := false
	dir := filepath.Join(s.opts.Dir, c.Key)
	for told := false; ; told = true {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, "", err
		}
		lock, shared, err = s.lock(ctx, filepath.Join(dir, "lock"), !told)
		if err == nil && kept(lock, lock.Name()) {
			break
		}
		if err == nil {
			lock.Close() // it was removed meanwhile
		} else if !errors.Is(err, os.ErrNotExist) {
			return nil, "", err
		}
	}
	defer func() {
		if err != nil {
			lock.Close()
		}
	}()
	state := filepath.Join(dir, "state")
	if shared {
		return lock, filepath.Join(dir, "data"), os.Chtimes(state, time.Time{}, time.Now())
	}
	_, missing := os.Stat(state)
	if missing != nil {
		if err := s.makeRoom(c); err != nil {
			return nil, "", err
		}
		s.tell("copying %s: %d files, %d bytes", s.input, c.Files, c.Bytes)
	}
	local, err := localfs.New(dir, localfs.Options{})
	if err != nil {
		return nil, "", err
	}
	defer local.Close()
	// A complete copy is compared by sizes and times, which also finds files that somebody has removed.
	j, err := transfer.New(transfer.Options{Origin: string(s.input), Quick: missing == nil, Delete: true, DeleteAll: true, Links: transfer.SkipLinks})
	if err != nil {
		return nil, "", err
	}
	if err := j.Copy(ctx, transfer.End{FS: s.opts.FS, Path: s.input}, transfer.End{FS: local, Path: "/data"}); err != nil {
		return nil, "", err
	}
	text, err := json.Marshal(c)
	if err != nil {
		return nil, "", err
	}
	if err := job.WriteFile(state, append(text, '\n'), 0o644); err != nil {
		return nil, "", err
	}
	// The lock is free for a moment while it changes.
	for err = flock(lock, false); err == errLocked; err = flock(lock, false) {
		if err := retry.Sleep(ctx, lookEvery); err != nil {
			return nil, "", err
		}
	}
	if err == nil && !kept(lock, lock.Name()) {
		err = pfs.Errorf("stage.Stage", s.input, pfs.Conflict, "another job removed it at once, to make room")
	}
	return lock, filepath.Join(dir, "data"), err
}

// lock locks the file name exclusively, and waits for the lock. If others use the input, it is complete, and a
// shared lock is enough, and shared is true.
func (s *stager) lock(ctx context.Context, name string, tell bool) (f *os.File, shared bool, err error) {
	if f, err = os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o644); err != nil {
		return nil, false, err
	}
	for {
		if err = flock(f, true); err == errLocked {
			if _, complete := os.Stat(filepath.Join(filepath.Dir(name), "state")); complete == nil {
				err, shared = flock(f, false), true
			}
		}
		if err == nil {
			return f, shared, nil
		}
		if err == errLocked {
			if tell {
				s.tell("waiting for another job, which copies %s to this machine", s.input)
				tell = false
			}
			err = retry.Sleep(ctx, lookEvery)
		}
		if err != nil {
			f.Close()
			return nil, false, err
		}
		shared = false
	}
}

// kept reports whether the open file still has its name.
func kept(f *os.File, name string) bool {
	a, err := f.Stat()
	b, err2 := os.Stat(name)
	return err == nil && err2 == nil && os.SameFile(a, b)
}

// makeRoom removes unused inputs until c fits.
func (s *stager) makeRoom(c content) error {
	if s.opts.Limit == 0 {
		return nil
	}
	if c.Bytes > s.opts.Limit {
		return pfs.Errorf("stage.Stage", s.input, pfs.NoSpace, "it has %d bytes, and all inputs on this machine may have %d", c.Bytes, s.opts.Limit)
	}
	type entry struct {
		dir   string
		bytes int64
		used  time.Time
	}
	var all []entry
	total := c.Bytes
	dirs, err := os.ReadDir(s.opts.Dir)
	if err != nil {
		return err
	}
	for _, d := range dirs {
		if d.Name() == c.Key {
			continue
		}
		e := entry{dir: filepath.Join(s.opts.Dir, d.Name())}
		if e.bytes, err = diskUse(filepath.Join(e.dir, "data")); err != nil {
			return err
		}
		if info, err := os.Stat(filepath.Join(e.dir, "state")); err == nil {
			e.used = info.ModTime()
		}
		all = append(all, e)
		total += e.bytes
	}
	slices.SortFunc(all, func(a, b entry) int { return a.used.Compare(b.used) })
	for _, e := range all {
		if total <= s.opts.Limit {
			return nil
		}
		removed, err := remove(e.dir)
		if err != nil {
			return err
		}
		if removed {
			s.tell("removed an input that no job uses: %s", e.dir)
			total -= e.bytes
		}
	}
	if total > s.opts.Limit {
		return pfs.Errorf("stage.Stage", s.input, pfs.NoSpace, "it has %d bytes; the inputs that jobs of this machine use have %d of %d",
			c.Bytes, total-c.Bytes, s.opts.Limit)
	}
	return nil
}

// diskUse returns the bytes of the files below dir.
func diskUse(dir string) (total int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			total += info.Size()
		}
		return nil
	})
	return total, err
}

// remove removes an input, unless it is in use.
func remove(dir string) (bool, error) {
	f, err := os.Open(filepath.Join(dir, "lock"))
	if err != nil {
		return false, nil // another process is making or removing it
	}
	defer f.Close()
	switch err := flock(f, true); err {
	case nil:
	case errLocked:
		return false, nil
	default:
		return false, err
	}
	// The state goes first: what is left after a crash is not complete. The lock goes last.
	for _, name := range []string{"state", "data", ""} {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			return false, err
		}
	}
	return true, nil
}
