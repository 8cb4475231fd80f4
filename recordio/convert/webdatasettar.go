package convert

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"path"
	"strings"
	"unicode/utf8"
)

// tarReader reads the files of an archive, and detects a premature end.
type tarReader struct {
	c     *counter
	tar   *tar.Reader
	end   int64 // end of the last file's content
	zeros int64 // number of zeros at the end of the bytes read
	notes notes
	err   error // sticky
}

func newTarReader(r io.Reader) *tarReader {
	t := &tarReader{c: newCounter(r)}
	t.tar = tar.NewReader(t)
	return t
}

// Read implements io.Reader, for package tar.
func (t *tarReader) Read(p []byte) (int, error) {
	n, err := t.c.Read(p)
	zeros := n - len(bytes.TrimRight(p[:n], "\x00"))
	if zeros < n {
		t.zeros = 0
	}
	t.zeros += int64(zeros)
	return n, err
}

// tarMember is a file of an archive.
type tarMember struct {
	name  string
	kind  byte
	size  int64
	start int64  // where its content begins
	key   string // path up to the first dot of the last element
	ext   string // the text after that dot
}

// next skips the rest of a file and returns the header of the next one, and io.EOF after the last.
func (t *tarReader) next() (*tarMember, error) {
	if t.err != nil {
		return nil, t.err
	}
	m, err := t.read()
	t.err = err
	return m, err
}

func (t *tarReader) read() (*tarMember, error) {
	if _, err := io.Copy(io.Discard, t.tar); err != nil {
		return nil, t.failed(err)
	}
	t.end = t.c.off
	h, err := t.tar.Next()
	if err == io.EOF {
		return nil, t.ended()
	}
	if err != nil {
		return nil, t.failed(err)
	}
	key, ext := splitKey(h.Name)
	return &tarMember{name: h.Name, kind: h.Typeflag, size: h.Size, start: t.c.off, key: key, ext: ext}, nil
}

// content appends the n bytes of the current file to dst.
func (t *tarReader) content(dst []byte, n int) ([]byte, error) {
	dst, err := appendFrom(t.tar, dst, n)
	if err != nil {
		err = t.failed(err)
	}
	return dst, err
}

// splitKey splits the name of a file at the first dot of its last element. Extensions are
// case-insensitive.
func splitKey(name string) (key, ext string) {
	dir, base := path.Split(name)
	stem, ext, _ := strings.Cut(base, ".")
	return dir + stem, strings.ToLower(ext)
}

// hidden reports whether a file is ignored.
func (m *tarMember) hidden() bool {
	return m.kind == tar.TypeDir || m.kind == tar.TypeXGlobalHeader || strings.HasPrefix(path.Base(m.name), ".")
}

// stray returns the reason why a file belongs to no sample, "" if it does.
func (m *tarMember) stray() string {
	switch {
	case m.kind != tar.TypeReg:
		return "is a link or special, and has no content"
	case m.ext == "":
		return "has no extension, so that it belongs to no sample"
	case m.ext == keyField:
		return "has an extension that is the name of the key"
	case !utf8.ValidString(m.name):
		return "has a name that is not UTF-8"
	}
	return ""
}

// tarBlock is the block size of an archive, to which everything is padded.
const tarBlock = 512

// ended returns io.EOF if the archive ends after a whole file. Only blocks of zeros may follow that
// file, or nothing at all, which GNU tar accepts, too. Anything else is a header that extends a
// missing one.
func (t *tarReader) ended() error {
	behind := t.c.off - (t.end+tarBlock-1)/tarBlock*tarBlock
	if t.c.off == 0 || behind < 0 || t.zeros < behind {
		return faultf(ErrTruncated, "the archive ends at offset %d, in the middle of a file", t.c.off)
	}
	if behind == 0 {
		t.notes.add("the archive lacks the blocks of zeros at its end: files may be missing after the last one")
	}
	for {
		b, err := t.c.ReadByte()
		switch {
		case err == io.EOF:
			return err
		case err != nil:
			return t.c.failed(err, "what follows the archive")
		case b != 0:
			return faultf(ErrDamaged, "something follows the end of the archive, at offset %d; pass concatenated archives as separate inputs", t.c.off-1)
		}
	}
}

func (t *tarReader) failed(err error) error {
	if errors.Is(err, tar.ErrHeader) || errors.Is(err, tar.ErrFieldTooLong) {
		if t.c.off <= tarBlock { // the first block
			return faultf(ErrDamaged, "not a tar archive, or one that is damaged at its beginning")
		}
		return faultf(ErrDamaged, "the archive is damaged before offset %d", t.c.off)
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return t.c.failed(err, "the archive")
}
