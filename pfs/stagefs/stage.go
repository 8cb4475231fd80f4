package stagefs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/internal/rules"
)

// stage is the local file with the content of a staged file. The lock of its file guards it.
type stage struct {
	fs    *FS
	id    string
	data  *os.File
	size  int64
	dirty bool // the content differs from the store, and there is a record
	apart bool // the file has no name any more: it is always dirty
	record
	err error // why the last upload failed
}

// newStage returns an empty stage of the file name, which is info on the store.
func (f *FS) newStage(name pfs.Path, info pfs.Info) (*stage, error) {
	s := &stage{fs: f, id: pfs.NewID(), record: record{Path: name, Base: info, Shown: f.ids.shown(info.ID), Gen: newGen()}}
	var err error
	s.data, err = os.OpenFile(s.file(dataSuffix), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, localError("stagefs.stage", name, err)
	}
	return s, nil
}

// newGen returns a number that no earlier change has.
func newGen() uint64 { return uint64(time.Now().UnixNano()) }

// file returns the name of a local file.
func (s *stage) file(suffix string) string { return filepath.Join(s.fs.opts.Dir, s.id+suffix) }

// localError is the error of a local file, nil for nil.
func localError(op string, name pfs.Path, err error) error {
	if err == nil {
		return nil
	}
	kind := pfs.Other
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		kind = pfs.NoSpace
	}
	return pfs.Errorf(op, name, kind, "the local file with the staged content: %w", err)
}

// put writes p at off, if the disk has room.
func (s *stage) put(op string, name pfs.Path, p []byte, off int64) (int, error) {
	total, free, err := diskSpace(s.data)
	if err == nil && free-int64(len(p)) < total/20 {
		return 0, localError(op, name, fmt.Errorf("%d bytes are free, and a twentieth of the disk stays free: %w", free, syscall.ENOSPC))
	}
	n, err := s.data.WriteAt(p, off)
	s.size = max(s.size, off+int64(n))
	if err != nil {
		return n, localError(op, name, err)
	}
	return n, nil
}

func (s *stage) write(op string, name pfs.Path, p []byte, off int64) (int, error) {
	if err := s.begin(op, name); err != nil {
		return 0, err
	}
	n, err := s.put(op, name, p, off)
	s.touch()
	return n, err
}

func (s *stage) truncate(op string, name pfs.Path, size int64) error {
	if err := s.begin(op, name); err != nil {
		return err
	}
	if err := s.data.Truncate(size); err != nil {
		return localError(op, name, err)
	}
	s.size = size
	s.touch()
	return nil
}

// begin records that the content differs from now on.
func (s *stage) begin(op string, name pfs.Path) error {
	if s.apart || s.dirty && s.State == open {
		return nil
	}
	if !s.dirty {
		s.Since = time.Now()
	}
	if err := s.setState(open); err != nil {
		return localError(op, name, err)
	}
	s.dirty, s.err = true, nil
	return nil
}

// touch notes a change.
func (s *stage) touch() {
	s.MTime = time.Now().Truncate(time.Millisecond) // as most stores keep it
	s.Gen++
}

func (s *stage) read(op string, name pfs.Path, p []byte, off int64) (int, error) {
	return readLocal(op, name, s.data, s.size, p, off)
}

// readLocal reads a local file of that size.
func readLocal(op string, name pfs.Path, f *os.File, size int64, p []byte, off int64) (int, error) {
	want := p[:max(0, min(int64(len(p)), size-off))]
	n, err := f.ReadAt(want, off)
	switch {
	case n < len(want):
		return n, localError(op, name, err)
	case n < len(p):
		return n, io.EOF
	}
	return n, nil
}

// describe returns info of the file on the store, with the staged changes.
func (s *stage) describe(info pfs.Info) pfs.Info {
	info.ID = s.Shown
	if !s.dirty {
		return info
	}
	info.Size, info.ModTime = s.size, s.MTime
	if !info.ChangeTime.IsZero() && info.ChangeTime.Before(s.MTime) {
		info.ChangeTime = s.MTime
	}
	info.Version, info.Digest = s.version(), ""
	return info
}

// version names the content. It is also the ID of its upload, so that an interrupted upload is resumed.
func (s *stage) version() string { return fmt.Sprintf("%s%x", s.id, s.Gen) }

// detach notes that the file has lost its name and has so many handles.
func (s *stage) detach(handles int) {
	if !s.dirty {
		s.MTime = s.Base.ModTime
	}
	if handles == 0 {
		s.removeRecord()
	}
	s.apart, s.dirty = true, true
	s.hold(handles)
}

// keepName undoes hold: the file was in the state was, and has its name.
func (s *stage) keepName(was state) {
	if s.State, s.Handles = was, 0; !s.dirty {
		_ = os.Remove(s.file(recordSuffix))
	} else if err := s.setState(was); err != nil {
		s.fs.opts.Logger.Warn("the record of a staged file is wrong", "path", s.Path, "file", s.file(recordSuffix), "error", err)
	}
}

// hold records how many handles have a file without a name.
func (s *stage) hold(handles int) {
	s.Handles = handles
	if handles == 0 {
		return
	}
	if err := s.setState(nameless); err != nil {
		s.fs.opts.Logger.Warn("a file that was removed while it is open cannot be kept for another process", "file", s.file(dataSuffix), "error", err)
	}
}

// drop removes the local files.
func (s *stage) drop() {
	s.removeRecord()
	if s.apart {
		_ = os.Remove(s.file(recordSuffix))
	}
	_ = s.data.Close()
	_ = os.Remove(s.file(dataSuffix))
}

// open opens the content for reading. The caller holds the lock of the file fl.
func (s *stage) open(fl *file, name pfs.Path) (pfs.File, error) {
	data, err := os.Open(s.file(dataSuffix))
	if err != nil {
		return nil, localError("stagefs.Open", name, err)
	}
	info := s.describe(s.Base)
	info.Name = name.Base()
	v := &version{fl: fl, s: s, gen: s.Gen, info: info, data: data}
	v.Name, v.Flags = name, pfs.OpenRead
	return v, nil
}

// version is an open File with staged content.
type version struct {
	rules.Handle
	fl   *file
	s    *stage
	gen  uint64
	info pfs.Info
	data *os.File
}

func (v *version) Info() pfs.Info { return v.info }

// ReadAt answers Conflict after a change.
func (v *version) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	const op = "stagefs.File.ReadAt"
	if err := pfs.CheckRange(op, v.Name, off, len(p)); err != nil {
		return 0, err
	}
	if err := v.Check(ctx, op, pfs.OpenRead); err != nil {
		return 0, err
	}
	v.fl.mu.RLock()
	defer v.fl.mu.RUnlock()
	if v.s.Gen != v.gen {
		return 0, pfs.Errorf(op, v.Name, pfs.Conflict, "the file was changed: open it again")
	}
	return readLocal(op, v.Name, v.data, v.info.Size, p, off)
}

func (v *version) Close() error {
	if v.End() {
		return v.data.Close()
	}
	return nil
}
