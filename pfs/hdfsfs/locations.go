package hdfsfs

import (
	"context"

	"github.com/paddlecloud/pfs/pfs"
)

// BlockLocations returns the locations of n bytes of the file name from off on.
func (f *FS) BlockLocations(ctx context.Context, name pfs.Path, off, n int64) ([]pfs.BlockLocation, error) {
	const op = "hdfsfs.BlockLocations"
	st, err := f.look(ctx, op, name)
	switch {
	case err != nil:
		return nil, err
	case st.IsDir():
		return nil, pfs.E(op, name, pfs.IsDir, nil)
	}
	found, err := f.located(ctx, f.at(name), off, n)
	if err != nil {
		return nil, fail(op, name, err)
	}
	var all []pfs.BlockLocation
	for _, b := range found.Blocks {
		l := pfs.BlockLocation{Offset: int64(b.GetOffset()), Length: int64(b.GetBlock().GetNumBytes())}
		for _, node := range b.GetLocations() {
			l.Hosts = append(l.Hosts, node.GetId().GetHostName())
		}
		all = append(all, l)
	}
	return all, nil
}
