package localfs

import (
	"fmt"
	"os"
	"strings"

	"github.com/paddlecloud/pfs/pfs"
)

// markName is the extended attribute of a published file.
const markName = "user.pfs.digest"

// mark is what is kept with a published file: its digest, with the size and time that
// it is good for, and the ID of the staged write that made it. The zero mark means
// that nothing is known.
type mark struct {
	digest string
	size   int64
	time   int64 // modification time, nanoseconds since 1970
	id     string
}

func (m mark) encode() []byte {
	dash := func(s string) string {
		if s == "" {
			return "-"
		}
		return s
	}
	return fmt.Appendf(nil, "%s %d %d %s", dash(m.digest), m.size, m.time, dash(m.id))
}

// parseMark reads what encode wrote; what anybody else wrote is nothing.
func parseMark(b []byte) (m mark) {
	if n, err := fmt.Sscanf(string(b), "%s %d %d %s", &m.digest, &m.size, &m.time, &m.id); err != nil || n != 4 {
		return mark{}
	}
	m.digest, m.id = strings.TrimPrefix(m.digest, "-"), strings.TrimPrefix(m.id, "-")
	return m
}

// digestOf returns the digest if it was made for the file as info describes it.
func (m mark) digestOf(info pfs.Info) string {
	if m.size != info.Size || m.time != info.ModTime.UnixNano() {
		return ""
	}
	return m.digest
}

// maxMark bounds a mark: a digest of 80 bytes, two numbers and an ID.
const maxMark = 512

// mark returns the mark of name, zero if it has none or cannot have one.
func (d *dir) mark(name string) mark {
	var buf [maxMark]byte
	n, err := d.getxattrAt(name, buf[:])
	if err != nil {
		return mark{}
	}
	return parseMark(buf[:n])
}

// setMark marks name. A file system that cannot keep it goes without.
func (d *dir) setMark(name string, m mark) { _ = d.setxattrAt(name, m.encode()) }

func fileMark(f *os.File) mark {
	var buf [maxMark]byte
	n, err := getxattr(f, buf[:])
	if err != nil {
		return mark{}
	}
	return parseMark(buf[:n])
}

func setFileMark(f *os.File, m mark) { _ = setxattr(f, m.encode()) }
