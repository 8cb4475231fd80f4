package hdfsfs

import (
	"context"
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"sync"
	"time"

	"github.com/colinmarc/hdfs/v2"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/datanode"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/rpc"
)

// cluster is the state that all users of a cluster share.
type cluster struct {
	opts       Options
	nameNodes  *rpc.Servers // by address
	webServers *rpc.Servers // by URL
	http       http.RoundTripper
	tickets    tickets
	readers    readers
	nodes      *datanode.Client
	dataNodes  *dataNodes
	service    *FS // as which New was called
	others     others

	quotaless withoutQuota

	mu        sync.Mutex
	defaults  *hdfs.ServerDefaults // once they are known
	webOff    bool                 // WebHDFS was found to be off
	noLocate  time.Time            // until then, appends do not wait for replicas
	blockPool string               // its ID, once a block was written or read, or ""
	closed    bool
}

// serverDefaults asks the NameNode once.
func (f *FS) serverDefaults(ctx context.Context) (hdfs.ServerDefaults, error) {
	f.mu.Lock()
	known := f.defaults
	f.mu.Unlock()
	if known != nil {
		return *known, nil
	}
	var d hdfs.ServerDefaults
	err := f.call(ctx, idempotent, func(c *hdfs.Client) (err error) {
		d, err = c.ServerDefaults()
		return err
	})
	if err == nil {
		f.mu.Lock()
		f.defaults = &d
		f.mu.Unlock()
	}
	return d, err
}

// namePage is the page of a NameNode's web server that names its name space.
const namePage = "/jmx?qry=Hadoop:service=NameNode,name=NameNodeInfo"

// Cluster returns the ID of the block pool, which identifies the name space under any address. If
// no web server of a NameNode returns it, Cluster takes it from a block of a file in the store. It
// returns "" if there is no such file.
func (f *FS) Cluster(ctx context.Context) (string, error) {
	const op = "hdfsfs.Cluster"
	for _, base := range f.webServers.Order() {
		if pool := f.askBlockPool(ctx, base); pool != "" {
			return pool, nil
		}
	}
	if f.notedBlockPool() == "" {
		f.findBlock(ctx)
	}
	return f.notedBlockPool(), pfs.CheckContext(ctx, op, pfs.Root)
}

// maxLook is the number of entries of the store among which a file with a block is looked for.
const maxLook = 1000

// findBlock asks for a block of any file, so that its block pool is noted.
func (f *FS) findBlock(ctx context.Context) {
	left := maxLook
	_ = pfs.Walk(ctx, f, pfs.Root, func(name pfs.Path, info pfs.Info, err error) error {
		left--
		if err == nil && info.IsRegular() && info.Size > 0 {
			_, _ = f.located(ctx, f.at(name), 0, 1)
		}
		if left == 0 || f.notedBlockPool() != "" {
			return fs.SkipAll
		}
		return nil
	})
}

// noteBlockPool records the block pool of a block.
func (c *cluster) noteBlockPool(pool string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.blockPool == "" {
		c.blockPool = pool
	}
}

func (c *cluster) notedBlockPool() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.blockPool
}

// askBlockPool asks one NameNode, and returns "" if it does not know.
func (f *FS) askBlockPool(ctx context.Context, base string) string {
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
