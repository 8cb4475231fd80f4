package hdfsfs

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/hdfsproto"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/rpc"
)

// encryption is the key of a cluster that encrypts its data transfer (dfs.encrypt.data.transfer).
type encryption struct {
	on  atomic.Bool
	mu  sync.Mutex
	key *hdfsproto.DataEncryptionKey
}

// keyReserve is the time before its end in which a key is not used any more.
const keyReserve = time.Minute

// encryptionKey returns the key for new connections to DataNodes, or nil if the cluster does not encrypt them. fresh asks for a new
// one.
func (c *cluster) encryptionKey(ctx context.Context, fresh bool) (*hdfsproto.DataEncryptionKey, error) {
	e := &c.encryption
	if !e.on.Load() {
		return nil, nil
	}
	e.mu.Lock()
	key := e.key
	e.mu.Unlock()
	if key != nil && !fresh && time.Until(time.UnixMilli(int64(key.GetExpires()))) > keyReserve {
		return key, nil
	}
	var resp hdfsproto.GetDataEncryptionKeyResponse
	if err := c.service.client.rpc.Call(ctx, "getDataEncryptionKey", new(hdfsproto.GetDataEncryptionKeyRequest), &resp, rpc.Idempotent); err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.key = resp.GetKey()
	return e.key, nil
}
