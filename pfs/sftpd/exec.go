package sftpd

import (
	"context"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"

	"github.com/paddlecloud/pfs/internal/gateway"
	"github.com/paddlecloud/pfs/pfs"
	"golang.org/x/crypto/ssh"
)

// sums are the programs whose output clients such as rclone compare with their own.
var sums = map[string]func() hash.Hash{"md5sum": md5.New, "sha1sum": sha1.New, "sha256sum": sha256.New}

// shellProbe is the command by which rclone finds out which shell it has. A shell of Unix prints shellUnix.
const (
	shellProbe = "echo ${ShellId}%ComSpec%"
	shellUnix  = "%ComSpec%\n"
)

// exec carries out a command and returns its exit status. There is no shell: the commands that clients need are here.
func (s *Server) exec(ctx context.Context, u *user, ch ssh.Channel, command string) uint32 {
	if command == shellProbe {
		_, _ = io.WriteString(ch, shellUnix)
		return 0
	}
	words, piped, err := split(command)
	if err != nil || len(words) == 0 {
		fmt.Fprintf(ch.Stderr(), "pfsd: %.200q: this service has no shell: %v\n", command, err)
		return 127
	}
	name, args := words[0], words[1:]
	switch sum := sums[name]; {
	case sum != nil && piped == nil:
		return s.checksums(ctx, u, ch, sum, args)
	case name == "echo" && len(piped) == 1 && sums[piped[0]] != nil: // a client tries whether the program is there
		h := sums[piped[0]]()
		fmt.Fprintln(h, strings.Join(args, " "))
		fmt.Fprintf(ch, "%s  -\n", hex.EncodeToString(h.Sum(nil)))
		return 0
	case name == "scp" && piped == nil:
		return s.scp(ctx, u, ch, args)
	case name == "rsync":
		fmt.Fprintln(ch.Stderr(), "pfsd: rsync needs a program on this side that pfsd does not have: use \"paddlectl sync\", \"rclone sync\" by sftp, or \"scp -r\"")
		return 127
	}
	fmt.Fprintf(ch.Stderr(), "pfsd: %.80q is not a command here; there are scp, md5sum, sha1sum and sha256sum\n", name)
	return 127
}

// checksums prints the checksums of files in the form of md5sum.
func (s *Server) checksums(ctx context.Context, u *user, ch ssh.Channel, sum func() hash.Hash, names []string) (status uint32) {
	for _, name := range names {
		if name == "--" || name == "-b" {
			continue
		}
		h := sum()
		if err := u.hash(ctx, name, h); err != nil {
			fmt.Fprintf(ch.Stderr(), "%s: %v\n", name, err)
			status = 1
			continue
		}
		mark := ""
		if strings.ContainsAny(name, "\\\n\r") {
			mark = "\\" // as md5sum marks names that it escapes
			name = strings.NewReplacer("\\", "\\\\", "\n", "\\n", "\r", "\\r").Replace(name)
		}
		fmt.Fprintf(ch, "%s%s  %s\n", mark, hex.EncodeToString(h.Sum(nil)), name)
	}
	return status
}

// hash writes the content of a file to h.
func (u *user) hash(ctx context.Context, raw string, h hash.Hash) error {
	name, err := u.resolve(raw)
	if err != nil {
		return err
	}
	var f pfs.File
	err = u.Do(ctx, "open", func(ctx context.Context) (err error) {
		f, err = u.FS().Open(ctx, name)
		return err
	})
	if err != nil {
		return err
	}
	defer f.Close()
	buf := make([]byte, gateway.Step)
	for off := int64(0); err == nil; {
		err = u.Do(ctx, "checksum", func(ctx context.Context) error {
			return pfs.InTurn(ctx, func() error {
				n, err := f.ReadAt(ctx, buf, off)
				_, _ = h.Write(buf[:n])
				off += int64(n)
				if n > 0 && err == io.EOF {
					return nil
				}
				if n == 0 && err == io.EOF {
					off = -1
					return nil
				}
				return err
			})
		})
		if off < 0 {
			return nil
		}
	}
	return err
}

// split takes a command line apart as a shell does: quotes, backslashes, and one pipe. All else that a shell would act on
// is an error, except for patterns, which are left as they are.
func split(line string) (words, piped []string, err error) {
	var list []string
	var word strings.Builder
	in := false // a word has begun
	end := func() {
		if in {
			list = append(list, word.String())
		}
		word.Reset()
		in = false
	}
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == ' ' || c == '\t':
			end()
		case c == '\'':
			n := strings.IndexByte(line[i+1:], '\'')
			if n < 0 {
				return nil, nil, errors.New("a quote is not closed")
			}
			word.WriteString(line[i+1 : i+1+n])
			i += n + 1
			in = true
		case c == '"':
			in = true
			for i++; i < len(line) && line[i] != '"'; i++ {
				if line[i] == '$' || line[i] == '`' {
					return nil, nil, fmt.Errorf("%q in quotes", line[i])
				}
				if line[i] == '\\' && i+1 < len(line) && strings.IndexByte("\"\\$`", line[i+1]) >= 0 {
					i++
				}
				word.WriteByte(line[i])
			}
			if i == len(line) {
				return nil, nil, errors.New("a quote is not closed")
			}
		case c == '\\':
			if i++; i == len(line) {
				return nil, nil, errors.New("a backslash at the end")
			}
			word.WriteByte(line[i])
			in = true
		case c == '|' && piped == nil && words == nil:
			end()
			words, list = list, nil
			if words == nil {
				words = []string{}
			}
		case strings.IndexByte("|&;<>()$`\n#", c) >= 0 && (c != '#' || !in):
			return nil, nil, fmt.Errorf("%q", c)
		default:
			word.WriteByte(c)
			in = true
		}
	}
	end()
	if words != nil {
		return words, list, nil
	}
	return list, nil, nil
}
