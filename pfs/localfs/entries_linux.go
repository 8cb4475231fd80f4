package localfs

import (
	"bytes"
	"encoding/binary"
	"unsafe"

	"github.com/paddlecloud/pfs/pfs/internal/posix"
	"golang.org/x/sys/unix"
)

// entries reads the directory in its own order. A token is the directory's inode and the cookie
// that the kernel gives with each entry. Any process can resume with it, at the price of one page,
// and entries that come or go meanwhile do not shift it.
func (d *fdDir) entries(token string, limit int) (names []string, next string, err error) {
	st, err := d.stat(".", false)
	if err != nil {
		return nil, "", err
	}
	fd, err := d.read()
	if err != nil {
		return nil, "", err
	}
	defer unix.Close(fd)
	if token != "" {
		off, err := posix.ParseToken(token, st.ino)
		if err != nil {
			return nil, "", err
		}
		if _, err := unix.Seek(fd, off, unix.SEEK_SET); err != nil {
			return nil, "", posix.ErrToken
		}
	}
	buf := make([]byte, 32<<10)
	for {
		n, err := retried(func() (int, error) { return unix.Getdents(fd, buf) })
		if err != nil || n == 0 {
			return names, "", err
		}
		for rest := buf[:n]; len(rest) > 0; {
			var e entry
			e, rest = nextEntry(rest)
			if e.live() {
				names = append(names, e.name)
			}
			if len(names) == limit {
				return names, posix.Token(st.ino, e.off), nil
			}
		}
	}
}

// entry is a struct linux_dirent64.
type entry struct {
	ino  uint64
	off  int64 // cookie of the entry after it
	name string
}

// live reports whether e is a name, and not "." or ".." or removed.
func (e entry) live() bool { return e.ino != 0 && e.name != "." && e.name != ".." }

// nextEntry cuts the first entry off p.
func nextEntry(p []byte) (e entry, rest []byte) {
	const (
		offAt  = unsafe.Offsetof(unix.Dirent{}.Off)
		lenAt  = unsafe.Offsetof(unix.Dirent{}.Reclen)
		nameAt = unsafe.Offsetof(unix.Dirent{}.Name)
	)
	size := binary.NativeEndian.Uint16(p[lenAt:])
	name, _, _ := bytes.Cut(p[nameAt:size], []byte{0})
	return entry{
		ino:  binary.NativeEndian.Uint64(p),
		off:  int64(binary.NativeEndian.Uint64(p[offAt:])),
		name: string(name),
	}, p[size:]
}
