//go:build ceph

package cephfs

import (
	"encoding/binary"
	"encoding/hex"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/pfs/digest"
)

// markName is the extended attribute that holds the mark of a file.
const markName = "user.pfs.digest"

// maxMark bounds an attribute that somebody else may have made.
const maxMark = 1024

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

// encode is a 1, the size as a uvarint, the time in ns as a varint, and then the ID and
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

// mark returns the mark of an open file that st describes, if it has one and it is still true.
func (h *handle) mark(c *call, st stat) (mark, bool) {
	p, err := h.attribute(c, markName)
	if err != nil {
		return mark{}, false
	}
	m, ok := decodeMark(p)
	return m, ok && m.of(st)
}

// keepable returns d if it is a digest of a form that a mark should hold.
func keepable(d string) string {
	if !digest.Known(digest.Algorithm(d)) || len(d) > maxMark/2 {
		return ""
	}
	return d
}
