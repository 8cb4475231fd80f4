package localfs

import (
	"context"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// Sweep removes the staged writes below name that nobody has touched for age.
func (s *FS) Sweep(ctx context.Context, name pfs.Path, age time.Duration) (n int, bytes int64, err error) {
	const op = "localfs.Sweep"
	if err := begin(ctx, op, name); err != nil {
		return 0, 0, err
	}
	d, err := s.openDir(op, name)
	if err != nil {
		return 0, 0, err
	}
	defer d.Close()
	before := time.Now().Add(-age)
	err = d.each(ctx, func(d *dir, entry string, st statted) error {
		if !strings.HasPrefix(entry, stagePrefix) || !st.info.IsRegular() || st.info.ModTime.After(before) {
			return nil
		}
		if err := d.unlink(entry); err != nil {
			return err
		}
		n++
		bytes += st.info.Size
		return nil
	})
	if n > 0 {
		s.quotas.recount(name.Join("swept"))
	}
	return n, bytes, fail(op, name, err)
}
