package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/dataset/recordfile"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/recordio"
	"github.com/paddlecloud/pfs/shard"
)

// ShardState is the result of Verify for a shard.
type ShardState string

// The states of shards.
const (
	Same    ShardState = "same"    // as the manifest states
	Damaged ShardState = "damaged" // not as the manifest states
	Missing ShardState = "missing"
	Stale   ShardState = "stale" // of that name, but of another set
)

// ShardReport is the result of Verify for one shard.
type ShardReport struct {
	Name  string
	State ShardState
	Why   string // may be empty
}

// VerifyReport counts the shards by state.
type VerifyReport struct {
	Same    int `json:"same"`
	Damaged int `json:"damaged"`
	Missing int `json:"missing"`
	Stale   int `json:"stale"`
}

// OK reports whether every shard exists and is as the manifest states.
func (r VerifyReport) OK() bool { return r.Damaged+r.Missing+r.Stale == 0 }

// VerifyOptions are the options of Verify. The zero value checks everything.
type VerifyOptions struct {
	Quick bool                                          // compare digests, computed where the shards are; do not read the records
	Found func(ShardReport)                             // is called for each shard; may be nil
	Meter func(bytes int64, files int) recordfile.Meter // shows the progress; may be nil
}

// Verify checks that every shard exists and is the one that the manifest states, by size, digest and
// number of records, and every checksum in it. It returns an error if it could not finish.
func (s *Dataset) Verify(ctx context.Context, o VerifyOptions) (VerifyReport, error) {
	c := &check{s: s, quick: o.Quick, tell: o.Found, meter: recordfile.NoMeter{}}
	if o.Meter != nil {
		c.meter = o.Meter(s.Bytes, len(s.Shards))
	}
	defer c.meter.End()
	err := c.run(ctx)
	return c.report, err
}

// check is one call of Verify.
type check struct {
	s      *Dataset
	quick  bool
	tell   func(ShardReport)
	meter  recordfile.Meter
	report VerifyReport
}

func (c *check) run(ctx context.Context) error {
	for i := range c.s.Shards {
		if err := c.shard(ctx, i); err != nil {
			return err
		}
	}
	old, err := findSet(ctx, c.s.Dir, c.s.Name)
	if err != nil {
		return err
	}
	var set *shard.SetError
	if err := shard.CompareSet(old.shards, c.s.Names()); errors.As(err, &set) {
		for _, name := range set.Stale {
			c.found(name, Stale, "an earlier run left it, or another one has just written it")
		}
	}
	return nil
}

// shard checks shard i. An error ends the run.
func (c *check) shard(ctx context.Context, i int) error {
	file, name := c.s.Shard(i), c.s.Shards[i].Name
	c.meter.Begin(file.Title)
	why, err := c.differs(ctx, i)
	switch {
	case isMissing(err):
		c.found(name, Missing, "")
	case err != nil && !errors.Is(err, pfs.Integrity):
		return err
	case err != nil:
		c.found(name, Damaged, err.Error())
	case why != "":
		c.found(name, Damaged, why)
	default:
		c.found(name, Same, "")
	}
	c.meter.Finished()
	return nil
}

// differs describes how shard i differs from the manifest.
func (c *check) differs(ctx context.Context, i int) (why string, err error) {
	want, file := c.s.Shards[i], c.s.Shard(i)
	in, err := recordfile.Open(ctx, file, c.meter)
	if err != nil {
		return "", err
	}
	defer in.Close()
	if in.Size != want.Bytes {
		return fmt.Sprintf("%d bytes, want %d", in.Size, want.Bytes), nil
	}
	sum := ""
	if c.quick {
		sum, err = digest.Stored(ctx, in.End.FS, in.End.Path, digest.BLAKE3, nil)
	} else {
		sum, why, err = readShard(in, file.Title, want.Records, want.RecordBytes)
	}
	if err != nil || why != "" {
		return why, err
	}
	if sum != want.Digest {
		return "its digest is " + sum + ", want " + want.Digest, nil
	}
	return "", nil
}

// readShard reads a shard once. It returns the digest, or the error of the records.
func readShard(in *recordfile.Input, title string, records, recordBytes int64) (sum, why string, err error) {
	hash, err := digest.NewHash(digest.BLAKE3, in.Size)
	if err != nil {
		return "", "", err
	}
	all := io.TeeReader(in, hash)
	report, err := recordio.Verify(all, recordio.ScanOptions{Path: title})
	switch {
	case err != nil:
		return "", "", recordfile.RecordError(err)
	case len(report.Damage) > 0:
		return "", report.Damage[0].Err.Error(), nil
	case report.Records != records || report.RecordBytes != recordBytes:
		return "", fmt.Sprintf("%d records of %d bytes, want %d of %d", report.Records, report.RecordBytes, records, recordBytes), nil
	}
	_, err = io.Copy(io.Discard, all) // what follows the records
	return hash.Sum(), "", err
}

// found counts a shard, and reports it.
func (c *check) found(name string, state ShardState, why string) {
	switch state {
	case Same:
		c.report.Same++
	case Damaged:
		c.report.Damaged++
	case Missing:
		c.report.Missing++
	case Stale:
		c.report.Stale++
	}
	if c.tell != nil {
		c.tell(ShardReport{name, state, why})
	}
}
