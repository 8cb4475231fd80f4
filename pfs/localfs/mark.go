package localfs

import (
	"encoding/binary"
	"encoding/hex"
	"os"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

// markName is the extended attribute that holds the mark of a file.
const markName = "user.pfs.digest"

// maxMark bounds an attribute that somebody else may have made.
const maxMark = 1024

// attributes are extended attributes of open files.
type attributes interface {
	get(f *os.File, name string, p []byte) (n int, err error)
	set(f *os.File, name string, p []byte) error
	remove(f *os.File, name string) error
}

// mark is what is kept about the content of a file. It is true while the file has
// this size and time.
type mark struct {
	size   int64
	mtime  time.Time
	id     string // of the staged write that the file was; "" if not known
	digest string // "" if not known
}

// of reports whether m speaks of the content that st describes.
func (m mark) of(st stat) bool { return m.size == st.size && m.mtime.Equal(st.mtime) }

// encode is short, so that it fits into the inode beside the file's other
// attributes: a block of its own would cost small files more than their content.
// It is a 1, the size as a uvarint, the time in ns as a varint, and then the ID and
// the digest, each as packHex leaves it.
func (m mark) encode() []byte {
	p := binary.AppendUvarint([]byte{1}, uint64(m.size))
	p = binary.AppendVarint(p, m.mtime.UnixNano())
	p = packHex(p, "", m.id)
	name, sum, _ := strings.Cut(m.digest, ":")
	return packHex(p, name, sum)
}

// packHex appends a length of name, name, a length of sum with a bit that says
// whether the bytes that follow are sum itself or what it is the hex of.
func packHex(p []byte, name, sum string) []byte {
	p = append(p, byte(len(name)))
	p = append(p, name...)
	if raw, err := hex.DecodeString(sum); err == nil && hex.EncodeToString(raw) == sum {
		p = binary.AppendUvarint(p, uint64(len(raw))<<1|1)
		return append(p, raw...)
	}
	p = binary.AppendUvarint(p, uint64(len(sum))<<1)
	return append(p, sum...)
}

// decodeMark reads what encode wrote. Anything else is no mark.
func decodeMark(p []byte) (m mark, ok bool) {
	if len(p) == 0 || p[0] != 1 {
		return mark{}, false
	}
	r := markReader{p: p[1:]}
	m.size = int64(r.uvarint())
	m.mtime = time.Unix(0, r.varint())
	_, m.id = r.hex()
	name, sum := r.hex()
	if name != "" || sum != "" {
		m.digest = name + ":" + sum
	}
	return m, !r.bad && len(r.p) == 0
}

// markReader takes a mark apart; bad is set once something is missing.
type markReader struct {
	p   []byte
	bad bool
}

func (r *markReader) uvarint() uint64 {
	v, n := binary.Uvarint(r.p)
	r.bad = r.bad || n == 0
	r.take(n)
	return v
}

func (r *markReader) varint() int64 {
	v, n := binary.Varint(r.p)
	r.bad = r.bad || n == 0
	r.take(n)
	return v
}

// take returns the next n bytes.
func (r *markReader) take(n int) []byte {
	if n < 0 || n > len(r.p) {
		r.bad, r.p = true, nil
		return nil
	}
	p := r.p[:n]
	r.p = r.p[n:]
	return p
}

func (r *markReader) hex() (name, sum string) {
	if n := r.take(1); len(n) == 1 {
		name = string(r.take(int(n[0])))
	}
	n := r.uvarint()
	p := r.take(int(min(n>>1, maxMark)))
	if n&1 == 1 {
		return name, hex.EncodeToString(p)
	}
	return name, string(p)
}

// readMark returns the mark of an open file that st describes, if it has one and
// it is still true.
func (f *FS) readMark(file *os.File, st stat) (mark, bool) {
	p := make([]byte, maxMark)
	n, err := f.attrs.get(file, markName, p)
	if err != nil {
		return mark{}, false
	}
	m, ok := decodeMark(p[:n])
	return m, ok && m.of(st)
}

// writeMark keeps m with an open file and reports whether it could. Without, the
// file is only less well known; but it must not keep the mark of what it held before.
func (f *FS) writeMark(file *os.File, m mark) bool {
	if f.attrs.set(file, markName, m.encode()) == nil {
		return true
	}
	_ = f.attrs.remove(file, markName)
	return false
}

// removeMark drops the mark of an open file that will be changed in place. What cannot
// be dropped is void once the file has another time.
func (f *FS) removeMark(file *os.File) {
	f.marks.Lock()
	defer f.marks.Unlock()
	_ = f.attrs.remove(file, markName)
}

// markOf returns the mark of the file base, which st describes, if it has one that
// is true and the file may be read.
func (f *FS) markOf(d dir, base string, st stat) (mark, bool) {
	if !st.mode.IsRegular() {
		return mark{}, false
	}
	file, err := d.openFile(base, os.O_RDONLY, 0)
	if err != nil {
		return mark{}, false
	}
	defer file.Close()
	return f.readMark(file, st)
}

// keepable returns d if it is a digest of a form that a mark should hold.
func keepable(d string) string {
	if !digest.Known(digest.Algorithm(d)) || len(d) > maxMark/2 {
		return ""
	}
	return d
}

// info makes Info of what was found under name.
func (f *FS) info(name pfs.Path, st stat) pfs.Info {
	info := pfs.Info{
		Name:    name.Base(),
		Mode:    st.mode.Type() | st.mode.Perm(),
		ModTime: st.mtime,
		Version: st.version(),
	}
	if !st.mode.IsDir() {
		info.Size = st.size
	}
	info.Owner, info.Group = f.owners.names(st)
	return info
}
