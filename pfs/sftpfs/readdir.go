package sftpfs

import (
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"sync"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"
)

// Types of packets: draft-ietf-secsh-filexfer-02, section 3.
const (
	packetInit    = 1
	packetVersion = 2
	packetClose   = 4
	packetOpenDir = 11
	packetReadDir = 12
	packetStatus  = 101
	packetHandle  = 102
	packetName    = 104

	protocol  = 3
	maxPacket = 1 << 20 // bytes; OpenSSH sends at most 256 KiB
)

// Parts of the attributes in a packet, section 5.
const (
	attrSize     = 1
	attrOwner    = 2
	attrMode     = 4
	attrTimes    = 8
	attrExtended = 1 << 31
)

// directories reads directories packet by packet, over a channel of its own. One request is under
// way at a time.
type directories struct {
	mu  sync.Mutex
	in  io.Writer
	out io.Reader
	id  uint32
}

// entry is an entry of a directory.
type entry struct {
	name  string
	attrs *sftp.FileStat
}

func newDirectories(conn *ssh.Client) (*directories, error) {
	session, err := conn.NewSession()
	if err != nil {
		return nil, err
	}
	in, err := session.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := session.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := session.RequestSubsystem("sftp"); err != nil {
		return nil, err
	}
	d := &directories{in: in, out: out}
	typ, _, err := d.exchange(packetInit, binary.BigEndian.AppendUint32(nil, protocol))
	if err == nil && typ != packetVersion {
		err = errPacket
	}
	return d, err
}

var errPacket = errors.New("the server sent a malformed packet")

// exchange sends one packet and returns the answer.
func (d *directories) exchange(typ byte, payload []byte) (byte, []byte, error) {
	p := binary.BigEndian.AppendUint32(nil, uint32(len(payload)+1))
	if _, err := d.in.Write(append(append(p, typ), payload...)); err != nil {
		return 0, nil, err
	}
	var head [5]byte
	if _, err := io.ReadFull(d.out, head[:]); err != nil {
		return 0, nil, unexpected(err)
	}
	n := binary.BigEndian.Uint32(head[:])
	if n < 1 || n > maxPacket {
		return 0, nil, errPacket
	}
	answer := make([]byte, n-1)
	_, err := io.ReadFull(d.out, answer)
	return head[4], answer, unexpected(err)
}

// unexpected replaces io.EOF, which would mean the end of a directory.
func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// request sends a request with one string, and returns the answer if its type is want. The end of a
// directory is io.EOF.
func (d *directories) request(typ byte, arg string, want byte) (reader, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.id++
	p := binary.BigEndian.AppendUint32(nil, d.id)
	p = binary.BigEndian.AppendUint32(p, uint32(len(arg)))
	got, answer, err := d.exchange(typ, append(p, arg...))
	if err != nil {
		return nil, err
	}
	r := reader(answer)
	if r.uint32() != d.id || got != want && got != packetStatus {
		return nil, errPacket
	}
	if got == packetStatus {
		switch code := r.uint32(); code {
		case 0:
		case 1:
			return nil, io.EOF
		case 2:
			return nil, fs.ErrNotExist
		case 3:
			return nil, fs.ErrPermission
		default:
			return nil, &sftp.StatusError{Code: code}
		}
	}
	return r, nil
}

// open opens a directory.
func (d *directories) open(name string) (handle string, err error) {
	r, err := d.request(packetOpenDir, name, packetHandle)
	if err != nil {
		return "", err
	}
	return r.string(), nil
}

// next returns the next entries of a directory, and io.EOF at its end.
func (d *directories) next(handle string) (all []entry, err error) {
	r, err := d.request(packetReadDir, handle, packetName)
	if err != nil {
		return nil, err
	}
	for range r.uint32() {
		if len(r) == 0 {
			return nil, errPacket
		}
		name := r.string()
		r.string() // as ls -l shows it
		attrs := r.attrs()
		if name != "." && name != ".." {
			all = append(all, entry{name, attrs})
		}
	}
	return all, nil
}

// close closes a directory.
func (d *directories) close(handle string) error {
	_, err := d.request(packetClose, handle, packetStatus)
	return err
}

// reader decodes a packet. Beyond its end are zeros.
type reader []byte

func (r *reader) take(n uint32) []byte {
	n = min(n, uint32(len(*r)))
	p := (*r)[:n]
	*r = (*r)[n:]
	return p
}

func (r *reader) uint32() uint32 {
	var p [4]byte
	copy(p[:], r.take(4))
	return binary.BigEndian.Uint32(p[:])
}

func (r *reader) uint64() uint64 { return uint64(r.uint32())<<32 | uint64(r.uint32()) }

func (r *reader) string() string { return string(r.take(r.uint32())) }

func (r *reader) attrs() *sftp.FileStat {
	st := &sftp.FileStat{}
	parts := r.uint32()
	if parts&attrSize != 0 {
		st.Size = r.uint64()
	}
	if parts&attrOwner != 0 {
		st.UID, st.GID = r.uint32(), r.uint32()
	}
	if parts&attrMode != 0 {
		st.Mode = r.uint32()
	}
	if parts&attrTimes != 0 {
		st.Atime, st.Mtime = r.uint32(), r.uint32()
	}
	if parts&attrExtended != 0 {
		for n := r.uint32(); n > 0 && len(*r) > 0; n-- {
			r.string()
			r.string()
		}
	}
	return st
}
