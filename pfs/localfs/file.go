package localfs

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"

	"github.com/paddlecloud/pfs/pfs"
)

// file is an open file. A file that is replaced while it is open goes on to be read
// as it was.
type file struct {
	name pfs.Path
	info pfs.Info

	mu sync.RWMutex // held by reads, so that Close does not pull the file away
	f  *os.File     // nil after Close
}

// Open opens name for reading.
func (s *FS) Open(ctx context.Context, name pfs.Path) (pfs.File, error) {
	const op = "localfs.Open"
	if err := begin(ctx, op, name); err != nil {
		return nil, err
	}
	f, st, err := s.openRegular(op, name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	st.info.Digest = fileMark(f).digestOf(st.info)
	return &file{name: name, info: st.info, f: f}, nil
}

// openRegular opens the regular file name.
func (s *FS) openRegular(op string, name pfs.Path, flags int) (*os.File, statted, error) {
	if name == pfs.Root {
		return nil, statted{}, pfs.E(op, name, pfs.IsDir, nil)
	}
	d, base, err := s.parent(op, name)
	if err != nil {
		return nil, statted{}, err
	}
	defer d.Close()
	f, err := d.open(base, flags, 0)
	if err != nil {
		if st, serr := d.stat(base); serr == nil && !st.info.IsRegular() && !st.info.IsDir() && !st.info.IsLink() {
			err = special(op, name, st.info)
		}
		return nil, statted{}, fail(op, name, err)
	}
	st, err := statFile(f, base)
	switch {
	case err != nil:
	case st.info.IsDir():
		err = pfs.E(op, name, pfs.IsDir, nil)
	case !st.info.IsRegular():
		err = special(op, name, st.info)
	}
	if err != nil {
		f.Close()
		return nil, statted{}, fail(op, name, err)
	}
	return f, st, nil
}

func special(op string, name pfs.Path, info pfs.Info) error {
	return pfs.Errorf(op, name, pfs.Unsupported, "it is a %s, not a file", kindName(info))
}

func kindName(info pfs.Info) string {
	switch m := info.Mode; {
	case m&os.ModeNamedPipe != 0:
		return "named pipe"
	case m&os.ModeSocket != 0:
		return "socket"
	case m&os.ModeDevice != 0:
		return "device"
	}
	return "special file"
}

func (f *file) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	const op = "localfs.ReadAt"
	if off < 0 {
		return 0, pfs.Errorf(op, f.name, pfs.Invalid, "negative offset %d", off)
	}
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.f == nil {
		return 0, pfs.E(op, f.name, pfs.Closed, nil)
	}
	return readAt(ctx, op, f.name, f.f, p, off)
}

// readAt reads a chunk at a time, so that it can be canceled.
func readAt(ctx context.Context, op string, name pfs.Path, f *os.File, p []byte, off int64) (n int, err error) {
	for {
		if err := pfs.CheckContext(ctx, op, name); err != nil {
			return n, err
		}
		if n == len(p) {
			return n, nil
		}
		k, err := f.ReadAt(p[n:min(n+pfs.ChunkSize, len(p))], off+int64(n))
		n += k
		if errors.Is(err, io.EOF) {
			return n, io.EOF
		}
		if err != nil {
			return n, fail(op, name, err)
		}
	}
}

func (f *file) Info() pfs.Info { return f.info }

func (f *file) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.f == nil {
		return nil
	}
	err := f.f.Close()
	f.f = nil
	return fail("localfs.Close", f.name, err)
}
