package hdfsfs

import (
	"bytes"
	"context"
	"errors"
	"hash/crc32"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/datanode"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/hdfsproto"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/kms"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/rpc"
	"google.golang.org/protobuf/proto"
)

// attempt is a file of HDFS that is open for writing. One goroutine at a time uses it. After an error it can only be discarded.
type attempt struct {
	fs       *FS
	path     string
	holder   string // of the lease
	inode    uint64
	block    int64 // the length of blocks, or of block groups
	replicas int
	coding   coding

	now  block                    // the block that is being written, or nil
	last *hdfsproto.ExtendedBlock // the block before it, or nil

	key    *kms.Key // of a file in an encryption zone
	sealed []byte   // the buffer for encrypted bytes

	n    int64          // the length of the file
	sums *datanode.Sums // of the written bytes, without those of whole blocks if folds is set
	sum0 int            // the number of sums before those of the block that is being written

	folds   bool
	durable bool // its blocks are on the disks of the DataNodes when they end
	blocks  []doneBlock
}

// block is a block or a block group that is being written.
type block interface {
	Write(p []byte) error
	Length() int64
	Close() (*hdfsproto.ExtendedBlock, error)
	Abort()
	Hash(sums []uint32) [16]byte
}

// doneBlock is a block that was written from its start.
type doneBlock struct {
	id     uint64
	length int64
	hash   [16]byte
}

// sealedBytes is how much is encrypted at once.
const sealedBytes = 64 << 10

// zoneVersion is the version of the protocol of encryption zones.
const zoneVersion = 2

// Flags of create. A file with createReplicated is not erasure-coded, also where the directory says so.
const (
	createNew        = 1
	createReplicated = 0x80
)

// appendNewBlock are the flags APPEND and NEW_BLOCK of append: the bytes begin a block of their own.
const appendNewBlock = 4 | 0x20

// begin creates a file at a path in HDFS.
func (f *FS) begin(ctx context.Context, at string, l layout) (*attempt, error) {
	a := &attempt{fs: f, path: at, holder: f.name, block: l.block * l.coding.spread(), replicas: l.replicas, coding: l.coding, sums: new(datanode.Sums)}
	req := &hdfsproto.CreateRequest{
		Path: &at, Masked: &hdfsproto.CreateRequest_Permission{Bits: proto.Uint32(uint32(l.perm.Perm()))}, Holder: &a.holder,
		Flags: proto.Uint32(createNew | createReplicated), CreateParent: proto.Bool(false), Replication: proto.Uint32(uint32(l.replicas)), BlockSize: proto.Uint64(uint64(l.block)),
		CryptoVersions: []int32{zoneVersion},
	}
	if l.coding.policy != nil {
		req.Flags, req.ErasureCoding = proto.Uint32(createNew), &l.coding.name
	}
	var resp hdfsproto.CreateResponse
	err := f.ask(ctx, "create", req, &resp, rpc.Cached)
	if err != nil {
		return nil, err
	}
	a.inode = resp.GetFile().GetInode()
	f.client.leases.hold(a.holder)
	if a.key, err = f.key(ctx, resp.GetFile().GetEncryption()); err != nil {
		a.discard()
		return nil, err
	}
	return a, nil
}

// beginWith creates a file and writes its first bytes, which adds the first block.
func (f *FS) beginWith(ctx context.Context, at string, l layout, p []byte) (*attempt, error) {
	a, err := f.begin(ctx, at, l)
	if err != nil {
		return nil, err
	}
	if err := a.write(p); err != nil {
		a.discard()
		return nil, err
	}
	return a, nil
}

// beginAppend opens a file for appending, with a lease of its own.
func (f *FS) beginAppend(ctx context.Context, at string, st status) (*attempt, error) {
	key, err := f.key(ctx, st.encryption)
	if err != nil {
		return nil, err
	}
	a := &attempt{
		fs: f, path: at, holder: f.name + "-" + pfs.NewID(), block: st.BlockSize, replicas: st.Replication, key: key,
		folds: true, durable: true,
	}
	var resp hdfsproto.AppendResponse
	req := &hdfsproto.AppendRequest{Path: &at, Holder: &a.holder}
	if st.policy != nil {
		if a.coding = newCoding(st.policy); a.coding.policy == nil {
			return nil, pfs.Errorf("hdfsfs.attempt", "", pfs.Unsupported, "files with this erasure code are only read")
		}
		a.block *= a.coding.spread()
		req.Flags = proto.Uint32(appendNewBlock)
	}
	if err := f.ask(ctx, "append", req, &resp, rpc.Cached); err != nil {
		return nil, err
	}
	f.client.leases.hold(a.holder)
	a.inode, a.n = resp.GetFile().GetInode(), int64(resp.GetFile().GetLength())
	a.sums = new(datanode.Sums)
	if st.policy != nil {
		a.last = resp.GetBlock().GetBlock()
		return a, nil
	}
	partial := resp.GetBlock()
	if partial == nil {
		return a, nil
	}
	odd := make([]byte, partial.GetBlock().GetNumBytes()%checksumChunk)
	st.Size = a.n
	before := &file{fs: f, st: st, staged: true}
	err = pfs.ReadFull(ctx, before, odd, a.n-int64(len(odd)))
	_ = before.Close()
	if err == nil {
		var b *datanode.Block
		if b, err = f.nodes.Append(a, partial, a.options(), a.sums, odd); err == nil {
			a.now = b
			return a, nil
		}
	}
	a.yield(ctx)
	return nil, err
}

func (a *attempt) options() datanode.BlockOptions {
	return datanode.BlockOptions{Size: a.block / a.coding.spread(), Replicas: a.replicas, Durable: a.durable}
}

// write appends p. It takes no context: if a caller that gives up could end it in the middle, all bytes written before would be
// lost. Each of its steps has a time limit.
func (a *attempt) write(p []byte) error {
	if a.key == nil {
		return a.put(p)
	}
	if a.sealed == nil {
		a.sealed = make([]byte, sealedBytes)
	}
	for len(p) > 0 {
		k := min(len(p), sealedBytes)
		a.key.Crypt(a.sealed[:k], p[:k], a.n)
		if err := a.put(a.sealed[:k]); err != nil {
			return err
		}
		p = p[k:]
	}
	return nil
}

// put appends p in its stored form, which is encrypted in an encryption zone.
func (a *attempt) put(p []byte) error {
	for len(p) > 0 {
		if a.now == nil {
			if err := a.nextBlock(); err != nil {
				return err
			}
		}
		k := min(int64(len(p)), a.block-a.now.Length())
		if err := a.now.Write(p[:k]); err != nil {
			return err
		}
		a.n += k
		p = p[k:]
		if a.now.Length() == a.block {
			if err := a.endBlock(); err != nil {
				return err
			}
		}
	}
	return nil
}

// sync returns the length of the last block when all written bytes are on the disks of the DataNodes. Others can read the bytes
// once the NameNode knows the length.
func (a *attempt) sync() (length int64, err error) {
	if b, ok := a.now.(*datanode.Block); ok {
		return b.Length(), b.Sync()
	}
	return int64(a.last.GetNumBytes()), nil
}

// fsync tells the NameNode the length of the last block, unless it is negative.
func (a *attempt) fsync(ctx context.Context, length int64) error {
	return a.fs.ask(ctx, "fsync", &hdfsproto.FsyncRequest{Path: &a.path, Holder: &a.holder, LastLength: &length, Inode: &a.inode},
		new(hdfsproto.FsyncResponse), rpc.Idempotent)
}

// endBlock returns when all DataNodes of the pipeline have the block.
func (a *attempt) endBlock() error {
	done, err := a.now.Close()
	if err != nil {
		return err
	}
	sums := a.sums.From(a.sum0)
	a.blocks = append(a.blocks, doneBlock{done.GetBlockId(), int64(done.GetNumBytes()), a.now.Hash(sums)})
	if a.folds {
		a.sums.Whole = a.sums.Whole[:0]
	}
	a.sum0 = len(a.sums.Whole)
	a.now, a.last = nil, done
	return nil
}

// fold keeps 16 bytes for each block instead of four for each chunk, for a file of any length that is written whole. Then
// compare must not be called. An append always folds.
func (a *attempt) fold() { a.folds = true }

// verdict tells whether bytes equal those that were written before.
type verdict uint8

const (
	same verdict = iota
	different
	unsure // it cannot be told from checksums
)

// compare tells whether p equals the bytes that were written at off. p must not extend
// beyond the end of the written bytes.
func (a *attempt) compare(p []byte, off int64) verdict {
	if off%checksumChunk != 0 || (off+int64(len(p)))%checksumChunk != 0 && off+int64(len(p)) != a.n {
		return unsure
	}
	if a.key != nil {
		sealed := make([]byte, len(p))
		a.key.Crypt(sealed, p, off)
		p = sealed
	}
	all := a.sums.All()
	for i := off / checksumChunk; len(p) > 0; i++ {
		k := min(len(p), checksumChunk)
		if crc32.Checksum(p[:k], castagnoli) != all[i] {
			return different
		}
		p = p[k:]
	}
	return same
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// finish closes the file and confirms it. The attempt is over, also after an error.
func (a *attempt) finish(ctx context.Context) error {
	if err := a.close(ctx); err != nil {
		return err
	}
	return a.confirm(ctx)
}

// close returns when all DataNodes of the pipeline have all bytes, and the NameNode knows.
// After an error the attempt is over.
func (a *attempt) close(ctx context.Context) error {
	err := a.closeFile(context.WithoutCancel(ctx))
	if err != nil {
		a.discard()
	}
	return err
}

// firstPause is the pause before the first repetition of a call that the NameNode cannot execute yet. Each further pause is
// twice as long, up to a limit.
const firstPause = 5 * time.Millisecond

// closeFile closes the file. The NameNode refuses until DataNodes have reported the last block and the block before it.
func (a *attempt) closeFile(ctx context.Context) error {
	if a.now != nil {
		if err := a.endBlock(); err != nil {
			return err
		}
	}
	return a.insist(ctx, 2*a.limit(), func() error {
		var resp hdfsproto.CompleteResponse
		err := a.fs.ask(ctx, "complete", &hdfsproto.CompleteRequest{Path: &a.path, Holder: &a.holder, Last: a.last, Inode: &a.inode}, &resp, rpc.Idempotent)
		if err == nil && !resp.GetDone() {
			err = pfs.Errorf("hdfsfs.attempt", "", pfs.Unavailable, "no DataNode has told the NameNode about the last block yet")
		}
		if err == nil {
			a.fs.client.leases.release(a.holder)
		}
		return err
	})
}

// insist repeats a call, up to a limit, that fails because no NameNode is active or because a block was not reported yet. A
// failover takes longer than a call.
func (a *attempt) insist(ctx context.Context, limit time.Duration, call func() error) error {
	end := time.Now().Add(limit)
	for pause := firstPause; ; pause = min(2*pause, time.Second) {
		err := call()
		again := is(err, pfs.Unavailable) && !nameNodeSilent(err)
		if remote := (*rpc.RemoteError)(nil); errors.As(err, &remote) {
			again = remote.AsksToRepeat() || remote.Class == notReplicatedYet // not in safe mode
		}
		if !again || time.Now().After(end) {
			return err
		}
		if err := wait(ctx, pause); err != nil {
			return err
		}
	}
}

// limit is how long an attempt waits until DataNodes have reported to the NameNode.
func (a *attempt) limit() time.Duration { return 2 * a.fs.opts.Timeout }

// exception returns the class of the Java exception that err holds, or "".
func exception(err error) string {
	var remote *rpc.RemoteError
	if errors.As(err, &remote) {
		return remote.Class
	}
	return ""
}

// confirm compares the checksums of the stored blocks with those of the written bytes. The attempt is over.
func (a *attempt) confirm(ctx context.Context) error {
	if a.n == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, a.limit(), &noAnswer{"HDFS gave no answer within " + a.limit().String()})
	defer cancel()
	err := a.verify(ctx)
	if err != nil {
		a.remove()
	}
	return err
}

func (a *attempt) verify(ctx context.Context) error {
	found, err := a.fs.located(ctx, a.path, 0, a.n)
	if err != nil {
		return err
	}
	wrong := pfs.Errorf("hdfsfs.attempt", "", pfs.Integrity, "the cluster has not stored the %d bytes that it was given: write them again", a.n)
	if int64(found.GetFileLength()) != a.n || len(found.Blocks) != len(a.blocks) {
		return wrong
	}
	for i, want := range a.blocks {
		got := found.Blocks[i]
		if got.GetBlock().GetBlockId() != want.id || int64(got.GetBlock().GetNumBytes()) != want.length {
			return wrong
		}
		sum, err := a.fs.nodes.Checksum(ctx, &file{fs: a.fs, policy: found.GetErasureCoding()}, got)
		if err != nil {
			return err
		}
		if sum.GetBytesPerChecksum() != checksumChunk || !bytes.Equal(sum.GetSum(), want.hash[:]) {
			return wrong
		}
	}
	return nil
}

// abandon gives the attempt up and leaves the file as it is, open for writing.
func (a *attempt) abandon() {
	if a.now != nil {
		a.now.Abort()
		a.now = nil
	}
	a.fs.client.leases.release(a.holder)
}

// yield abandons a file whose bytes are all acknowledged, and lets HDFS close it. On its own, HDFS closes it only for another
// writer, or much later, and makes no replicas until then. A writer that has taken the file over keeps it.
func (a *attempt) yield(ctx context.Context) {
	a.abandon()
	if a.fsync(ctx, -1) == nil { // the lease is still its own
		_, _ = a.fs.askFile(ctx, "recoverLease", a.path)
	}
}

// discard gives the attempt up and removes its file.
func (a *attempt) discard() {
	a.abandon()
	a.remove()
}

// remove removes the file. If that fails, Sweep removes it later.
func (a *attempt) remove() {
	ctx, cancel := context.WithTimeout(context.Background(), a.fs.opts.Timeout)
	defer cancel()
	_, _ = a.fs.deleteAt(ctx, a.path, false)
}
