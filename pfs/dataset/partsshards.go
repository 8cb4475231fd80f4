package dataset

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/dataset/manifest"
	"github.com/paddlecloud/pfs/pfs/dataset/recordfile"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/transfer"
	"github.com/paddlecloud/pfs/split"
)

// makeShards makes the shards of this process.
func (p *parts) makeShards(ctx context.Context) (err error) {
	first, end := len(p.shards)*p.Index/p.Count, len(p.shards)*(p.Index+1)/p.Count
	c := p.c
	c.outs = c.outputs(ctx)
	defer c.outs.Abort() // the parts stay
	w := &shardRange{plan: p.shards, end: end, sink: &shardSink{c: c, ctx: ctx, parts: make([]*transfer.Output, first), shards: make([]manifest.Shard, first)}}
	c.work.resumed = true
	// This run keeps the shards that it made before the process was killed.
	for ; first < end; first++ {
		before, err := c.work.finished(ctx, first)
		if err != nil {
			return err
		}
		if before == nil || !p.made(before, first) {
			break
		}
		w.sink.parts, w.sink.shards = append(w.sink.parts, nil), append(w.sink.shards, before.Shard)
	}
	c.work.resumed = false
	w.next = first
	err = w.open()
	record := int64(0) // the first of the unit
	for n, u := range p.units(ctx) {
		if err != nil {
			break
		}
		r := &p.found[n]
		w.at, record = record, record+r.Stats.Records
		if record <= p.shards[w.next].First {
			continue
		}
		start := int64(-1)
		if u.cut {
			start = r.Stats.Start
		}
		if _, err = p.read(ctx, u, start, w.Write); err == nil && w.at != record {
			err = failure(OtherJob, "dataset.Convert", c.work.dir, pfs.Conflict, "the inputs have changed since the conversion began")
		}
	}
	switch {
	case errors.Is(err, errStop):
		return nil
	case err == nil && p.err == nil:
		err = failure(OtherJob, "dataset.Convert", c.work.dir, pfs.Conflict, "the inputs have fewer records than when the conversion began")
	}
	w.abort()
	return cmp.Or(err, p.err)
}

// shardRange writes a range of the shards.
type shardRange struct {
	plan  []split.File
	next  int // the shard that is open
	end   int // after the last one
	sink  *shardSink
	shard split.RecordWriter
	at    int64 // number of the next record
}

// open begins the next shard; errStop after the last one.
func (w *shardRange) open() (err error) {
	for ; w.next < w.end; w.next++ {
		if w.shard, err = w.sink.create(w.next, ""); err != nil || w.plan[w.next].Records > 0 {
			return err
		}
		if err := w.shard.Close(); err != nil {
			return err
		}
	}
	return errStop
}

func (w *shardRange) Write(payload []byte) error {
	w.at++
	f := w.plan[w.next]
	if w.at <= f.First {
		return nil
	}
	if err := w.shard.Write(payload); err != nil || w.at < f.First+f.Records {
		return err
	}
	done := w.shard
	w.shard = nil
	if err := done.Close(); err != nil {
		return err
	}
	w.sink.c.o.Tell(fmt.Sprintf("shard %d of %d: %s", w.next+1, len(w.plan), count(f.Records, "record", "records")))
	w.next++
	return w.open()
}

// abort closes the open shard without finishing it.
func (w *shardRange) abort() {
	if w.shard != nil {
		w.sink.given = true
		_ = w.shard.Close() // nothing is finished
	}
}

// made reports whether s describes shard i as this run makes it.
func (p *parts) made(s *finishedShard, i int) bool {
	return s.Part == p.c.work.part(i).Path.Base() && s.Shard.Records == p.shards[i].Records
}

// publish waits for all shards, and gives the files their names.
func (p *parts) publish(ctx context.Context) (err error) {
	c := p.c
	c.work.resumed = true // a killed process may have published some of the files
	c.outs = c.outputs(ctx)
	sink := &shardSink{c: c, ctx: ctx, plan: split.Plan{Files: p.shards}, empty: p.empty}
	for i, f := range p.shards {
		var s finishedShard
		if err := p.wait(ctx, shardNumber(i)+shardSuffix, &s, func() bool { return p.made(&s, i) }); err != nil {
			return err
		}
		sink.shards = append(sink.shards, s.Shard)
		part := transfer.End{FS: c.work.fs, Path: c.work.dir.Join(s.Part)}
		there, err := pfs.Exists(ctx, part.FS, part.Path)
		if err != nil {
			return err
		}
		if !there { // a killed process has published it
			name := c.o.Dir.Path.Join(f.Name)
			sum, err := digest.Stored(ctx, c.o.Dir.FS, name, digest.BLAKE3, nil)
			if err != nil {
				return err
			}
			if sum != s.Shard.Digest {
				return failure(Unfinished, "dataset.Convert", name, pfs.Conflict, "it is not the shard that was made")
			}
			sink.parts = append(sink.parts, nil)
			continue
		}
		sink.parts = append(sink.parts, c.outs.Adopt(part, s.Shard.Bytes))
	}
	for i := range p.shards {
		sink.shards[i].Name = p.shards[i].Name
	}
	m := c.manifest(sink.shards)
	text, err := manifest.Encode(m)
	if err != nil {
		return err
	}
	at := c.o.Dir.Path.Join(manifest.FileName(c.o.Name))
	if before, err := recordfile.ReadSmall(ctx, c.o.Dir.FS, at, manifest.MaxBytes); err == nil && string(before) == string(text) {
		err = c.work.remove(ctx) // a killed process has published it
		c.result(m)
		return err
	}
	if err := c.publish(ctx, sink); err != nil {
		c.outs.Abort()
		return err
	}
	c.result(m)
	c.res.EmptyRecords = p.empty
	return nil
}
