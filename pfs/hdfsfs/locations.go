package hdfsfs

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/paddlecloud/pfs/pfs"
)

// BlockLocations returns the locations of n bytes of the file name from off on. It needs WebHDFS.
func (f *FS) BlockLocations(ctx context.Context, name pfs.Path, off, n int64) ([]pfs.BlockLocation, error) {
	const op = "hdfsfs.BlockLocations"
	if err := f.check(ctx, op, name); err != nil {
		return nil, err
	}
	if !f.hasWeb() {
		return nil, fail(op, name, errWebOff)
	}
	st, err := f.status(ctx, name)
	switch {
	case err != nil:
		return nil, f.placeError(ctx, op, name, err)
	case st.IsDir():
		return nil, pfs.E(op, name, pfs.IsDir, nil)
	}
	all, err := f.locate(ctx, f.at(name), off, n)
	return all, fail(op, name, err)
}

// locate returns the locations of n bytes of the file at a path in HDFS.
func (f *FS) locate(ctx context.Context, at string, off, n int64) (all []pfs.BlockLocation, err error) {
	var reply struct {
		BlockLocations struct {
			BlockLocation []struct {
				Offset, Length int64
				Hosts          []string
			}
		}
	}
	q := url.Values{"offset": {strconv.FormatInt(off, 10)}, "length": {strconv.FormatInt(n, 10)}}
	err = f.web(ctx, webCall{method: http.MethodGet, op: "GETFILEBLOCKLOCATIONS", path: at, query: q, repeat: idempotent}, &reply)
	if err != nil {
		return nil, err
	}
	for _, b := range reply.BlockLocations.BlockLocation {
		all = append(all, pfs.BlockLocation{Offset: b.Offset, Length: b.Length, Hosts: b.Hosts})
	}
	return all, nil
}
