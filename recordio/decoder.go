package recordio

import (
	"bytes"
	"errors"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// decoder decompresses payloads and keeps its buffers. It is not safe for concurrent use.
type decoder struct {
	limit  int64 // maximum bytes of a payload after decompression
	verify bool  // verify checksums inside payloads even if the payload's own checksum matched
	gz     *gzip.Reader
	zs     *zstd.Decoder
}

// close frees the buffers.
func (d *decoder) close() {
	if d.zs != nil {
		d.zs.Close()
		d.zs = nil
	}
}

// unpack appends to dst the data of p, which is a payload or some of its blocks.
func (d *decoder) unpack(dst []byte, dialect Dialect, comp Compressor, p []byte) ([]byte, *Error) {
	switch {
	case comp == Snappy && dialect == Fluid:
		return decodeStream(dst, p, d.limit, d.verify)
	case comp == Snappy && dialect == Pyrecordio:
		return decodeBlock(dst, p, d.limit)
	case comp == Snappy:
		return decodeFrames(dst, p, d.limit, d.verify)
	case comp == Gzip:
		return d.gunzip(dst, p)
	case comp == Zstd:
		return d.unzstd(dst, p)
	case comp == None:
		return append(dst, p...), nil
	}
	return dst, fault(Unsupported, "%v", comp)
}

// gunzip appends the data of all members of p to dst.
func (d *decoder) gunzip(dst, p []byte) ([]byte, *Error) {
	if err := d.gzipReset(bytes.NewReader(p)); err != nil {
		return dst, fault(Malformed, "decompress: %w", err)
	}
	return d.inflate(dst, p)
}

func (d *decoder) gzipReset(r *bytes.Reader) error {
	if d.gz == nil {
		d.gz = new(gzip.Reader)
	}
	return d.gz.Reset(r)
}

// gzipTrusted bounds the memory that decompression may claim before the size of the data is known:
// twice the chunk size of the reference implementation.
const gzipTrusted = 64 << 20

// inflate appends the rest of the gzip reader's data. Memory grows with the decompressed data, not
// with stated sizes. Large data is first decompressed without keeping it, so a payload over the
// limit never occupies the limit and a payload within the limit gets an array of the exact size.
func (d *decoder) inflate(dst, p []byte) ([]byte, *Error) {
	from, measured := len(dst), false
	for {
		if len(dst) == cap(dst) {
			done := int64(len(dst) - from)
			room := max(0, d.limit-done) + 1 // one extra byte reveals data over the limit
			step := min(room, int64(max(frameRaw, len(dst))))
			if done+step > gzipTrusted && !measured {
				total, flt := d.gzipSize(p)
				if flt != nil {
					return dst[:from], flt
				}
				step, measured = total-done+1, true
			}
			dst = extend(dst, int(step))[:len(dst)]
		}
		n, err := d.gz.Read(dst[len(dst):cap(dst)])
		dst = dst[:len(dst)+n]
		switch {
		case int64(len(dst)-from) > d.limit:
			return dst[:from], tooLarge(d.limit)
		case err == io.EOF:
			return dst, nil
		case errors.Is(err, gzip.ErrChecksum):
			return dst[:from], fault(Checksum, "gzip member")
		case err != nil:
			return dst[:from], fault(Malformed, "decompress: %w", err)
		}
	}
}

// gzipSize returns the size of the data in all members of p.
func (d *decoder) gzipSize(p []byte) (int64, *Error) {
	r, err := gzip.NewReader(bytes.NewReader(p))
	if err != nil {
		return 0, fault(Malformed, "decompress: %w", err)
	}
	n, err := io.Copy(io.Discard, io.LimitReader(r, d.limit+1))
	switch {
	case n > d.limit:
		return 0, tooLarge(d.limit)
	case errors.Is(err, gzip.ErrChecksum):
		return 0, fault(Checksum, "gzip member")
	case err != nil:
		return 0, fault(Malformed, "decompress: %w", err)
	}
	return n, nil
}

// unzstd appends the data of all frames of p to dst.
func (d *decoder) unzstd(dst, p []byte) ([]byte, *Error) {
	if d.zs == nil {
		zs, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxMemory(uint64(d.limit)), zstd.WithDecoderMaxWindow(zstdMaxWindow))
		if err != nil {
			return dst, fault(Invalid, "zstd: %w", err)
		}
		d.zs = zs
	}
	total, flt := zstdRaw(p, d.limit-int64(len(dst)))
	if flt != nil {
		return dst, flt
	}
	want := len(dst) + total
	dst = extend(dst, total)[:len(dst)] // once; DecodeAll would do it for every frame
	if dst, flt = d.zstdFrames(dst, p); flt == nil && len(dst) != want {
		flt = fault(Malformed, "zstd frames of %d bytes say %d", len(dst), want)
	}
	return dst, flt
}

func (d *decoder) zstdFrames(dst, p []byte) ([]byte, *Error) {
	out, err := d.zs.DecodeAll(p, dst)
	switch {
	case errors.Is(err, zstd.ErrCRCMismatch):
		return dst, fault(Checksum, "zstd frame")
	case errors.Is(err, zstd.ErrDecoderSizeExceeded), errors.Is(err, zstd.ErrWindowSizeExceeded):
		return dst, tooLarge(d.limit)
	case err != nil:
		return dst, fault(Malformed, "zstd: %w", err)
	}
	return out, nil
}
