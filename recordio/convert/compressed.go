package convert

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// compression is a compression that an input of any format may have.
type compression struct {
	name       string
	extensions []string
	is         func(head []byte) bool
	open       func(b *bufio.Reader, read *counted) (io.ReadCloser, error)
}

var compressions = []compression{
	{"gzip", []string{".gz", ".tgz"}, isGzip, openGzip},
	{"zstd", []string{".zst", ".zstd"}, isZstd, openZstd},
}

// unread are the signatures of unsupported compressions; "?" is any byte.
var unread = []struct{ name, mark string }{
	{"bzip2", "BZh?1AY&SY"}, {"xz", "\xfd7zXZ\x00"}, {"lz4", "\x04\x22\x4d\x18"},
}

// refuseUnread returns an error for an unsupported compression.
func refuseUnread(head []byte) error {
	for _, z := range unread {
		if marked(head, z.mark) {
			return faultf(ErrUnsupported, "it is compressed with %s, which is not supported: decompress it first, or pipe it: %s -dc FILE | ... -", z.name, z.name)
		}
	}
	return nil
}

func marked(head []byte, mark string) bool {
	if len(head) < len(mark) {
		return false
	}
	for i := range len(mark) {
		if mark[i] != '?' && mark[i] != head[i] {
			return false
		}
	}
	return true
}

// isZstd recognizes a frame, and a skippable frame, with which pzstd begins.
func isZstd(head []byte) bool {
	return marked(head, "\x28\xb5\x2f\xfd") || marked(head, "?\x2a\x4d\x18") && head[0]&0xf0 == 0x50
}

// zstdWindow is the largest window for which memory is allocated: the limit of the zstd program
// without --long.
const zstdWindow = 128 << 20

func openZstd(b *bufio.Reader, _ *counted) (io.ReadCloser, error) {
	d, err := zstd.NewReader(b, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(zstdWindow))
	if err != nil {
		return nil, err
	}
	return d.IOReadCloser(), nil
}

// opened is an input as its format sees it, with everything to be closed at the end.
type opened struct {
	Input
	head   []byte // the first SniffLen bytes
	closes []func() error
}

// close closes the input. It calls every close and returns the first error.
func (o *opened) close() error {
	var first error
	for i := len(o.closes) - 1; i >= 0; i-- {
		if err := o.closes[i](); err != nil && first == nil {
			first = err
		}
	}
	o.closes = nil
	return first
}

// open opens s and removes a compression, which is found by its first bytes.
func open(ctx context.Context, s Source) (*opened, error) {
	c, err := s.Open(ctx)
	if err != nil {
		return nil, err
	}
	o := &opened{Input: Input{Name: s.Name, Label: s.Label, Class: s.Class, ReaderAt: c.ReaderAt, Size: c.Size, from: s.From, to: s.To}}
	if c.Close != nil {
		o.closes = append(o.closes, c.Close)
	}
	if c.labels != nil {
		o.labels = &c.labels.Input
		o.closes = append(o.closes, c.labels.close)
	}
	if err := o.start(c); err != nil {
		o.close() // its error would only follow from err
		return nil, err
	}
	if c.labels != nil {
		o.head = []byte(idxPairMark)
	}
	return o, nil
}

func (o *opened) start(c Content) error {
	if o.Size < 0 {
		o.ReaderAt = nil
	}
	r := c.Reader
	if r == nil {
		if o.ReaderAt == nil {
			return faultf(ErrUnsupported, "a Content needs a Reader, or a ReaderAt and its Size")
		}
		r = io.NewSectionReader(o.ReaderAt, 0, o.Size)
	}
	if o.Size >= 0 {
		r = &sized{counted{r: r}, o.Size}
	} else {
		o.ReaderAt = nil
	}
	read := &counted{r: r}
	b := bufio.NewReaderSize(read, 64<<10)
	head, err := peek(b)
	if err != nil {
		return err
	}
	for _, z := range compressions {
		if z.is(head) {
			return o.decompress(z, b, read)
		}
	}
	o.Reader, o.head = b, head
	return refuseUnread(head)
}

// decompress replaces o by its decompressed content.
func (o *opened) decompress(z compression, compressed *bufio.Reader, read *counted) error {
	d, err := z.open(compressed, read)
	if err != nil {
		return fmt.Errorf("%s: %w", z.name, read.corrupt(err))
	}
	o.closes = append(o.closes, d.Close)
	o.ReaderAt, o.Size = nil, -1
	o.Name = trimCompression(o.Name, z)
	b := bufio.NewReaderSize(&inside{r: d, name: z.name, below: read}, 64<<10)
	o.head, err = peek(b)
	o.Reader = b
	return err
}

// trimCompression returns name without the extension of z; "a.tgz" becomes "a.tar".
func trimCompression(name string, z compression) string {
	for _, ext := range z.extensions {
		if base, ok := cutExtension(name, ext); ok {
			if ext == ".tgz" {
				return base + ".tar"
			}
			return base
		}
	}
	return name
}

// cutExtension returns name without ext, ignoring case.
func cutExtension(name, ext string) (base string, ok bool) {
	n := len(name) - len(ext)
	if n <= 0 || !strings.EqualFold(name[n:], ext) {
		return name, false
	}
	return name[:n], true
}

// peek returns the first SniffLen bytes of b, fewer only if the input is shorter.
func peek(b *bufio.Reader) ([]byte, error) {
	head, err := b.Peek(SniffLen)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return bytes.Clone(head), err
}

// inside reads decompressed bytes and distinguishes damage from failures of a store.
type inside struct {
	r     io.Reader
	name  string
	below *counted
}

func (i *inside) Read(p []byte) (int, error) {
	n, err := i.r.Read(p)
	if err != nil && err != io.EOF {
		err = fmt.Errorf("%s: %w", i.name, i.below.corrupt(err))
	}
	return n, err
}

// counted counts the bytes read, and remembers whether reading failed.
type counted struct {
	r      io.Reader
	done   int64
	failed bool
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.done += int64(n)
	c.failed = c.failed || err != nil && err != io.EOF
	return n, err
}

// corrupt classifies an error of a decompressor: everything except a failure of the store below is
// damage.
func (c *counted) corrupt(err error) error {
	var known *fault
	switch {
	case c.failed, errors.As(err, &known):
		return err
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return faultf(ErrTruncated, "the compressed data ends in the middle")
	case errors.Is(err, gzip.ErrChecksum), errors.Is(err, zstd.ErrCRCMismatch):
		return faultf(ErrChecksum, "the data does not match its checksum")
	case errors.Is(err, zstd.ErrWindowSizeExceeded), errors.Is(err, zstd.ErrDecoderSizeExceeded):
		return faultf(ErrLimit, "the window is larger than %d MiB: compress it without --long", zstdWindow>>20)
	case errors.Is(err, gzip.ErrHeader):
		return faultf(ErrDamaged, "its header is damaged")
	case errors.Is(err, zstd.ErrMagicMismatch): // the first magic has been verified before
		return faultf(ErrDamaged, "something other than a frame follows a whole frame")
	}
	return faultf(ErrChecksum, "the compressed data is damaged: %v", err)
}

// sized reads an input of a known size, and reports an early end as an error.
type sized struct {
	counted
	size int64
}

func (s *sized) Read(p []byte) (int, error) {
	n, err := s.counted.Read(p)
	if err == io.EOF && s.done < s.size {
		err = faultf(ErrTruncated, "the input ended after %d of its %d bytes", s.done, s.size)
	}
	return n, err
}
