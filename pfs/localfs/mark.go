package localfs

import (
	"os"

	"github.com/paddlecloud/pfs/pfs/digest"
)

// readMark returns the stored digest of an open file that st describes, if it has one that is still
// valid.
func (f *FS) readMark(file *os.File, st stat) (digest.Mark, bool) {
	p := make([]byte, digest.MaxMark)
	n, err := f.attrs.get(file, digest.MarkAttribute, p)
	if err != nil {
		return digest.Mark{}, false
	}
	return trueMark(p[:n], st)
}

// writeMark stores m with an open file and reports whether it could. Failure is harmless, but the
// file must not keep the stored digest of its previous content.
func (f *FS) writeMark(file *os.File, m digest.Mark) bool {
	if f.attrs.set(file, digest.MarkAttribute, m.Encode(), 0) == nil {
		return true
	}
	_ = f.attrs.remove(file, digest.MarkAttribute)
	return false
}

// removeMark drops the stored digest of an open file that will be changed in place. If that fails,
// the file's new time makes the digest void.
func (f *FS) removeMark(file *os.File) {
	f.marks.Lock()
	defer f.marks.Unlock()
	_ = f.attrs.remove(file, digest.MarkAttribute)
}

// markOf returns the stored digest of the file base, which st describes, if it is valid and the
// file may be read. p is memory of digest.MaxMark bytes.
func (f *FS) markOf(d dir, base string, st stat, p []byte) (digest.Mark, bool) {
	if !st.mode.IsRegular() {
		return digest.Mark{}, false
	}
	n, err := d.attribute(base, digest.MarkAttribute, p)
	if err != nil {
		return digest.Mark{}, false
	}
	return trueMark(p[:n], st)
}

// trueMark decodes a stored digest, if it is valid for the file that st describes.
func trueMark(p []byte, st stat) (digest.Mark, bool) {
	m, ok := digest.DecodeMark(p)
	return m, ok && m.Of(st.size, st.mtime)
}
