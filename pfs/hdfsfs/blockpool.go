package hdfsfs

import (
	"context"
	"encoding/json"
	"io"
	"net/http"

	"github.com/paddlecloud/pfs/pfs"
	"google.golang.org/protobuf/encoding/protowire"
)

// namePage is where the web server of a NameNode says which name space it has.
const namePage = "/jmx?qry=Hadoop:service=NameNode,name=NameNodeInfo"

// Cluster returns the block pool of the name space: the same for whoever uses it, by
// whatever NameNodes and names, and another for each other one. Where no web server of a
// NameNode says it, it is that of a block that is written for the purpose, and removed; it
// is "" if that cannot be done.
func (f *FS) Cluster(ctx context.Context) (string, error) {
	const op = "hdfsfs.Cluster"
	for _, base := range f.webServers.order() {
		if pool := f.blockPool(ctx, base); pool != "" {
			return pool, nil
		}
	}
	if f.notedPool() == "" {
		f.writeBlock(ctx)
	}
	return f.notedPool(), pfs.CheckContext(ctx, op, pfs.Root)
}

// writeBlock writes a file of one block and removes it. If that fails, what there was to
// learn is not learned.
func (f *FS) writeBlock(ctx context.Context) {
	b := &batch{FS: f, places: map[pfs.Path]*place{}}
	at, err := b.store(ctx, []byte{0}, 0o600)
	if err == nil {
		f.discardLoose(context.WithoutCancel(ctx), at)
	}
}

// notePool takes the block pool from a request to a DataNode, behind its operation.
func (c *cluster) notePool(p []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pool != "" {
		return
	}
	body, n := protowire.ConsumeBytes(p)
	if n < 0 {
		return
	}
	// header (1) . base header (1) . block (1) . pool (1)
	if pool, err := inside(body, 1, 1, 1, 1); err == nil {
		c.pool = string(pool)
	}
}

func (c *cluster) notedPool() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pool
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
