package fuse

import (
	"bytes"
	"encoding/binary"
	"syscall"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"golang.org/x/sys/unix"
)

// requestNames are the names of requests, with the length of what precedes a name in their body; -1 if they
// have none.
var requestNames = map[uint32]struct {
	name   string
	before int
}{
	1: {"lookup", 0}, 3: {"getattr", -1}, 4: {"setattr", -1}, 5: {"readlink", -1}, 6: {"symlink", 0}, 8: {"mknod", 16},
	9: {"mkdir", 8}, 10: {"unlink", 0}, 11: {"rmdir", 0}, 12: {"rename", 8}, 13: {"link", 8}, 14: {"open", -1}, opRead: {"read", -1},
	opWrite: {"write", -1}, 17: {"statfs", -1}, 18: {"release", -1}, 20: {"fsync", -1}, 21: {"setxattr", -1}, opGetXattr: {"getxattr", -1},
	opListXattr: {"listxattr", -1}, 24: {"removexattr", -1}, 25: {"flush", -1}, 27: {"opendir", -1}, opReadDir: {"readdir", -1},
	29: {"releasedir", -1}, 30: {"fsyncdir", -1}, 34: {"access", -1}, 35: {"create", 16}, 43: {"fallocate", -1}, opReadDirPlus: {"readdirplus", -1},
	45: {"rename2", 16}, 46: {"lseek", -1},
}

const openPassthrough = 1 << 7 // in the answer to an open

// observe reports an answered request to Options.Observe.
func (d *device) observe(request, answer []byte, took time.Duration) {
	op, known := requestNames[opcode(request)]
	if !known || len(answer) < outHeader {
		return
	}
	r := Request{Op: op.name, Took: took, Result: "ok"}
	body := answer[outHeader:]
	switch code := opcode(request); {
	case code == opRead:
		r.Bytes = len(body)
	case code == opWrite && len(body) >= 4:
		r.Bytes = int(binary.NativeEndian.Uint32(body))
	case r.Op == "lookup" && len(body) >= 8 && binary.NativeEndian.Uint64(body) == 0:
		r.Result = "ENOENT" // which the kernel remembers
	case r.Op == "open" && len(body) >= 12:
		r.Passthrough = binary.NativeEndian.Uint32(body[8:])&openPassthrough != 0
	}
	if errno := syscall.Errno(-int32(binary.NativeEndian.Uint32(answer[4:]))); errno != 0 {
		r.Result = unix.ErrnoName(errno)
	}
	r.path = func() pfs.Path {
		n := d.server.tree.get(binary.NativeEndian.Uint64(request[16:]))
		if n == nil {
			return ""
		}
		name, ok := d.server.tree.path(n)
		if rest := request[inHeader:]; ok && op.before >= 0 && len(rest) > op.before {
			base, _, _ := bytes.Cut(rest[op.before:], []byte{0})
			name = name.Join(string(base))
		}
		return name
	}
	d.server.opts.Observe(r)
}
