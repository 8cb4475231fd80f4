package fuse

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	raw "github.com/hanwen/go-fuse/v2/fuse"
)

// The headers of requests and answers.
const (
	inHeader  = 40
	outHeader = 16
)

// What a request is, in its header.
const (
	opForget      = 2
	opRead        = 15
	opGetXattr    = 22
	opListXattr   = 23
	opReadDir     = 28
	opBatchForget = 42
	opReadDirPlus = 44
)

// Notifications of the kernel.
const (
	notifyInode  = 2
	notifyResend = 7 // Linux 6.9
)

// resent is set in the numbers of requests that the kernel sends once more.
const resent = 1 << 63

func opcode(request []byte) uint32 { return binary.NativeEndian.Uint32(request[4:]) }
func unique(request []byte) uint64 { return binary.NativeEndian.Uint64(request[8:]) }

// device exchanges requests and answers with the kernel. The library decodes and encodes them
// (raw.ProtocolServer); only this file depends on that.
type device struct {
	fd       int
	library  *raw.ProtocolServer
	settings raw.InitIn // of the kernel
	server   *server

	waiting  atomic.Int32 // goroutines that wait for a request
	busy     atomic.Int32 // requests that are not answered
	draining atomic.Bool
	readers  sync.WaitGroup
	ended    chan struct{} // closed when the mount has ended
	end      sync.Once
	in, out  sync.Pool
}

// newDevice prepares to serve c. It passes the kernel's first request, which was answered at the mount, to
// the library, which learns the negotiated options from it.
func newDevice(c *Connection, s *server) (*device, error) {
	d := &device{fd: int(c.Device.Fd()), library: raw.NewProtocolServer(s, libraryOptions(s.opts)), server: s, ended: make(chan struct{})}
	d.in.New = func() any { b := resident(maxWrite + 4096); return &b }
	d.out.New = func() any { b := make([]byte, maxWrite+4096); return &b }
	answer := make([]byte, 4096)
	if n, status := d.library.HandleRequest([][]byte{c.Hello}, [][]byte{answer}); n == 0 || !status.Ok() {
		return nil, fmt.Errorf("the first request of the kernel: %v", status)
	}
	return d, binary.Read(bytes.NewReader(c.Hello), binary.NativeEndian, &d.settings)
}

// resend asks the kernel for the requests that another server has taken and not answered.
func (d *device) resend() error { return d.notify(notifyResend, nil) }

// inodeNotify tells the kernel to drop the attributes of a node, and its pages from off on if off is not negative. A length of
// 0 means to the end.
func (d *device) inodeNotify(node uint64, off, length int64) {
	body := binary.NativeEndian.AppendUint64(nil, node)
	body = binary.NativeEndian.AppendUint64(body, uint64(off))
	_ = d.notify(notifyInode, binary.NativeEndian.AppendUint64(body, uint64(length))) // ENOENT: it knows nothing of the node
}

// drain returns when all requests that were read are answered. Later requests are not answered: the kernel
// sends them again to another server.
func (d *device) drain() {
	d.draining.Store(true)
	for d.busy.Load() > 0 {
		time.Sleep(time.Millisecond)
	}
	_ = d.server.drainAll(d.server.ctx) // else a part could come after one of the next server
	d.server.journal.flush()
	d.end.Do(func() { close(d.ended) })
}

// notify sends a notification, an answer to no request.
func (d *device) notify(code int32, body []byte) error {
	// Not by its number, which may be another file's after the end of the mount.
	_, err := d.server.connection.Device.Write(append(header(outHeader+len(body), code, 0), body...))
	return err
}

// header returns the header of an answer.
func header(length int, code int32, unique uint64) []byte {
	b := binary.NativeEndian.AppendUint32(nil, uint32(length))
	b = binary.NativeEndian.AppendUint32(b, uint32(code))
	return binary.NativeEndian.AppendUint64(b, unique)
}

func (d *device) write(answer []byte) error {
	for {
		if _, err := syscall.Write(d.fd, answer); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// serve answers requests until the mount ends or another server is to take over.
func (d *device) serve() {
	d.waiting.Add(1)
	d.readers.Add(1)
	go d.loop() // which may wait for a request that never comes, while another server takes over
	<-d.ended
	if !d.draining.Load() {
		d.readers.Wait()
	}
}

// resident returns a buffer whose pages are in memory. While this process is being killed, the kernel cannot allocate
// pages for it, and would fail the request that it is copying with EIO.
func resident(n int) []byte {
	b := make([]byte, n)
	for i := 0; i < n; i += os.Getpagesize() {
		b[i] = 0
	}
	return b
}

// loop reads and answers requests one after another. When it has a request to answer and no other goroutine
// waits for the next request, it starts one.
func (d *device) loop() {
	defer d.readers.Done()
	buf := d.in.Get().(*[]byte)
	defer func() { d.in.Put(buf) }()
	most := int32(max(2, min(16, runtime.GOMAXPROCS(0))))
	var small, message [4096]byte
	for {
		n, err := syscall.Read(d.fd, *buf)
		switch {
		case err == nil && n >= inHeader:
		case errors.Is(err, syscall.EINTR), errors.Is(err, syscall.ENOENT), errors.Is(err, syscall.EAGAIN): // ENOENT: the caller has given up
			continue
		default: // ENODEV, or something that cannot happen
			d.waiting.Add(-1)
			d.end.Do(func() { close(d.ended) })
			return
		}
		request := (*buf)[:n]
		d.busy.Add(1)
		if d.draining.Load() { // the next server is sent it again
			d.busy.Add(-1)
			d.waiting.Add(-1)
			return
		}
		op := opcode(request)
		// Nobody waits for a forget, so there may be any number of them.
		if left := d.waiting.Add(-1); left <= 0 && op != opForget && op != opBatchForget {
			d.waiting.Add(1)
			d.readers.Add(1)
			go d.loop()
		}
		if n <= len(message) { // so that a slow answer occupies little memory
			request = message[:copy(message[:], request)]
			d.in.Put(buf)
			d.answer(request, small[:])
			buf = d.in.Get().(*[]byte)
		} else {
			d.answer(request, small[:])
		}
		d.busy.Add(-1)
		if d.waiting.Add(1) > most {
			d.waiting.Add(-1)
			return
		}
	}
}

// answer answers a request. small is a buffer for an answer without data.
func (d *device) answer(request, small []byte) {
	number := unique(request)
	if old := d.server.journal.answer(request); old != nil {
		binary.NativeEndian.PutUint64(old[8:], number)
		_ = d.write(old)
		return
	}
	d.server.journal.begin(request)
	out := small
	if need := d.space(request); need > len(small) {
		buf := d.out.Get().(*[]byte)
		defer d.out.Put(buf)
		if out = *buf; need > len(out) {
			out = make([]byte, need)
		}
	}
	start := time.Now()
	n, status := d.library.HandleRequest([][]byte{request}, [][]byte{out})
	if n == 0 && !status.Ok() {
		n = copy(out, header(outHeader, -int32(status), number))
	}
	if d.server.opts.Observe != nil {
		d.observe(request, out[:n], time.Since(start))
	}
	d.server.commit(request, out[:n])
	if n > 0 {
		_ = d.write(out[:n]) // ENOENT: the caller has given up
		d.server.journal.delivered(request)
	}
	d.server.rewriteJournal()
}

// space returns how long the answer to a request may be.
func (d *device) space(request []byte) int {
	switch opcode(request) {
	case opRead, opReadDir, opReadDirPlus:
		if len(request) >= inHeader+20 {
			return outHeader + int(binary.NativeEndian.Uint32(request[inHeader+16:]))
		}
	case opGetXattr, opListXattr:
		if len(request) >= inHeader+4 {
			return outHeader + 16 + int(binary.NativeEndian.Uint32(request[inHeader:]))
		}
	}
	return outHeader
}

// inPlace is the result of a read that is in the buffer of the answer already.
type inPlace int

func (r inPlace) Size() int                            { return int(r) }
func (r inPlace) Done()                                {}
func (r inPlace) Bytes(b []byte) ([]byte, raw.Status)  { return b[:r], raw.OK }
func (r inPlace) Readv(dst [][]byte) (int, raw.Status) { return int(r), raw.OK }
