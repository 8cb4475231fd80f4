package hdfsfs

import (
	"context"
	"io/fs"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/datanode"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/hdfsproto"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/kms"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/rpc"
	"google.golang.org/protobuf/types/known/emptypb"
)

// cluster is the state that all users of a cluster share.
type cluster struct {
	opts      Options
	name      string // by which NameNodes know who writes a file
	nameNodes *rpc.Servers
	tickets   tickets
	readers   readers
	nodes     *datanode.Client
	service   *FS // as which New was called
	others    others

	quotaless  withoutQuota
	encryption encryption
	keys       kms.Client

	mu        sync.Mutex
	defaults  *hdfsproto.ServerDefaults // once they are known
	noLocate  time.Time                 // until then, appends do not wait for replicas
	blockPool string                    // its ID, once it is known, or ""
	closed    bool
}

// serverDefaults asks the NameNode once.
func (f *FS) serverDefaults(ctx context.Context) (*hdfsproto.ServerDefaults, error) {
	f.mu.Lock()
	known := f.defaults
	f.mu.Unlock()
	if known != nil {
		return known, nil
	}
	var answer hdfsproto.GetServerDefaultsResponse
	if err := f.ask(ctx, "getServerDefaults", new(emptypb.Empty), &answer, rpc.Idempotent); err != nil {
		return nil, err
	}
	f.mu.Lock()
	f.defaults = answer.Defaults
	f.mu.Unlock()
	return answer.Defaults, nil
}

// Cluster returns the ID of the block pool, which identifies the name space under any address. If
// the service may not ask for it, Cluster takes it from a block of a file in the store. It
// returns "" if there is no such file.
func (f *FS) Cluster(ctx context.Context) (string, error) {
	const op = "hdfsfs.Cluster"
	if f.notedBlockPool() == "" {
		var answer hdfsproto.VersionResponse
		if f.service.ask(ctx, "org.apache.hadoop.hdfs.server.protocol.NamenodeProtocol.versionRequest", new(emptypb.Empty), &answer, rpc.Idempotent) == nil {
			f.noteBlockPool(answer.Info.GetPoolId())
		} else {
			f.findBlock(ctx)
		}
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
