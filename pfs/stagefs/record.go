package stagefs

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

const dataSuffix, recordSuffix = ".data", ".json"

// state is the state of a staged file that differs from the store.
type state string

// The states.
const (
	open       state = "open"       // handles have changes
	pending    state = "pending"    // it was closed
	incomplete state = "incomplete" // it was open when its process ended
	streaming  state = "streaming"  // not a staged file, but a tail
	nameless   state = "nameless"   // it was removed while it was open
)

// record is the persistent state of a staged file that differs from the store.
type record struct {
	Path  pfs.Path  `json:"path"`
	To    pfs.Path  `json:"to,omitempty"` // a name that it is just given
	State state     `json:"state"`
	Since time.Time `json:"since"` // when it began to differ
	MTime time.Time `json:"mtime"` // of the last change
	Gen   uint64    `json:"generation"`
	Base  pfs.Info  `json:"base"`     // the file on the store, as it was last seen
	Shown uint64    `json:"shown_id"` // the Info.ID that users know

	// Of a tail: where it begins, which its head has, and the ID and flags of the handle of the store.
	From   int64         `json:"-"`
	Handle string        `json:"handle,omitempty"`
	Rights pfs.OpenFlags `json:"rights,omitempty"`

	Handles int `json:"handles,omitempty"` // of a file without a name
}

// setState changes the state. A pending file survives a crash of the system, so its content is synced first.
func (s *stage) setState(to state) error {
	was := s.State
	s.State = to
	err := s.writeRecord(to == pending)
	if err != nil {
		s.State = was
	}
	return err
}

// update writes the record again if there is one.
func (s *stage) update() error {
	if !s.dirty || s.apart {
		return nil
	}
	return s.writeRecord(s.State == pending)
}

// writeRecord replaces the record.
func (s *stage) writeRecord(durable bool) error {
	text, err := json.Marshal(s.record)
	if err != nil {
		return err
	}
	temp := s.file(recordSuffix + ".new")
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil && durable {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(temp, s.file(recordSuffix))
	}
	if err == nil && durable {
		err = syncDir(s.fs.opts.Dir)
	}
	if err != nil {
		_ = os.Remove(temp)
	}
	return err
}

// syncDir makes the names in dir survive a crash of the system.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// removeRecord ends the state.
func (s *stage) removeRecord() {
	if s.dirty && !s.apart {
		s.dirty = false
		_ = os.Remove(s.file(recordSuffix))
	}
}

// moving notes that the file is about to get the name to, or does not get it if that is empty.
func (s *stage) moving(to pfs.Path) { s.moved(s.Path, to) }

// moved notes the name of the file, and the one that it is just given.
func (s *stage) moved(name, to pfs.Path) {
	s.Path, s.To = name, to
	if err := s.update(); err != nil {
		s.fs.opts.Logger.Warn("the record of a staged file has its old name", "path", name, "file", s.file(recordSuffix), "error", err)
	}
}

// resumeWait bounds how long a process waits for the end of the one that it replaces.
const resumeWait = time.Minute

// recover locks the directory and reads the records in it.
func (f *FS) recover() (err error) {
	const op = "stagefs.New"
	for end := time.Now().Add(resumeWait); ; time.Sleep(10 * time.Millisecond) {
		if err := os.MkdirAll(f.opts.Dir, 0o700); err != nil {
			return pfs.E(op, "", pfs.KindOf(err), err)
		}
		f.held, err = lockDir(f.opts.Dir)
		wait := pfs.KindOf(err) == pfs.Exist && f.opts.Resume || pfs.KindOf(err) == pfs.NotExist // it was just removed
		if !wait || time.Now().After(end) {
			break
		}
	}
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = f.held.Close()
		}
	}()
	if err := f.ids.open(f.held, f.opts.Resume); err != nil {
		return pfs.E(op, "", pfs.KindOf(err), err)
	}
	names, err := os.ReadDir(f.opts.Dir)
	if err != nil {
		return pfs.E(op, "", pfs.KindOf(err), err)
	}
	for _, e := range names {
		switch name := filepath.Join(f.opts.Dir, e.Name()); filepath.Ext(name) {
		case recordSuffix:
			err = f.load(name[:len(name)-len(recordSuffix)], f.opts.Resume)
		case dataSuffix: // without a record, it has nothing that the store lacks
			if _, failed := os.Lstat(name[:len(name)-len(dataSuffix)] + recordSuffix); errors.Is(failed, fs.ErrNotExist) {
				err = os.Remove(name)
			}
		case ".new":
			err = os.Remove(name)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return pfs.E(op, "", pfs.KindOf(err), err)
		}
		err = nil
	}
	return nil
}

// load takes over the staged file with that prefix. One that cannot be read stays where it is.
func (f *FS) load(prefix string, resume bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := &stage{fs: f, id: filepath.Base(prefix), dirty: true}
	text, err := os.ReadFile(prefix + recordSuffix)
	if err == nil {
		err = json.Unmarshal(text, &s.record)
	}
	if err == nil {
		err = pfs.CheckPath("stagefs.load", s.Path)
	}
	if err == nil {
		s.data, err = os.OpenFile(prefix+dataSuffix, os.O_RDWR, 0)
	}
	if err == nil {
		var info os.FileInfo
		if info, err = s.data.Stat(); err == nil {
			s.size = info.Size()
		}
	}
	if err != nil {
		if s.data != nil {
			_ = s.data.Close()
		}
		f.opts.Logger.Error("a staged file cannot be read; it is left alone", "file", prefix+recordSuffix, "error", err)
		return nil
	}
	if s.To != "" { // its process ended before or after the store had done that
		ctx, cancel := context.WithTimeout(f.ctx, resumeWait)
		defer cancel()
		if info, err := f.below.Stat(ctx, s.To); err == nil && info.ID != 0 && info.ID == s.Base.ID {
			s.Path, s.To = s.To, ""
		}
	}
	switch {
	case s.State == streaming && resume && f.files[s.Path] == nil && s.readHead() == nil && s.length() > 0:
		f.resumeTail(s)
		return nil
	case s.State == nameless && resume:
		f.resumeNameless(s)
		return nil
	case s.State == streaming, s.State == nameless: // no caller was told that they survive
		s.drop()
		return nil
	}
	if s.State != pending { // its last changes may be newer than the record
		s.Gen, s.MTime = newGen(), time.Now().Truncate(time.Millisecond)
	}
	if f.files[s.Path] != nil || s.State != pending && !resume {
		s.State = incomplete
		f.incomplete = append(f.incomplete, s)
		return s.writeRecord(true)
	}
	fl := f.newFile(s.Path)
	fl.setStage(s)
	f.files[s.Path] = fl
	f.ids.show(s.Base.ID, s.Shown)
	return nil
}

// abandoned is how long a directory is unused before other processes take over its files.
const abandoned = 10 * time.Minute

// adopt takes over the files of abandoned directories of other mounts, once the store accepts this account.
func (f *FS) adopt() {
	dirs, _ := filepath.Glob(f.opts.Others)
	for _, dir := range dirs {
		lock := filepath.Join(dir, lockName)
		used, err := os.Stat(lock)
		if err != nil || dir == f.opts.Dir {
			continue
		}
		age := time.Since(used.ModTime())
		if age < 0 { // the clock was set back: the age counts from now on
			_ = os.Chtimes(lock, time.Time{}, time.Now())
		}
		if age < abandoned {
			continue
		}
		if _, err := f.below.Stat(f.ctx, pfs.Root); err != nil {
			return
		}
		if held, err := lockDir(dir); err == nil {
			if err := f.adoptFrom(dir); err != nil {
				f.opts.Logger.Warn("what another mount has left cannot be taken over", "dir", dir, "error", err)
			}
			_ = held.Close()
		}
	}
}

// adoptFrom takes over the files in dir. At each moment, a record has its data in the same directory, because New
// removes data without a record.
func (f *FS) adoptFrom(dir string) error {
	records, err := filepath.Glob(filepath.Join(dir, "*"+recordSuffix))
	for _, name := range records {
		from := name[:len(name)-len(recordSuffix)]
		to := filepath.Join(f.opts.Dir, filepath.Base(from))
		if err := os.Link(from+dataSuffix, to+dataSuffix); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if err := os.Rename(from+recordSuffix, to+recordSuffix); err != nil {
			return err
		}
		if err := f.load(to, false); err != nil {
			return err
		}
	}
	if err == nil {
		err = os.RemoveAll(dir)
	}
	return err
}
