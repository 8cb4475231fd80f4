package hdfsfs

import (
	"context"
	"encoding/json"
	"io"
	"net/http"

	"github.com/paddlecloud/pfs/pfs"
)

// namePage is where the web server of a NameNode says which name space it has.
const namePage = "/jmx?qry=Hadoop:service=NameNode,name=NameNodeInfo"

// Cluster returns the block pool of the name space: the same for whoever uses it, by
// whatever NameNodes and names, and another for each other one. It is "" where no web
// server of a NameNode says it.
func (f *FS) Cluster(ctx context.Context) (string, error) {
	const op = "hdfsfs.Cluster"
	for _, base := range f.webServers.order() {
		if pool := f.blockPool(ctx, base); pool != "" {
			return pool, nil
		}
	}
	return "", pfs.CheckContext(ctx, op, pfs.Root)
}

// blockPool asks one NameNode, and returns "" if that does not say it.
func (f *FS) blockPool(ctx context.Context, base string) string {
	ctx, cancel := context.WithTimeout(ctx, f.opts.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+namePage, nil)
	if err != nil {
		return ""
	}
	resp, err := f.webDo(req)
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	var page struct {
		Beans []struct {
			BlockPoolID string `json:"BlockPoolId"`
		} `json:"beans"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(&page); err != nil || len(page.Beans) == 0 {
		return ""
	}
	return page.Beans[0].BlockPoolID
}
