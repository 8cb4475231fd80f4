//go:build linux

package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"
)

// secure is the gateway for SFTP as alice's clients see it. Each worker has a connection of its own, as if it were a
// program.
type secure struct {
	addr string
	mu   sync.Mutex
	all  map[int]*ssh.Client
}

func (s *secure) client(worker int) (*ssh.Client, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.all[worker]; c != nil {
		return c, nil
	}
	c, err := ssh.Dial("tcp", s.addr, &ssh.ClientConfig{
		User: "alice", Auth: []ssh.AuthMethod{ssh.Password(password)}, HostKeyCallback: ssh.InsecureIgnoreHostKey(), // of this machine, started by this program
	})
	if err == nil {
		if s.all == nil {
			s.all = map[int]*ssh.Client{}
		}
		s.all[worker] = c
	}
	return c, err
}

// sftp calls do with a session. The end of ctx closes the connection.
func (s *secure) sftp(ctx context.Context, worker int, do func(*sftp.Client) error) error {
	c, err := s.client(worker)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	x, err := sftp.NewClient(c)
	if err != nil {
		return err
	}
	defer x.Close()
	return do(x)
}

func sftpGet(ctx context.Context, g *gateway, worker int, done *atomic.Int64) error {
	return g.ssh.sftp(ctx, worker, func(c *sftp.Client) error {
		f, err := c.Open(home + "file")
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = f.WriteTo(&sink{done: done})
		return err
	})
}

func sftpPut(ctx context.Context, g *gateway, worker int, done *atomic.Int64) error {
	const chunks = 8
	return g.ssh.sftp(ctx, worker, func(c *sftp.Client) error {
		f, err := c.OpenFile(fmt.Sprint(home, "put", worker), os.O_WRONLY|os.O_CREATE|os.O_TRUNC) // Create changes in place: it reads, too
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = f.ReadFromWithConcurrency(io.LimitReader(&counted{done: done}, chunks*pfs.ChunkSize), 8)
		return err
	})
}

// sftpList reads a directory without keeping it, as github.com/pkg/sftp does.
func sftpList(ctx context.Context, g *gateway, worker int, done *atomic.Int64) error {
	const version, opendir, readdir, status, handle = 2, 11, 12, 101, 102
	return g.ssh.session(ctx, worker, func(s *ssh.Session, in io.Writer, out *bufio.Reader) error {
		if err := s.RequestSubsystem("sftp"); err != nil {
			return err
		}
		ask := func(packet []byte) (kind byte, rest []byte, err error) {
			if _, err = in.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(packet))), packet...)); err != nil {
				return 0, nil, err
			}
			var head [5]byte
			if _, err = io.ReadFull(out, head[:]); err != nil {
				return 0, nil, err
			}
			rest = make([]byte, binary.BigEndian.Uint32(head[:])-1)
			_, err = io.ReadFull(out, rest)
			return head[4], rest, err
		}
		if kind, _, err := ask([]byte{1, 0, 0, 0, 3}); kind != version {
			return fmt.Errorf("answer of type %d to init, %w", kind, err)
		}
		name := home + "many"
		kind, dir, err := ask(append([]byte{opendir, 0, 0, 0, 1, 0, 0, 0, byte(len(name))}, name...))
		if kind != handle {
			return fmt.Errorf("answer of type %d to opendir, %w", kind, err)
		}
		read := append([]byte{readdir}, dir...) // with the ID and the length of the handle
		for at := int64(0); ; {
			kind, page, err := ask(read)
			if err != nil {
				return err
			}
			if kind == status {
				return nil
			}
			if at += int64(len(page)); at >= 1<<20 {
				done.Add(1)
				at = 0
			}
		}
	})
}

// scpGet copies a file by the old protocol of scp.
func scpGet(ctx context.Context, g *gateway, worker int, done *atomic.Int64) error {
	return g.ssh.session(ctx, worker, func(s *ssh.Session, in io.Writer, out *bufio.Reader) error {
		if err := s.Start("scp -f " + home + "file"); err != nil {
			return err
		}
		if _, err := in.Write([]byte{0}); err != nil {
			return err
		}
		head, err := out.ReadString('\n')
		if err != nil {
			return err
		}
		var mode, size int64
		if _, err := fmt.Sscanf(head, "C%o %d", &mode, &size); err != nil {
			return fmt.Errorf("%q: %w", head, err)
		}
		if _, err := in.Write([]byte{0}); err != nil {
			return err
		}
		if _, err := io.CopyN(&sink{done: done}, out, size); err != nil {
			return err
		}
		_, err = in.Write([]byte{0})
		return err
	})
}

// scpPut copies a file by the old protocol of scp.
func scpPut(ctx context.Context, g *gateway, worker int, done *atomic.Int64) error {
	const size = 8 * pfs.ChunkSize
	return g.ssh.session(ctx, worker, func(s *ssh.Session, in io.Writer, out *bufio.Reader) error {
		if err := s.Start("scp -t " + home); err != nil {
			return err
		}
		accepted := func() error {
			b, err := out.ReadByte()
			if err == nil && b != 0 {
				text, _ := out.ReadString('\n')
				err = fmt.Errorf("scp: %s", text)
			}
			return err
		}
		if err := accepted(); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(in, "C0644 %d put%d\n", int64(size), worker); err != nil {
			return err
		}
		if err := accepted(); err != nil {
			return err
		}
		if _, err := io.CopyN(in, &counted{done: done}, size); err != nil {
			return err
		}
		if _, err := in.Write([]byte{0}); err != nil {
			return err
		}
		return accepted()
	})
}

// session calls do with a session and its pipes. The end of ctx closes the connection.
func (s *secure) session(ctx context.Context, worker int, do func(s *ssh.Session, in io.Writer, out *bufio.Reader) error) error {
	c, err := s.client(worker)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	x, err := c.NewSession()
	if err != nil {
		return err
	}
	defer x.Close()
	in, err := x.StdinPipe()
	if err != nil {
		return err
	}
	out, err := x.StdoutPipe()
	if err != nil {
		return err
	}
	return do(x, in, bufio.NewReader(out))
}

// sink takes bytes; done counts each 4 MiB.
type sink struct {
	n    int
	done *atomic.Int64
}

func (s *sink) Write(p []byte) (int, error) {
	if s.n += len(p); s.n >= pfs.ChunkSize {
		s.n -= pfs.ChunkSize
		s.done.Add(1)
	}
	return len(p), nil
}
