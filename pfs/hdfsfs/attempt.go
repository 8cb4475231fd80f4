package hdfsfs

import (
	"context"
	"crypto/md5"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"path"
	"slices"
	"time"

	"github.com/colinmarc/hdfs/v2"
	"github.com/paddlecloud/pfs/pfs"
)

// attempt is a file that is being written with a session of its own. The library
// cannot mend a pipeline: an attempt that fails is lost whole.
type attempt struct {
	fs       *FS
	s        *session
	lib      *hdfs.FileWriter
	path     string
	block    int64
	replicas int // it is written with
	wanted   int // it is to have

	n    int64    // bytes written
	sums []uint32 // of its whole chunks of checksumChunk bytes, without those in folded
	tail uint32   // of the last chunk, which has n%checksumChunk bytes

	folds  bool   // the sums of whole blocks go into folded: see fold
	folded []byte // the MD5s of the sums of blocks
}

// begin creates a file at a path in HDFS.
func (f *FS) begin(ctx context.Context, at string, l layout, w *pipelines) (*attempt, error) {
	s, err := f.pool.get(ctx)
	if err != nil {
		return nil, err
	}
	s.setPipes(w)
	a := &attempt{fs: f, s: s, path: at, block: l.block, replicas: w.ask(), wanted: l.replicas}
	if l.small {
		s.collect()
	}
	err = s.do(ctx, f.opts.Timeout, func() (err error) {
		a.lib, err = s.client.CreateFile(at, a.replicas, l.block, l.perm)
		return err
	})
	if err != nil {
		f.pool.put(s)
		return nil, err
	}
	return a, nil
}

// pipelinePauses are those before a pipeline is built again: see pipelines.
var pipelinePauses = []time.Duration{0, 0, 50 * time.Millisecond, 100 * time.Millisecond, 300 * time.Millisecond, 500 * time.Millisecond,
	time.Second, time.Second, 2 * time.Second, 2 * time.Second, 3 * time.Second}

// beginWith creates a file and writes its first bytes, which is when the pipeline is
// built. name gives each try a path of its own. Where it is the NameNode that fails,
// another pipeline does not help: then it is asked as often as in other calls.
func (f *FS) beginWith(ctx context.Context, l layout, p []byte, name func() string) (*attempt, error) {
	w := newPipelines(f.dataNodes, l.replicas)
	refused := 0 // by NameNodes
	for i := 0; ; i++ {
		w.next(i)
		a, err := f.begin(ctx, name(), l, w)
		if err == nil {
			if err = a.write(p); err == nil {
				w.built()
				return a, nil
			}
			var late *noAnswer
			if errors.As(err, &late) {
				w.probe(a.s)
			}
			a.discard()
		}
		if a == nil || nameNodeSilent(err) {
			if !f.mayRepeat(err, false, idempotent) || refused == len(callPauses) {
				return nil, err
			}
			refused++
		}
		if full := f.full(ctx, l, err); full != nil {
			return nil, full
		}
		if i == len(pipelinePauses) || !is(err, pfs.Unavailable) || wait(ctx, pipelinePauses[i]) != nil {
			return nil, err
		}
	}
}

// full makes the error of a cluster that found no place for a block of l because there is
// none. Otherwise it returns nil: DataNodes may be gone or busy.
func (f *FS) full(ctx context.Context, l layout, err error) error {
	var remote remoteError
	if !errors.As(err, &remote) || remote.Method() != "addBlock" {
		return nil
	}
	all, failed := f.clusterSpace(ctx)
	if failed != nil || all.GetCapacity() == 0 || all.GetRemaining() >= uint64(l.block) {
		return nil
	}
	return pfs.Errorf("hdfsfs.attempt", "", pfs.NoSpace, "the DataNodes have %d bytes left, and a block has %d", all.GetRemaining(), l.block)
}

// write appends p; after an error the attempt can only be discarded. It is not ended in
// the middle by a caller that gives up, since then all that was written before would be
// lost: it ends with p, or at its deadline.
func (a *attempt) write(p []byte) error {
	if len(p) == 0 {
		return nil
	}
	return a.s.do(context.Background(), a.limit(), func() error {
		for len(p) > 0 {
			n := min(len(p), pieceSize, int(a.block-a.n%a.block))
			piece := p[:n]
			p = p[n:]
			a.sum(piece)
			if err := a.writePiece(piece); err != nil {
				return err
			}
			if err := a.s.broken(); err != nil {
				return err
			}
		}
		return nil
	})
}

// writePiece appends bytes of one block. Where a block begins, the NameNode may ask to come
// again: it adds none as long as no DataNode has told it about the one before the last.
func (a *attempt) writePiece(piece []byte) error {
	last := lastBlockOf(a.lib)
	for pause := firstPause; ; pause = min(2*pause, time.Second) {
		_, err := a.lib.Write(piece)
		var remote remoteError
		if !errors.As(err, &remote) || remote.Exception() != notReplicatedYet {
			return err
		}
		last.restore()
		if wait(a.s.life, pause) != nil {
			return err
		}
	}
}

// pieceSize is what is given to the library at once, at most: a packet, so that it is in the
// processor's cache while it is summed here and there, and copied twice.
const pieceSize = 64 << 10

// limit is how long a pipeline may take for one chunk.
func (a *attempt) limit() time.Duration { return 2 * a.fs.opts.Timeout }

// sum takes p into the checksums.
func (a *attempt) sum(p []byte) {
	for len(p) > 0 {
		have := int(a.n % checksumChunk)
		k := min(len(p), checksumChunk-have)
		a.tail = crc32.Update(a.tail, castagnoli, p[:k])
		a.n += int64(k)
		p = p[k:]
		if have+k == checksumChunk {
			a.sums, a.tail = append(a.sums, a.tail), 0
		}
	}
	if a.folds {
		a.foldBlocks()
	}
}

// fold has 16 bytes kept for each block instead of four for each chunk, for a file that is
// written whole, however long it is. Then compare must not be called.
func (a *attempt) fold() {
	a.folds = true
	a.foldBlocks()
}

func (a *attempt) foldBlocks() {
	for perBlock := int(a.block / checksumChunk); len(a.sums) >= perBlock; {
		a.folded = appendSum(a.folded, a.sums[:perBlock])
		a.sums = append(a.sums[:0], a.sums[perBlock:]...)
	}
}

// verdict is whether bytes are those that were written before.
type verdict uint8

const (
	same verdict = iota
	different
	unsure // it cannot be told from checksums
)

// compare tells whether p, whose end is not beyond the end of what was written, is
// what was written at off.
func (a *attempt) compare(p []byte, off int64) verdict {
	if off%checksumChunk != 0 || (off+int64(len(p)))%checksumChunk != 0 && off+int64(len(p)) != a.n {
		return unsure
	}
	for i := off / checksumChunk; len(p) > 0; i++ {
		k := min(len(p), checksumChunk)
		want := a.tail
		if i < int64(len(a.sums)) {
			want = a.sums[i]
		}
		if crc32.Checksum(p[:k], castagnoli) != want {
			return different
		}
		p = p[k:]
	}
	return same
}

// finish closes the file and confirms it. The attempt is over, whatever comes out.
func (a *attempt) finish(ctx context.Context) error {
	if err := a.close(ctx); err != nil {
		return err
	}
	return a.confirm(ctx)
}

// close returns when all DataNodes of the pipeline have all bytes, and the NameNode knows.
// After an error the attempt is over.
func (a *attempt) close(ctx context.Context) error {
	err := a.s.do(context.WithoutCancel(ctx), 2*a.limit(), a.closeFile)
	if err != nil {
		a.fs.pool.put(a.s)
		a.remove()
	}
	return err
}

// confirm checks that the cluster has what was written: by what was sent, if that was
// looked at, or by asking back. The attempt is over.
func (a *attempt) confirm(ctx context.Context) (err error) {
	if a.n > 0 && !a.s.collected(a.allSums()) {
		err = a.s.do(ctx, a.limit(), a.verify)
	}
	a.fs.pool.put(a.s)
	if err != nil {
		a.remove()
		return err
	}
	if a.replicas < a.wanted {
		a.replicate(ctx)
	}
	return nil
}

// firstPause is the first of those before a NameNode is asked again that asked to come
// again; each is twice as long as the one before.
const firstPause = 5 * time.Millisecond

// closeFile closes the file. The NameNode refuses as long as no DataNode has told it about
// the last block, or about the one before.
func (a *attempt) closeFile() error {
	var last lastBlock
	if a.n > a.block {
		last = lastBlockOf(a.lib)
	}
	for pause, again := firstPause, false; ; pause = min(2*pause, time.Second) {
		err := a.lib.Close()
		var remote remoteError
		if again && errors.As(err, &remote) && remote.Method() == mendPipeline {
			// The NameNode has taken the last block, and a DataNode is yet to tell about it.
			last.drop()
			last = lastBlock{}
			err = a.lib.Close()
		}
		if !hdfs.IsErrReplicating(err) {
			return err
		}
		last.restore()
		again = true
		if wait(a.s.life, pause) != nil {
			return pfs.Errorf("hdfsfs.attempt", "", pfs.Unavailable, "no DataNode has told the NameNode about the last block yet")
		}
	}
}

// verify compares the checksum of the stored file with that of what was written.
func (a *attempt) verify() error {
	defer a.s.closeData()
	r, err := a.s.client.Open(a.path)
	if err != nil {
		return err
	}
	defer r.Close()
	got, err := r.Checksum()
	if err != nil {
		return err
	}
	if want := a.checksum(); r.Stat().Size() != a.n || string(got) != string(want[:]) {
		return pfs.Errorf("hdfsfs.attempt", "", pfs.Integrity, "the cluster has not stored the %d bytes that it was given: write them again", a.n)
	}
	return nil
}

// allSums are the checksums of all chunks that are not folded, the last one too.
func (a *attempt) allSums() []uint32 {
	if a.n%checksumChunk == 0 {
		return a.sums
	}
	return append(a.sums[:len(a.sums):len(a.sums)], a.tail)
}

// checksum is HDFS's own of a file with these sums: the MD5 of the MD5s of the sums of
// each block, filled up with zeros to 32 bytes or the next power of two.
func (a *attempt) checksum() [md5.Size]byte {
	sums := a.allSums()
	blocks := slices.Clone(a.folded)
	perBlock := int(a.block / checksumChunk)
	for len(sums) > 0 {
		k := min(len(sums), perBlock)
		blocks = appendSum(blocks, sums[:k])
		sums = sums[k:]
	}
	length := 32
	for length < len(blocks) {
		length *= 2
	}
	return md5.Sum(append(blocks, make([]byte, length-len(blocks))...))
}

// appendSum appends the MD5 of the sums of one block.
func appendSum(blocks []byte, sums []uint32) []byte {
	raw := make([]byte, 0, len(sums)*sumSize)
	for _, s := range sums {
		raw = binary.BigEndian.AppendUint32(raw, s)
	}
	sum := md5.Sum(raw)
	return append(blocks, sum[:]...)
}

// replicate asks for the replicas that the file could not be written with.
func (a *attempt) replicate(ctx context.Context) {
	if err := a.fs.setReplication(ctx, a.path, a.wanted); err != nil {
		a.fs.opts.Logger.Warn("a file has fewer replicas than it should", "file", path.Base(a.path), "replicas", a.replicas, "wanted", a.wanted, "error", err)
	}
}

// discard gives the attempt up and removes what there is of it.
func (a *attempt) discard() {
	a.s.abort(pfs.Errorf("hdfsfs.attempt", "", pfs.Canceled, "discarded"))
	_ = a.lib.Close() // ends the library's goroutines; nothing is sent any more
	a.fs.pool.put(a.s)
	a.remove()
}

// remove removes the file. If that fails it is swept one day.
func (a *attempt) remove() {
	ctx, cancel := context.WithTimeout(context.Background(), a.fs.opts.Timeout)
	defer cancel()
	_, _ = a.fs.deleteAt(ctx, a.path, false)
}
