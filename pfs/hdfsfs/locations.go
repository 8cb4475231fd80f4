package hdfsfs

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/paddlecloud/pfs/pfs"
)

// BlockLocation says where a part of a file lies.
type BlockLocation struct {
	Offset, Length int64
	Hosts          []string // names of the machines, the nearest first
}

// BlockLocator tells where files lie, so that work can be placed beside them.
type BlockLocator interface {
	// BlockLocations returns where the part of name that begins at off and has n
	// bytes lies, in order.
	BlockLocations(ctx context.Context, name pfs.Path, off, n int64) ([]BlockLocation, error)
}

// BlockLocations asks the NameNode over WebHDFS.
func (f *FS) BlockLocations(ctx context.Context, name pfs.Path, off, n int64) ([]BlockLocation, error) {
	const op = "hdfsfs.BlockLocations"
	if err := f.check(ctx, op, name); err != nil {
		return nil, err
	}
	if off < 0 || n < 0 {
		return nil, pfs.Errorf(op, name, pfs.Invalid, "%d bytes from %d on", n, off)
	}
	st, err := f.status(ctx, name)
	switch {
	case err != nil:
		return nil, f.nameError(ctx, op, name, err)
	case st.IsDir():
		return nil, pfs.E(op, name, pfs.IsDir, nil)
	}
	var reply struct {
		BlockLocations struct {
			BlockLocation []struct {
				Offset, Length int64
				Hosts          []string
			}
		}
	}
	q := url.Values{"offset": {strconv.FormatInt(off, 10)}, "length": {strconv.FormatInt(n, 10)}}
	err = f.web(ctx, webCall{method: http.MethodGet, op: "GETFILEBLOCKLOCATIONS", path: f.at(name), query: q, repeat: often}, &reply)
	if err != nil {
		return nil, fail(op, name, err)
	}
	var all []BlockLocation
	for _, b := range reply.BlockLocations.BlockLocation {
		all = append(all, BlockLocation{Offset: b.Offset, Length: b.Length, Hosts: b.Hosts})
	}
	return all, nil
}
