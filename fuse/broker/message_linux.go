package broker

import (
	"encoding/json"
	"errors"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/paddlecloud/pfs/fuse"
	"github.com/paddlecloud/pfs/pfs"
)

// message is a message of either side.
type message struct {
	Do string `json:"do"`

	// Of connect, from the server.
	Dir      string      `json:"dir,omitempty"`
	Source   string      `json:"source,omitempty"`
	ReadOnly bool        `json:"read_only,omitempty"`
	Squash   bool        `json:"squash,omitempty"`
	Root     string      `json:"root,omitempty"`
	Owner    *fuse.Owner `json:"owner,omitempty"`
	Format   uint32      `json:"format,omitempty"` // of the record that the server reads and writes

	// Of the answer to connect, with Dir. Its files are the device and the state.
	UID   uint32 `json:"uid,omitempty"`
	GID   uint32 `json:"gid,omitempty"`
	Hello []byte `json:"hello,omitempty"`
	PID   int    `json:"pid,omitempty"`

	// Of unregister, and of the answer to register.
	ID int32 `json:"id,omitempty"`

	// Of keep, kept and drop.
	Key string `json:"key,omitempty"`

	// Of an answer to a failed request.
	Error string        `json:"error,omitempty"`
	Kind  pfs.Kind      `json:"kind,omitempty"`
	Errno syscall.Errno `json:"errno,omitempty"`
}

// Values of message.Do.
const (
	doConnect    = "connect"
	doRegister   = "register"
	doUnregister = "unregister"
	doKeep       = "keep"
	doKept       = "kept"
	doDrop       = "drop"
	doUnmount    = "unmount"
	doServing    = "serving"
	doAnswer     = "answer"
	doPing       = "ping"    // from the broker
	doPong       = "pong"    // to the broker, without an answer
	doDrain      = "drain"   // from the broker
	doRefused    = "refused" // from the broker: no other server could take over
)

// failure returns the error of an answer.
func (m message) failure() error {
	switch {
	case m.Error == "":
		return nil
	case m.Kind == pfs.Other && m.Errno != 0:
		return m.Errno
	}
	return pfs.Errorf("broker.call", "", m.Kind, "%s", m.Error)
}

// answerOf returns the answer that reports err.
func answerOf(err error) message {
	m := message{Do: doAnswer}
	if err == nil {
		return m
	}
	m.Error, m.Kind = err.Error(), pfs.KindOf(err)
	var e *pfs.Error
	if errors.As(err, &e) {
		m.Error = e.Cause() // without the Kind, which failure adds
	}
	errors.As(err, &m.Errno)
	return m
}

// socket is one end of the connection between a broker and a server.
type socket struct {
	c  *net.UnixConn
	mu sync.Mutex // of writing
}

// newSocket takes over an end of a socket pair.
func newSocket(f *os.File) (*socket, error) {
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	return &socket{c: c.(*net.UnixConn)}, nil
}

func (s *socket) send(m message, files ...*os.File) error {
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	var rights []byte
	if len(files) > 0 {
		fds := make([]int, len(files))
		for i, f := range files {
			fds[i] = int(f.Fd())
		}
		rights = syscall.UnixRights(fds...)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.c.SetWriteDeadline(time.Now().Add(callWait)); err != nil { // the other side may be stopped
		return err
	}
	_, _, err = s.c.WriteMsgUnix(b, rights, nil)
	return err
}

// receive returns the next message. The caller closes its files.
func (s *socket) receive() (m message, files []*os.File, err error) {
	const most = 3
	b, rights := make([]byte, 16<<10), make([]byte, syscall.CmsgSpace(4*most))
	n, rn, _, _, err := s.c.ReadMsgUnix(b, rights)
	if err != nil || n == 0 {
		return m, nil, errors.Join(err, net.ErrClosed)
	}
	controls, err := syscall.ParseSocketControlMessage(rights[:rn])
	if err != nil {
		return m, nil, err
	}
	for _, c := range controls {
		fds, err := syscall.ParseUnixRights(&c)
		if err != nil {
			return m, nil, err
		}
		for _, fd := range fds {
			syscall.CloseOnExec(fd)
			files = append(files, os.NewFile(uintptr(fd), "received"))
		}
	}
	return m, files, json.Unmarshal(b[:n], &m)
}
