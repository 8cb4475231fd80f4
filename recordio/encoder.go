package recordio

import (
	"bytes"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// encoder compresses parts of payloads. It is not safe for concurrent use.
type encoder struct {
	comp    Compressor
	gz      *gzip.Writer
	zs      *zstd.Encoder
	members []block // gzip members since the caller last took them
}

// newEncoder returns an encoder for c.
func newEncoder(c Compressor) (*encoder, error) {
	e := &encoder{comp: c}
	var err error
	switch c {
	case Gzip:
		e.gz = gzip.NewWriter(nil)
	case Zstd:
		e.zs, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(c.blockRaw()),
			zstd.WithSingleSegment(true), zstd.WithEncoderCRC(true))
	}
	return e, err
}

// pack appends raw, compressed, to dst. raw is whole blocks and possibly a shorter last one. The
// result does not depend on earlier calls.
func (e *encoder) pack(dst, raw []byte) ([]byte, error) {
	if e.comp == Snappy {
		return appendFrames(dst, raw), nil
	}
	for len(raw) > 0 {
		piece := raw[:min(len(raw), e.comp.blockRaw())]
		raw = raw[len(piece):]
		if e.comp == Zstd {
			dst = e.zs.EncodeAll(piece, dst)
			continue
		}
		var err error
		if dst, err = e.member(dst, piece); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// member appends piece as one gzip member.
func (e *encoder) member(dst, piece []byte) ([]byte, error) {
	out := bytes.NewBuffer(dst)
	e.gz.Reset(out)
	if _, err := e.gz.Write(piece); err != nil {
		return dst, err
	}
	err := e.gz.Close()
	e.members = append(e.members, block{stored: uint32(out.Len() - len(dst)), raw: uint32(len(piece))})
	return out.Bytes(), err
}
