package sftpd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/internal/gateway"
	"github.com/paddlecloud/pfs/internal/unixmode"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/linkfs"
	"golang.org/x/crypto/ssh"
)

// The old protocol of scp (scp -O): the client runs "scp -t" to send files and "scp -f" to fetch them. Control lines
// announce files (C), directories (D), the end of one (E) and times (T); each side acknowledges with a 0, or with a 1 and a
// line about what failed.

// maxLine bounds a control line, in bytes.
const maxLine = 8 << 10

// maxMatches bounds the files that a pattern stands for.
const maxMatches = 10_000

// errGone says that the client has ended the copy, or does not follow the protocol.
var errGone = errors.New("the client has ended the copy")

// scp is one copy.
type scp struct {
	s                        *Server
	u                        *user
	in                       *bufio.Reader
	out                      *bufio.Writer
	from, to                 bool // options
	recursive, keep, intoDir bool
	operands                 []string
	failed                   bool
	atime, time              time.Time // from a T line, for the next file or directory
	buf                      []byte
}

// scp carries out the command and returns its exit status.
func (s *Server) scp(ctx context.Context, u *user, ch ssh.Channel, args []string) uint32 {
	c := &scp{s: s, u: u, in: bufio.NewReaderSize(ch, reader), out: bufio.NewWriterSize(ch, reader), buf: make([]byte, gateway.Step)}
	for i, a := range args {
		if a == "--" {
			c.operands = append(c.operands, args[i+1:]...)
			break
		}
		if !strings.HasPrefix(a, "-") || len(a) == 1 {
			c.operands = append(c.operands, a)
			continue
		}
		for _, option := range a[1:] {
			switch option {
			case 'r':
				c.recursive = true
			case 'p':
				c.keep = true
			case 'd':
				c.intoDir = true
			case 'f':
				c.from = true
			case 't':
				c.to = true
			case 'v', 'q':
			default:
				fmt.Fprintf(ch.Stderr(), "pfsd: scp has no option -%c here\n", option)
				return 1
			}
		}
	}
	var err error
	switch {
	case c.to && !c.from && len(c.operands) == 1:
		err = c.sink(ctx, c.operands[0])
	case c.from && !c.to && len(c.operands) > 0:
		err = c.source(ctx)
	default:
		fmt.Fprintln(ch.Stderr(), "pfsd: scp works with -t and one path, or with -f and paths: scp on your side starts it so")
		return 1
	}
	if err == nil {
		err = c.out.Flush()
	}
	if err != nil || c.failed {
		return 1
	}
	return 0
}

// say sends bytes and waits for the acknowledgement. ok is false if the other side cannot take what was announced.
func (c *scp) say(format string, args ...any) (ok bool, err error) {
	fmt.Fprintf(c.out, format, args...)
	if err := c.out.Flush(); err != nil {
		return false, err
	}
	b, err := c.in.ReadByte()
	if err != nil {
		return false, errGone
	}
	if b == 0 {
		return true, nil
	}
	if _, err := c.line(); err != nil || b != 1 {
		return false, errGone
	}
	c.failed = true
	return false, nil
}

// line reads the rest of a line.
func (c *scp) line() (string, error) {
	var line []byte
	for {
		b, err := c.in.ReadByte()
		if err != nil || len(line) > maxLine {
			return "", errGone
		}
		if b == '\n' {
			return string(line), nil
		}
		line = append(line, b)
	}
}

// fail tells the other side what failed.
func (c *scp) fail(name string, err error) error {
	c.failed = true
	text := err.Error()
	if e := new(pfs.Error); !errors.As(err, &e) || e.Path == "" {
		text = name + ": " + text
	}
	text = strings.Map(func(r rune) rune {
		if r < ' ' {
			return '?'
		}
		return r
	}, "scp: "+text)
	fmt.Fprintf(c.out, "\x01%s\n", text)
	return c.out.Flush()
}

func (c *scp) ack() error {
	_ = c.out.WriteByte(0)
	return c.out.Flush()
}

// sink takes files from the client.
func (c *scp) sink(ctx context.Context, raw string) error {
	target, err := c.u.resolve(raw)
	if err != nil {
		return c.fail(raw, err)
	}
	isDir, err := c.isDir(ctx, target)
	if err != nil {
		return c.fail(raw, err)
	}
	if c.intoDir && !isDir {
		return c.fail(raw, pfs.E("sftpd.scp", target, pfs.NotDir, nil))
	}
	if err := c.ack(); err != nil {
		return err
	}
	return c.take(ctx, target, isDir, 0)
}

// isDir reports whether name is a directory. A missing one is not.
func (c *scp) isDir(ctx context.Context, name pfs.Path) (isDir bool, err error) {
	err = c.u.Do(ctx, "stat", func(ctx context.Context) error {
		info, err := linkfs.Stat(ctx, c.u.FS(), name)
		if errors.Is(err, pfs.NotExist) {
			return nil
		}
		isDir = err == nil && info.IsDir()
		return err
	})
	return isDir, err
}

// take takes what belongs into the directory at, or what gets the name at.
func (c *scp) take(ctx context.Context, at pfs.Path, isDir bool, depth int) error {
	for {
		kind, err := c.in.ReadByte()
		if err == io.EOF && depth == 0 {
			return nil
		}
		if err != nil {
			return errGone
		}
		line, err := c.line()
		if err != nil {
			return err
		}
		switch kind {
		case 1, 2: // the client could not read something
			c.failed = true
			if kind == 2 {
				return errGone
			}
			continue
		case 'E':
			if depth == 0 {
				return errGone
			}
			return c.ack()
		case 'T':
			var t, a, x, y int64
			if _, err := fmt.Sscanf(line, "%d %d %d %d", &t, &x, &a, &y); err != nil {
				return c.fail("protocol", pfs.Errorf("sftpd.scp", "", pfs.Invalid, "times %.80q", line))
			}
			c.time, c.atime = time.Unix(t, 0), time.Unix(a, 0)
			if err := c.ack(); err != nil {
				return err
			}
			continue
		case 'C', 'D':
		default:
			return c.fail("protocol", pfs.Errorf("sftpd.scp", "", pfs.Invalid, "a control line %q", kind))
		}
		var bits uint32
		var size int64
		var name string
		f := strings.SplitN(line, " ", 3)
		if len(f) == 3 {
			name = f[2]
			_, err = fmt.Sscanf(f[0]+" "+f[1], "%o %d", &bits, &size)
		}
		if len(f) < 3 || err != nil || size < 0 || pfs.CheckName(name) != "" {
			return c.fail("protocol", pfs.Errorf("sftpd.scp", "", pfs.Invalid, "a file %.200q", line))
		}
		to := at
		if isDir {
			to = at.Join(name)
		}
		a := attributes{flags: attrMode, mode: unixmode.FileMode(bits & 0o777).Perm()}
		if c.keep && !c.time.IsZero() {
			a.flags |= attrTimes
			a.time, a.atime = c.time, c.atime
		}
		if !c.keep {
			a.mode &^= 0o022
		}
		c.time, c.atime = time.Time{}, time.Time{}
		if kind == 'D' {
			err = c.takeDir(ctx, to, a, depth)
		} else {
			err = c.takeFile(ctx, to, a, size)
		}
		if err != nil {
			return err
		}
	}
}

// takeDir takes a directory.
func (c *scp) takeDir(ctx context.Context, name pfs.Path, a attributes, depth int) error {
	if !c.recursive || depth > pfs.MaxPath/2 {
		return c.fail(string(name), pfs.Errorf("sftpd.scp", name, pfs.Invalid, "a directory without -r, or too deep"))
	}
	isDir, err := c.isDir(ctx, name)
	if err == nil && !isDir {
		err = c.u.Change(ctx, "mkdir", func(ctx context.Context) error {
			return gateway.MakeDir(ctx, c.u.FS(), name, a.mode|0o700)
		}, "path", name)
	}
	if err != nil {
		return c.fail(string(name), err)
	}
	if err := c.ack(); err != nil {
		return err
	}
	if err := c.take(ctx, name, true, depth+1); err != nil {
		return err
	}
	if !c.keep {
		return nil
	}
	err = c.u.Change(ctx, "setattr", func(ctx context.Context) error {
		return setAttrs(a, 0, func(mask pfs.AttrMask, attrs pfs.Attrs) error { return pfs.SetAttr(ctx, c.u.FS(), name, mask, attrs) })
	}, append([]any{"path", name}, a.fields()...)...)
	if err != nil && !errors.Is(err, pfs.Unsupported) {
		c.failed = true
	}
	return nil
}

// takeFile takes a file of size bytes.
func (c *scp) takeFile(ctx context.Context, name pfs.Path, a attributes, size int64) error {
	o, err := c.s.openFile(ctx, c.u, name, flagWrite|flagCreate|flagTrunc, a.mode)
	if err != nil {
		return c.fail(string(name), err)
	}
	if !c.keep {
		a.flags &^= attrMode // a file that is replaced keeps its own
	}
	o.up.set(a)
	done := false
	defer func() {
		if !done {
			o.abandon()
		}
	}()
	if err := c.ack(); err != nil {
		return err
	}
	for off := int64(0); off < size; {
		n, e := io.ReadFull(c.in, c.buf[:min(int64(len(c.buf)), size-off)])
		if err == nil && n > 0 {
			err = o.up.write(ctx, c.buf[:n], off)
		}
		if off += int64(n); e != nil {
			return errGone
		}
	}
	if b, e := c.in.ReadByte(); e != nil || b == 2 {
		return errGone
	} else if b == 1 { // the client could not read the file to its end, and has sent something else
		_, e := c.line()
		err = errors.Join(err, e, pfs.Errorf("sftpd.scp", name, pfs.Integrity, "the file is not complete"))
	}
	if err == nil {
		done = true
		err = o.close(ctx)
	}
	if err != nil {
		return c.fail(string(name), err)
	}
	return c.ack()
}

// source sends files to the client.
func (c *scp) source(ctx context.Context) error {
	if b, err := c.in.ReadByte(); err != nil || b != 0 {
		return errGone
	}
	for _, raw := range c.operands {
		names, err := c.expand(ctx, raw)
		if err != nil {
			if err := c.fail(raw, err); err != nil {
				return err
			}
			continue
		}
		for _, name := range names {
			if err := c.sendName(ctx, name, path.Base(absolute(c.u.home, string(name)))); err != nil {
				return err
			}
		}
	}
	return nil
}

// expand returns the paths that an operand stands for, which may be a pattern.
func (c *scp) expand(ctx context.Context, raw string) (names []pfs.Path, err error) {
	name, err := c.u.resolve(raw)
	if err != nil || !pfs.HasMagic(raw) {
		return []pfs.Path{name}, err
	}
	err = c.u.Do(ctx, "list", func(ctx context.Context) error {
		if _, err := c.u.FS().Stat(ctx, name); err == nil { // a name that looks like a pattern
			names = []pfs.Path{name}
			return nil
		}
		return pfs.Glob(ctx, c.u.FS(), string(name), func(name pfs.Path, _ pfs.Info) error {
			if names = append(names, name); len(names) > maxMatches {
				return pfs.Errorf("sftpd.scp", name, pfs.Limit, "more than %d files match: use scp without -O", maxMatches)
			}
			return nil
		})
	})
	if err == nil && len(names) == 0 {
		err = pfs.E("sftpd.scp", name, pfs.NotExist, nil)
	}
	return names, err
}

// sendName sends a file or a directory.
func (c *scp) sendName(ctx context.Context, name pfs.Path, base string) error {
	var info pfs.Info
	var f pfs.File
	err := c.u.Do(ctx, "open", func(ctx context.Context) (err error) {
		if info, err = linkfs.Stat(ctx, c.u.FS(), name); err != nil || info.IsDir() {
			return err
		}
		if !info.Mode.IsRegular() {
			return pfs.Errorf("sftpd.scp", name, pfs.Invalid, "not a regular file")
		}
		f, err = c.u.FS().Open(ctx, name)
		return err
	})
	if f != nil {
		defer f.Close()
	}
	switch {
	case err != nil:
		return c.fail(string(name), err)
	case info.IsDir() && !c.recursive:
		return c.fail(string(name), pfs.Errorf("sftpd.scp", name, pfs.IsDir, "a directory: use -r"))
	case strings.ContainsRune(base, '\n'):
		return c.fail(base, pfs.Errorf("sftpd.scp", name, pfs.Unsupported, "the protocol has no names with line breaks: use scp without -O"))
	}
	if c.keep {
		if ok, err := c.say("T%d 0 %d 0\n", info.ModTime.Unix(), info.ModTime.Unix()); !ok {
			return err
		}
	}
	if info.IsDir() {
		return c.sendDir(ctx, name, base, info.Mode)
	}
	return c.sendFile(ctx, f, base)
}

func (c *scp) sendDir(ctx context.Context, name pfs.Path, base string, mode fs.FileMode) error {
	if ok, err := c.say("D%04o 0 %s\n", mode.Perm(), base); !ok {
		return err
	}
	for token := ""; ; {
		var page pfs.Page
		err := c.u.Do(ctx, "list", func(ctx context.Context) (err error) {
			page, err = c.u.FS().List(ctx, name, pfs.ListOptions{Token: token, Limit: pageEntries})
			return err
		})
		if err != nil {
			if err := c.fail(string(name), err); err != nil {
				return err
			}
			break
		}
		for _, e := range page.Entries {
			at := name.Join(e.Name)
			if e.IsLink() {
				if isDir, err := c.isDir(ctx, at); err == nil && isDir { // it could lead to a directory above
					if err := c.fail(string(at), pfs.Errorf("sftpd.scp", at, pfs.Symlink, "a link to a directory is left out")); err != nil {
						return err
					}
					continue
				}
			}
			if err := c.sendName(ctx, at, e.Name); err != nil {
				return err
			}
		}
		if token = page.Next; token == "" {
			break
		}
	}
	_, err := c.say("E\n")
	return err
}

func (c *scp) sendFile(ctx context.Context, f pfs.File, base string) error {
	size := f.Info().Size
	if ok, err := c.say("C%04o %d %s\n", f.Info().Mode.Perm(), size, base); !ok {
		return err
	}
	for off := int64(0); off < size; {
		p := c.buf[:min(int64(len(c.buf)), size-off)]
		if n, _ := gateway.ReadAt(ctx, c.u, f, p, off); n < len(p) {
			return errGone // the protocol has no other way to say that the file ends here
		}
		if _, err := c.out.Write(p); err != nil {
			return err
		}
		off += int64(len(p))
	}
	_, err := c.say("\x00")
	return err
}
