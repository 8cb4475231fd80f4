package sftpd

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/paddlecloud/pfs/pfs"
	"golang.org/x/crypto/ssh"
)

// channel serves one session of SSH: SFTP, SCP, or a command.
func (s *Server) channel(ctx context.Context, u *user, ch ssh.Channel, requests <-chan *ssh.Request) error {
	for r := range requests {
		p := parser{b: r.Payload}
		what := p.string()
		switch {
		case r.Type == "subsystem" && what == "sftp" && !p.bad:
			_ = r.Reply(true, nil)
			go ssh.DiscardRequests(requests)
			if err := s.sftp(ctx, u, ch); err != nil {
				return err
			}
			return exit(ch, 0)
		case r.Type == "exec" && !p.bad:
			_ = r.Reply(true, nil)
			go ssh.DiscardRequests(requests)
			return exit(ch, s.exec(ctx, u, ch, what))
		case r.Type == "shell":
			_ = r.Reply(true, nil)
			go ssh.DiscardRequests(requests)
			fmt.Fprint(ch.Stderr(), "pfsd: this service has files, but no shell: use sftp, scp, sshfs or paddlectl\r\n")
			return exit(ch, 1)
		default: // a terminal, or a variable of the environment
			_ = r.Reply(false, nil)
		}
	}
	return nil
}

// exit ends a command with its status.
func exit(ch ssh.Channel, status uint32) error {
	_ = ch.CloseWrite()
	_, err := ch.SendRequest("exit-status", false, binary.BigEndian.AppendUint32(nil, status))
	return err
}

// session is one session of SFTP.
type session struct {
	s       *Server
	u       *user
	out     *bufio.Writer
	handles map[string]handle
	next    uint64
	reply   []byte // the buffer of answers
}

// handle is an open file or directory.
type handle interface {
	// close publishes what was uploaded.
	close(ctx context.Context) error
	// abandon is close for a client that has left: uploads can be continued.
	abandon()
}

// reader is how many bytes are read at once: two of the largest packets that most clients send.
const reader = 64 << 10

// sftp serves packets, one after the other, until the client leaves.
func (s *Server) sftp(ctx context.Context, u *user, ch ssh.Channel) error {
	x := &session{s: s, u: u, out: bufio.NewWriterSize(ch, reader), handles: map[string]handle{}}
	defer x.end()
	in := bufio.NewReaderSize(ch, reader)
	var buf []byte
	for {
		var err error
		if in.Buffered() == 0 { // the client waits for answers
			if err := x.out.Flush(); err != nil {
				return err
			}
		}
		if buf, err = readPacket(in, buf); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if err := x.packet(ctx, buf); err != nil {
			return err
		}
		if cap(buf) > maxKept || cap(x.reply) > maxKept {
			if in.Buffered() == 0 && len(x.handles) == 0 {
				buf, x.reply = nil, nil // an idle session needs little memory
			}
		}
	}
}

// maxKept is the size of buffers that an idle session may keep.
const maxKept = 32 << 10

// end ends a session whose client has left.
func (x *session) end() {
	var work sync.WaitGroup
	for id, h := range x.handles {
		work.Go(h.abandon)
		delete(x.handles, id)
		x.s.handles.leave(x.u.User().Name, 1)
	}
	work.Wait()
}

// packet answers one packet. An error ends the session.
func (x *session) packet(ctx context.Context, b []byte) error {
	p := parser{b: b[1:]}
	if b[0] == typeInit {
		return x.version()
	}
	id := p.uint32()
	if p.bad {
		return pfs.Errorf("sftpd.packet", "", pfs.Invalid, "a packet without an ID")
	}
	x.reply = binary.BigEndian.AppendUint32(append(x.reply[:0], 0, 0, 0, 0, 0), id)
	kind, err := x.dispatch(ctx, b[0], &p)
	switch {
	case p.bad:
		x.status(statusBadMessage, "malformed packet")
	case err == io.EOF:
		x.status(statusEOF, "end of file")
	case err != nil:
		x.status(statusOf(err), err.Error())
	case kind == typeStatus:
		x.status(statusOK, "")
	default:
		x.reply[4] = kind
	}
	return x.send()
}

// status makes the answer a status.
func (x *session) status(code uint32, text string) {
	x.reply = binary.BigEndian.AppendUint32(x.reply[:9], code)
	x.reply = appendString(x.reply, text)
	x.reply = appendString(x.reply, "")
	x.reply[4] = typeStatus
}

// send sends the answer.
func (x *session) send() error {
	binary.BigEndian.PutUint32(x.reply, uint32(len(x.reply)-4))
	_, err := x.out.Write(x.reply)
	return err
}

// extensions are those of a session, with the versions that clients look for.
var extensions = [][2]string{
	{"posix-rename@openssh.com", "1"}, {"statvfs@openssh.com", "2"}, {"fstatvfs@openssh.com", "2"}, {"hardlink@openssh.com", "1"},
	{"fsync@openssh.com", "1"}, {"lsetstat@openssh.com", "1"}, {"limits@openssh.com", "1"}, {"expand-path@openssh.com", "1"},
}

func (x *session) version() error {
	x.reply = append(x.reply[:0], 0, 0, 0, 0, typeVersion, 0, 0, 0, 3)
	for _, e := range extensions {
		x.reply = appendString(appendString(x.reply, e[0]), e[1])
	}
	return x.send()
}

// statusOf returns the code of the protocol for an error.
func statusOf(err error) uint32 {
	switch pfs.KindOf(err) {
	case pfs.NotExist:
		return statusNotExist
	case pfs.Permission, pfs.ReadOnly, pfs.Unauthenticated:
		return statusPermission
	case pfs.Unsupported:
		return statusUnsupported
	}
	return statusFailure
}

// dispatch carries out a request and appends its answer to x.reply. It returns the type of the answer; a status is
// added by the caller.
func (x *session) dispatch(ctx context.Context, kind byte, p *parser) (byte, error) {
	switch kind {
	case typeRead:
		return typeData, x.read(ctx, p)
	case typeWrite:
		return typeStatus, x.write(ctx, p)
	case typeOpen:
		return typeHandle, x.open(ctx, p)
	case typeOpendir:
		return typeHandle, x.openDir(ctx, p)
	case typeReaddir:
		return typeName, x.readDir(ctx, p)
	case typeClose:
		return typeStatus, x.close(ctx, p)
	case typeStat, typeLstat:
		return typeAttrs, x.stat(ctx, p, kind == typeStat)
	case typeFstat:
		return typeAttrs, x.fstat(ctx, p)
	case typeSetstat:
		return typeStatus, x.setStat(ctx, p, 0)
	case typeFsetstat:
		return typeStatus, x.setFileStat(ctx, p)
	case typeRemove, typeRmdir:
		return typeStatus, x.remove(ctx, p, kind == typeRmdir)
	case typeMkdir:
		return typeStatus, x.mkdir(ctx, p)
	case typeRealpath:
		return typeName, x.realPath(p)
	case typeRename:
		return typeStatus, x.rename(ctx, p, "rename")
	case typeReadlink:
		return typeName, x.readLink(ctx, p)
	case typeSymlink:
		return typeStatus, x.symlink(ctx, p)
	case typeExtended:
		return x.extended(ctx, p)
	}
	return 0, pfs.Errorf("sftpd.dispatch", "", pfs.Unsupported, "packets of type %d", kind)
}

// extended carries out a request of an extension.
func (x *session) extended(ctx context.Context, p *parser) (byte, error) {
	switch name := p.string(); name {
	case "posix-rename@openssh.com":
		return typeStatus, x.rename(ctx, p, "replace")
	case "hardlink@openssh.com":
		return typeStatus, x.rename(ctx, p, "link")
	case "statvfs@openssh.com", "fstatvfs@openssh.com":
		return typeReply, x.statVFS(ctx, p, strings.HasPrefix(name, "f"))
	case "fsync@openssh.com":
		return typeStatus, x.sync(ctx, p)
	case "lsetstat@openssh.com":
		return typeStatus, x.setStat(ctx, p, pfs.AttrLink)
	case "expand-path@openssh.com":
		return typeName, x.expandPath(p)
	case "limits@openssh.com":
		for _, n := range []uint64{maxPacket, maxData, maxData, maxHandles} {
			x.reply = binary.BigEndian.AppendUint64(x.reply, n)
		}
		return typeReply, nil
	default:
		return 0, pfs.Errorf("sftpd.extended", "", pfs.Unsupported, "extension %.80q", name)
	}
}
