package localfs

import (
	"encoding/binary"
	"strconv"

	"github.com/paddlecloud/pfs/pfs"
	"golang.org/x/sys/unix"
)

// The head of struct linux_dirent64: d_ino, d_off, d_reclen, d_type; then the name,
// ended by NUL.
const (
	direntOff    = 8
	direntLen    = 16
	direntName   = 19
	direntBuffer = 64 << 10
)

// names calls fn with the names in d in the directory's own order, without "." and
// "..", from the place token on ("" is the start), until fn returns false. It returns
// the place behind the last name that fn was given, "" at the end. The place is the
// kernel's own cookie, which stays good when the directory is closed and opened again,
// by any process.
func (d *dir) names(token string, fn func(name string) bool) (next string, err error) {
	f, err := d.reopen()
	if err != nil {
		return "", err
	}
	defer f.Close()
	fd := int(f.Fd())
	if token != "" {
		cookie, err := strconv.ParseInt(token, 36, 64)
		if err == nil {
			_, err = unix.Seek(fd, cookie, unix.SEEK_SET)
		}
		if err != nil {
			return "", pfs.Errorf("localfs.List", "", pfs.Conflict, "no place in this directory: begin again")
		}
	}
	buf := make([]byte, direntBuffer)
	for {
		n, err := retry(func() (int, error) { return unix.Getdents(fd, buf) })
		if err != nil {
			return "", err
		}
		if n == 0 {
			return "", nil
		}
		for rec := buf[:n]; len(rec) >= direntName; {
			size := int(binary.NativeEndian.Uint16(rec[direntLen:]))
			if size < direntName || size > len(rec) {
				return "", unix.EIO
			}
			cookie := int64(binary.NativeEndian.Uint64(rec[direntOff:]))
			name := unix.ByteSliceToString(rec[direntName:size])
			rec = rec[size:]
			if name == "." || name == ".." {
				continue
			}
			if !fn(name) {
				return strconv.FormatInt(cookie, 36), nil
			}
		}
	}
}
