package hdfsfs

import (
	"context"

	"github.com/paddlecloud/pfs/pfs/digest"
)

// readMark returns the mark of the file at a path in HDFS, which st describes, if it
// has a valid one.
func (f *FS) readMark(ctx context.Context, at string, st status) (m digest.Mark, ok bool, err error) {
	value, err := f.xattr(ctx, at, digest.MarkAttribute)
	if err != nil {
		return digest.Mark{}, false, err
	}
	m, ok = digest.DecodeMark([]byte(value))
	return m, ok && m.Of(st.Size, st.ModTime), nil
}

// setMark stores m with the file at a path in HDFS. It ignores errors: without a mark, only the
// stored digest is missing.
func (f *FS) setMark(ctx context.Context, at string, m digest.Mark) error {
	return f.setXattr(ctx, at, digest.MarkAttribute, string(m.Encode()))
}
