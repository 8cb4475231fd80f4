package sftpd

import (
	"bufio"
	"encoding/binary"
	"io"
	"io/fs"
	"time"

	"github.com/paddlecloud/pfs/internal/unixmode"
	"github.com/paddlecloud/pfs/pfs"
)

// The limits of packets, which limits@openssh.com reports. They are those of OpenSSH's own server.
const (
	maxPacket = 256 << 10
	maxData   = maxPacket - 1024
)

// The types of packets of version 3 of the protocol.
const (
	typeInit     = 1
	typeVersion  = 2
	typeOpen     = 3
	typeClose    = 4
	typeRead     = 5
	typeWrite    = 6
	typeLstat    = 7
	typeFstat    = 8
	typeSetstat  = 9
	typeFsetstat = 10
	typeOpendir  = 11
	typeReaddir  = 12
	typeRemove   = 13
	typeMkdir    = 14
	typeRmdir    = 15
	typeRealpath = 16
	typeStat     = 17
	typeRename   = 18
	typeReadlink = 19
	typeSymlink  = 20
	typeStatus   = 101
	typeHandle   = 102
	typeData     = 103
	typeName     = 104
	typeAttrs    = 105
	typeExtended = 200
	typeReply    = 201
)

// The codes of a status.
const (
	statusOK          = 0
	statusEOF         = 1
	statusNotExist    = 2
	statusPermission  = 3
	statusFailure     = 4
	statusBadMessage  = 5
	statusUnsupported = 8
)

// The flags of an open.
const (
	flagRead   = 1 << 0
	flagWrite  = 1 << 1
	flagAppend = 1 << 2
	flagCreate = 1 << 3
	flagTrunc  = 1 << 4
	flagExcl   = 1 << 5
)

// The flags of attributes.
const (
	attrSize     = 1 << 0
	attrOwner    = 1 << 1
	attrMode     = 1 << 2
	attrTimes    = 1 << 3
	attrExtended = 1 << 31
)

// readPacket reads a packet into buf, which it may replace by a larger one.
func readPacket(r *bufio.Reader, buf []byte) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	n := int(binary.BigEndian.Uint32(head[:]))
	if n < 1 || n > maxPacket {
		return nil, pfs.Errorf("sftpd.readPacket", "", pfs.Invalid, "a packet of %d bytes; the limit is %d", uint32(n), maxPacket)
	}
	if cap(buf) < n {
		buf = make([]byte, n)
	}
	buf = buf[:n]
	_, err := io.ReadFull(r, buf)
	return buf, err
}

// parser takes the fields of a packet apart. After a missing field bad is set, and all further fields are empty.
type parser struct {
	b   []byte
	bad bool
}

func (p *parser) take(n uint32) []byte {
	if p.bad || uint64(n) > uint64(len(p.b)) {
		p.bad = true
		return nil
	}
	b := p.b[:n]
	p.b = p.b[n:]
	return b
}

func (p *parser) uint32() uint32 {
	if b := p.take(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

func (p *parser) uint64() uint64 {
	if b := p.take(8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

// bytes returns a string of the packet, in the packet's own memory.
func (p *parser) bytes() []byte  { return p.take(p.uint32()) }
func (p *parser) string() string { return string(p.bytes()) }

// offset returns an offset or a length; one beyond the largest file is malformed.
func (p *parser) offset() int64 {
	n := p.uint64()
	if n > 1<<62 {
		p.bad = true
		return 0
	}
	return int64(n)
}

// attributes are those that a client sends, and which of them it sent.
type attributes struct {
	flags       uint32
	size        int64
	uid, gid    uint32
	mode        fs.FileMode
	atime, time time.Time
}

func (p *parser) attributes() (a attributes) {
	a.flags = p.uint32()
	if a.flags&attrSize != 0 {
		a.size = p.offset()
	}
	if a.flags&attrOwner != 0 {
		a.uid, a.gid = p.uint32(), p.uint32()
	}
	if a.flags&attrMode != 0 {
		a.mode = unixmode.FileMode(p.uint32()&0o7777) &^ fs.ModeIrregular
	}
	if a.flags&attrTimes != 0 {
		a.atime, a.time = time.Unix(int64(p.uint32()), 0), time.Unix(int64(p.uint32()), 0)
	}
	if a.flags&attrExtended != 0 {
		for n := p.uint32(); n > 0 && !p.bad; n-- {
			p.bytes()
			p.bytes()
		}
	}
	return a
}

// mask returns the attributes as a store takes them.
func (a attributes) mask() (m pfs.AttrMask, attrs pfs.Attrs) {
	attrs = pfs.Attrs{Size: a.size, UID: a.uid, GID: a.gid, Mode: a.mode, ModTime: a.time, AccessTime: a.atime}
	for _, f := range []struct {
		flag uint32
		mask pfs.AttrMask
	}{{attrSize, pfs.AttrSize}, {attrOwner, pfs.AttrUID | pfs.AttrGID}, {attrMode, pfs.AttrMode}, {attrTimes, pfs.AttrModTime | pfs.AttrAccessTime}} {
		if a.flags&f.flag != 0 {
			m |= f.mask
		}
	}
	return m, attrs
}

func appendString[S string | []byte](b []byte, s S) []byte {
	return append(binary.BigEndian.AppendUint32(b, uint32(len(s))), s...)
}

// appendInfo appends the attributes of info.
func appendInfo(b []byte, info pfs.Info) []byte {
	b = binary.BigEndian.AppendUint32(b, attrSize|attrOwner|attrMode|attrTimes)
	b = binary.BigEndian.AppendUint64(b, uint64(info.Size))
	b = binary.BigEndian.AppendUint32(b, info.UID)
	b = binary.BigEndian.AppendUint32(b, info.GID)
	b = binary.BigEndian.AppendUint32(b, unixmode.Bits(info.Mode))
	atime := info.AccessTime
	if atime.IsZero() {
		atime = info.ModTime
	}
	b = binary.BigEndian.AppendUint32(b, seconds(atime))
	return binary.BigEndian.AppendUint32(b, seconds(info.ModTime))
}

// seconds is a time as the protocol has it: 32 bits, without a sign.
func seconds(t time.Time) uint32 { return uint32(min(max(t.Unix(), 0), 1<<32-1)) }
