package dataset

import (
	"context"
	"encoding/binary"
	"encoding/hex"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/dataset/manifest"
	"github.com/paddlecloud/pfs/pfs/transfer"
	"github.com/paddlecloud/pfs/recordio"
	"github.com/paddlecloud/pfs/split"
	"github.com/zeebo/xxh3"
)

// recordSink takes the records of a conversion in order: begin, Write for each, end.
type recordSink interface {
	begin(rule split.Rule) error
	Write(payload []byte) error
	// end completes the set, or discards it because of err, which it then returns.
	end(err error) error
}

// shardSink writes the records into parts in the staging directory.
type shardSink struct {
	c   *conversion
	ctx context.Context

	w      *split.Writer
	plan   split.Plan
	given  bool               // given up: open parts are not complete
	parts  []*transfer.Output // by shard
	shards []manifest.Shard   // by shard; without names until name
	done   int                // finished shards
	kept   int                // those of them that an earlier run finished
	empty  int64              // records without a byte
}

var _ recordSink = (*shardSink)(nil)

func (s *shardSink) begin(rule split.Rule) (err error) {
	s.w, err = split.NewWriter(rule, s.c.o.pattern, s.create)
	return err
}

func (s *shardSink) Write(payload []byte) error {
	if len(payload) == 0 {
		s.empty++
	}
	err := s.w.Write(payload)
	s.given = s.given || err != nil
	return err
}

func (s *shardSink) end(err error) error {
	if s.w == nil {
		return err
	}
	if err != nil {
		s.given = true
		s.w.Abort(err)
		return err
	}
	s.plan, err = s.w.Close()
	return err
}

// create begins shard i, or keeps that of an earlier run.
func (s *shardSink) create(i int, _ string) (split.RecordWriter, error) {
	before, err := s.c.work.finished(s.ctx, i)
	if err != nil {
		return nil, err
	}
	if before != nil {
		part := transfer.End{FS: s.c.work.fs, Path: s.c.work.dir.Join(before.Part)}
		s.parts = append(s.parts, s.c.outs.Adopt(part, before.Shard.Bytes))
		s.shards = append(s.shards, before.Shard)
		return &keptShard{s: s, part: part.Path, want: before.Payloads}, nil
	}
	out, err := s.c.outs.CreatePart(s.c.work.part(i))
	if err != nil {
		return nil, err
	}
	s.parts = append(s.parts, out)
	s.shards = append(s.shards, manifest.Shard{})
	w := recordio.NewWriter(out, recordio.WriterOptions{
		Path: string(out.End.Path), Compressor: s.c.o.packed, ChunkBytes: s.c.o.chunkBytes(),
		Parallelism: s.c.o.workers(),
	})
	return &newShard{s: s, i: i, out: out, w: w}, nil
}

// name sets the names of the shards according to the plan.
func (s *shardSink) name() ([]manifest.Shard, error) {
	for i, f := range s.plan.Files {
		s.shards[i].Name = f.Name
		if s.parts[i] == nil {
			continue // it has its name already
		}
		end := transfer.End{FS: s.c.o.Dir.FS, Path: s.c.o.Dir.Path.Join(f.Name)}
		if err := s.parts[i].Name(f.Name, end); err != nil {
			return nil, err
		}
	}
	return s.shards, nil
}

// payloadHash is a hash of records, each after its length.
type payloadHash struct{ h xxh3.Hasher }

func (p *payloadHash) add(payload []byte) {
	var head [4]byte
	binary.LittleEndian.PutUint32(head[:], uint32(len(payload)))
	p.h.Write(head[:]) // a hash never fails
	p.h.Write(payload)
}

func (p *payloadHash) sum() string {
	sum := p.h.Sum128().Bytes()
	return hex.EncodeToString(sum[:])
}

// newShard writes one shard.
type newShard struct {
	s    *shardSink
	i    int
	out  *transfer.Output
	w    *recordio.Writer
	hash payloadHash
}

func (n *newShard) Write(payload []byte) error {
	n.hash.add(payload)
	return n.w.Write(payload)
}

// Close finishes the shard, unless the set was given up in the middle of it.
func (n *newShard) Close() error {
	if n.s.given {
		return nil
	}
	if err := n.w.Close(); err != nil {
		return err
	}
	if err := n.out.Finish(); err != nil {
		return err
	}
	ctx, work := n.s.ctx, n.s.c.work
	stats := n.w.Stats()
	shard := manifest.Shard{Records: stats.Records, RecordBytes: stats.RecordBytes, Bytes: stats.FileBytes, Digest: n.out.Digest()}
	n.s.shards[n.i] = shard
	if err := work.note(ctx, n.i, finishedShard{Shard: shard, Payloads: n.hash.sum()}); err != nil {
		return err
	}
	n.s.done++
	return nil
}

// keptShard skips the records of a shard that an earlier run finished, and checks that they are the
// same.
type keptShard struct {
	s    *shardSink
	part pfs.Path
	want string
	hash payloadHash
}

func (k *keptShard) Write(payload []byte) error {
	k.hash.add(payload)
	return nil
}

func (k *keptShard) Close() error {
	if k.s.given {
		return nil
	}
	if k.hash.sum() != k.want {
		return failure(OtherJob, "dataset.Convert", k.part, pfs.Conflict, "an earlier run made it of other records: the input has changed")
	}
	k.s.done++
	k.s.kept++
	return nil
}

// countingSink counts records instead of writing them.
type countingSink struct {
	pattern split.Pattern
	w       *split.Writer
	plan    split.Plan
}

var _ recordSink = (*countingSink)(nil)

func (s *countingSink) begin(rule split.Rule) (err error) {
	s.w, err = split.NewWriter(rule, s.pattern, func(int, string) (split.RecordWriter, error) { return nowhere{}, nil })
	return err
}

func (s *countingSink) Write(payload []byte) error { return s.w.Write(payload) }

func (s *countingSink) end(err error) error {
	if err == nil {
		s.plan, err = s.w.Close()
	}
	return err
}

// nowhere drops records.
type nowhere struct{}

func (nowhere) Write([]byte) error { return nil }
func (nowhere) Close() error       { return nil }
