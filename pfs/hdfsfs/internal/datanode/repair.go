package datanode

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/hdfsproto"
)

const (
	// maxRepairs is the number of pipelines of a block that may fail one after the other without progress.
	maxRepairs = 8
	// restartTime is how long the only DataNode of a pipeline may take to restart.
	restartTime = 30 * time.Second
	// transferSpeed is the least speed at which DataNodes copy a block, in bytes per second.
	transferSpeed = 4 << 20
)

// LostError is the error of a block of which no DataNode is left, or of a block group of which too few are left.
type LostError struct{ Last error }

func (e *LostError) Error() string {
	return fmt.Sprintf("too many DataNodes of the block have failed, the last one with: %v", e.Last)
}

func (e *LostError) Unwrap() error { return e.Last }

// repair builds a pipeline of the remaining DataNodes, and adds another one if too few remain. The block gets a new generation,
// which tells the NameNode the incomplete replicas. If only the last packet was unacknowledged, the new pipeline closes the
// block, and repair returns no connection. A durable block is opened again instead, and its last packet is sent again, because
// DataNodes that only close a block do not write it to their disks first.
func (b *Block) repair(failure *PipelineError) (*conn, error) {
	closing := b.closing()
	stage := hdfsproto.Stage_PIPELINE_SETUP_STREAMING_RECOVERY
	switch {
	case closing && b.opts.Durable:
		stage = hdfsproto.Stage_PIPELINE_SETUP_APPEND_RECOVERY
	case closing:
		stage = hdfsproto.Stage_PIPELINE_CLOSE_RECOVERY
	case failure == nil:
		stage = hdfsproto.Stage_PIPELINE_SETUP_APPEND
	}
	b.noteProgress()
	var patience time.Time
	for {
		if err := b.life.Err(); err != nil {
			return nil, err
		}
		if failure != nil {
			if b.repairs++; b.repairs > maxRepairs {
				return nil, failure
			}
			if err := b.leaveOut(failure, &patience); err != nil {
				return nil, err
			}
		}
		if !closing && b.lacks() {
			b.enlarge()
		}
		located, err := b.nameNode.Renew(b.life, b.line.block)
		if err != nil {
			return nil, err
		}
		b.line.token = located.GetToken()
		generation := located.GetBlock().GetGenerationStamp()
		cn, failed := b.build(stage, generation)
		if failed != nil {
			failure = failed
			if stage == hdfsproto.Stage_PIPELINE_SETUP_APPEND {
				stage = hdfsproto.Stage_PIPELINE_SETUP_APPEND_RECOVERY
			}
			continue
		}
		fresh := b.line.sized(b.acked)
		fresh.GenerationStamp = &generation
		if err := b.nameNode.Replace(b.life, b.line.sized(b.acked), fresh, b.line.nodes, b.line.storages); err != nil {
			cn.Close()
			return nil, err
		}
		b.line.block = fresh
		b.agreed = b.line.clone()
		if stage == hdfsproto.Stage_PIPELINE_CLOSE_RECOVERY {
			cn.Close()
			return nil, nil
		}
		return cn, nil
	}
}

// reclose gives a block that is closed another generation.
func (b *Block) reclose(generation uint64, token *hdfsproto.Token) error {
	b.life, b.end = context.WithCancel(context.Background())
	defer b.end()
	b.line.token = token
	cn, failure := b.build(hdfsproto.Stage_PIPELINE_CLOSE_RECOVERY, generation)
	if failure != nil {
		return failure
	}
	cn.Close()
	return nil
}

// noteProgress forgets earlier repairs if packets were acknowledged since.
func (b *Block) noteProgress() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.acked > b.repaired {
		b.repaired, b.repairs, b.revived = b.acked, 0, false
	}
}

// leaveOut removes the failed DataNodes from the pipeline. If the only DataNode restarts, leaveOut waits for it. If none is left,
// the DataNodes that the NameNode still knows are tried once more: one that only lost a connection has all acknowledged bytes.
func (b *Block) leaveOut(failure *PipelineError, patience *time.Time) error {
	if len(b.line.nodes) == 1 && (failure.restarting || !patience.IsZero()) {
		if patience.IsZero() {
			*patience = time.Now().Add(restartTime)
		}
		if time.Now().Before(*patience) {
			b.repairs--
			select {
			case <-b.life.Done():
			case <-time.After(time.Second):
			}
			return nil
		}
	}
	b.line.drop(failure.Bad)
	if failure.slow() {
		b.agreed.drop(failure.Bad)
	}
	b.failed = append(b.failed, failure.Bad...)
	b.client.noteDead(failure.Bad)
	if len(b.line.nodes) > 0 {
		return nil
	}
	if b.revived || len(b.agreed.nodes) == 0 {
		return &LostError{failure}
	}
	b.line, b.revived = b.agreed.clone(), true
	return nil
}

// lacks reports whether the pipeline needs another DataNode. It decides as Hadoop's clients do: if half of the replicas are
// lost, or one replica of a block that was appended or synced, because callers rely on its bytes.
func (b *Block) lacks() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := len(b.line.nodes)
	return n <= b.opts.Replicas/2 || (b.appended || b.synced) && n < b.opts.Replicas
}

// enlarge adds a DataNode to the pipeline, if there is one. The new DataNode gets a copy of the acknowledged bytes from one of the
// others, which are asked in turn. If that fails, the block is written without it.
func (b *Block) enlarge() {
	ctx, cancel := context.WithTimeout(b.life, b.client.opts.Timeout+time.Duration(b.acked/transferSpeed)*time.Second)
	defer cancel()
	for _, source := range b.line.nodes {
		if !b.enlargeFrom(ctx, source) || ctx.Err() != nil {
			return
		}
	}
}

// enlargeFrom adds a DataNode to the pipeline and lets source copy the acknowledged bytes to it. It reports whether there is a
// DataNode to add but the copy failed.
func (b *Block) enlargeFrom(ctx context.Context, source *hdfsproto.DatanodeInfo) (failed bool) {
	l := b.line
	located, err := b.nameNode.Another(b.life, l.sized(b.acked), l.nodes, l.storages, b.failed)
	if err != nil {
		return false
	}
	more := newPipeline(located)
	i := slices.IndexFunc(more.nodes, func(n *hdfsproto.DatanodeInfo) bool {
		return !slices.ContainsFunc(l.nodes, func(o *hdfsproto.DatanodeInfo) bool { return o.GetId().GetUuid() == n.GetId().GetUuid() })
	})
	if i < 0 {
		return false
	}
	cn, err := b.client.connectNew(ctx, Replica{Address: b.nameNode.Address(source.GetId()), Block: l.block, Token: more.token})
	if err != nil {
		return true // it says nothing about the new one
	}
	defer cn.Close()
	node := more.nodes[i]
	if err := b.transfer(ctx, cn, more, i); err != nil {
		b.failed = append(b.failed, node)
		b.client.noteDead([]*hdfsproto.DatanodeInfo{node})
		return true
	}
	l.nodes, l.types, l.storages = append(l.nodes, node), append(l.types, more.types[i]), append(l.storages, more.storages[i])
	b.mu.Lock()
	defer b.mu.Unlock()
	b.copied = true
	return false
}

// transfer lets a DataNode copy the block to the DataNode number i of more.
func (b *Block) transfer(ctx context.Context, cn *conn, more *pipeline, i int) error {
	stop := context.AfterFunc(ctx, func() { cn.Close() })
	defer stop()
	p, err := appendMessage([]byte{0, version, opTransferBlock}, &hdfsproto.OpTransferBlock{
		Header:             b.header(more.token),
		Targets:            []*hdfsproto.DatanodeInfo{more.nodes[i]},
		TargetStorageTypes: []hdfsproto.StorageType{more.types[i]},
		TargetStorageIds:   []string{more.storages[i]},
	})
	if err != nil {
		return err
	}
	if err := cn.SetDeadline(time.Time{}); err != nil {
		return err
	}
	if _, err := cn.Write(p); err != nil {
		return err
	}
	var resp hdfsproto.BlockOpResponse
	if err := readMessage(cn.in, &resp); err != nil {
		return err
	}
	if resp.GetStatus() != hdfsproto.Status_SUCCESS {
		return &RefusedError{resp.GetStatus(), resp.GetMessage()}
	}
	return nil
}

// noteDead records DataNodes that failed in a pipeline.
func (c *Client) noteDead(nodes []*hdfsproto.DatanodeInfo) { c.note(nodes, true) }

// note records that the NameNode named DataNodes, or that they failed.
func (c *Client) note(nodes []*hdfsproto.DatanodeInfo, failed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range nodes {
		k := c.known[n.GetId().GetUuid()]
		k.node, k.named = n, time.Now()
		if failed {
			k.failed = k.named
		}
		c.known[n.GetId().GetUuid()] = k
	}
}

// Dead returns the DataNodes that failed in a pipeline in the last minute.
func (c *Client) Dead() (all []*hdfsproto.DatanodeInfo) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, k := range c.known {
		switch {
		case time.Since(k.named) > suspicion:
			delete(c.known, id)
		case time.Since(k.failed) <= suspicion:
			all = append(all, k.node)
		}
	}
	return all
}

// Alive returns the number of DataNodes that the NameNode named in the last minute, without the failed ones.
func (c *Client) Alive(failed []*hdfsproto.DatanodeInfo) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, k := range c.known {
		gone := slices.ContainsFunc(failed, func(f *hdfsproto.DatanodeInfo) bool { return f.GetId().GetUuid() == id })
		if !gone && time.Since(k.named) <= suspicion {
			n++
		}
	}
	return n
}

// knownNode is the state of a DataNode in pipelines.
type knownNode struct {
	node          *hdfsproto.DatanodeInfo
	named, failed time.Time // last
}
