package hdfsfs

import (
	"context"

	"github.com/paddlecloud/pfs/pfs/digest"
)

// readMark returns the mark of the file at a path in HDFS, which st describes, if it
// has one that is true.
func (f *FS) readMark(ctx context.Context, at string, st status) (m digest.Mark, ok bool, err error) {
	value, err := f.xattr(ctx, at, digest.MarkAttribute)
	if err != nil {
		return digest.Mark{}, false, err
	}
	m, ok = digest.DecodeMark([]byte(value))
	return m, ok && m.Of(st.Size, st.ModTime), nil
}

// setMark keeps m with the file at a path in HDFS. Without it, the file is only less
// well known.
func (f *FS) setMark(ctx context.Context, at string, m digest.Mark) error {
	return f.setXattr(ctx, at, digest.MarkAttribute, string(m.Encode()))
}
