package digest

import (
	"encoding/binary"
	"encoding/hex"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

const (
	// MarkAttribute is the extended attribute in which stores keep the Mark of a file.
	MarkAttribute = "user.pfs.digest"
	// MaxMark bounds, in bytes, how much of it is read, since others may have written it.
	MaxMark = 1024
)

// Mark is stored with a published file: its digest, so that Stat returns it without reading, and
// the ID of its upload, so that a repeated Commit whose response was lost is recognized.
//
// A Mark is valid while the file has the size and the modification time in it. A program that
// changes a file in place removes the mark first.
type Mark struct {
	Size    int64     // bytes
	ModTime time.Time // as the store keeps it
	ID      string    // of the upload that became the file; "" if unknown
	Digest  string    // "" if unknown
}

// NewMark returns the mark of the upload id committed with opts. It omits a digest of an unknown
// form.
func NewMark(id string, opts pfs.CommitOptions, mtime time.Time) Mark {
	m := Mark{Size: opts.Size, ModTime: mtime, ID: id}
	if Known(Algorithm(opts.Digest)) && len(opts.Digest) <= MaxMark/2 {
		m.Digest = opts.Digest
	}
	return m
}

// Of reports whether m is valid for a file with this size and time.
func (m Mark) Of(size int64, mtime time.Time) bool { return m.Size == size && m.ModTime.Equal(mtime) }

// Empty reports whether m holds nothing.
func (m Mark) Empty() bool { return m.ID == "" && m.Digest == "" }

// Encode returns a short form that fits into the inode of a local file system beside the file's
// other attributes, because a separate block would cost small files more than their content. It is
// the byte 1, the size as a uvarint, the time in ns as a varint, and then the ID and the digest, each as
// packHex encodes it.
func (m Mark) Encode() []byte {
	p := binary.AppendUvarint([]byte{1}, uint64(m.Size))
	p = binary.AppendVarint(p, m.ModTime.UnixNano())
	p = packHex(p, "", m.ID)
	name, sum, _ := strings.Cut(m.Digest, ":")
	return packHex(p, name, sum)
}

// packHex appends the length of name, name, and the length of sum with a bit for its form, followed
// by sum itself or, if it is hexadecimal, its bytes.
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

// DecodeMark decodes the result of Encode. It returns false for anything else.
func DecodeMark(p []byte) (m Mark, ok bool) {
	if len(p) == 0 || p[0] != 1 {
		return Mark{}, false
	}
	r := markReader{p: p[1:]}
	m.Size = int64(r.uvarint())
	m.ModTime = time.Unix(0, r.varint())
	_, m.ID = r.hex()
	name, sum := r.hex()
	if name != "" || sum != "" {
		m.Digest = name + ":" + sum
	}
	return m, !r.bad && len(r.p) == 0
}

// markReader decodes a mark; bad is set when data is missing.
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
	p := r.take(int(min(n>>1, MaxMark)))
	if n&1 == 1 {
		return name, hex.EncodeToString(p)
	}
	return name, string(p)
}
