package localfs

import (
	"os"

	"github.com/paddlecloud/pfs/pfs/digest"
)

// readMark returns the mark of an open file that st describes, if it has one and
// it is still true.
func (f *FS) readMark(file *os.File, st stat) (digest.Mark, bool) {
	p := make([]byte, digest.MaxMark)
	n, err := f.attrs.get(file, digest.MarkAttribute, p)
	if err != nil {
		return digest.Mark{}, false
	}
	return trueMark(p[:n], st)
}

// writeMark keeps m with an open file and reports whether it could. Without, the
// file is only less well known; but it must not keep the mark of what it held before.
func (f *FS) writeMark(file *os.File, m digest.Mark) bool {
	if f.attrs.set(file, digest.MarkAttribute, m.Encode(), 0) == nil {
		return true
	}
	_ = f.attrs.remove(file, digest.MarkAttribute)
	return false
}

// removeMark drops the mark of an open file that will be changed in place. What cannot
// be dropped is void once the file has another time.
func (f *FS) removeMark(file *os.File) {
	f.marks.Lock()
	defer f.marks.Unlock()
	_ = f.attrs.remove(file, digest.MarkAttribute)
}

// markOf returns the mark of the file base, which st describes, if it has one that
// is true and the file may be read.
func (f *FS) markOf(d dir, base string, st stat) (digest.Mark, bool) {
	if !st.mode.IsRegular() {
		return digest.Mark{}, false
	}
	p := make([]byte, digest.MaxMark)
	n, err := d.attribute(base, digest.MarkAttribute, p)
	if err != nil {
		return digest.Mark{}, false
	}
	return trueMark(p[:n], st)
}

// trueMark decodes the mark of a file, if it still holds for the file that st describes.
func trueMark(p []byte, st stat) (digest.Mark, bool) {
	m, ok := digest.DecodeMark(p)
	return m, ok && m.Of(st.size, st.mtime)
}
