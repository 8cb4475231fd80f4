package main

import (
	"context"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/transfer"
	"github.com/paddlecloud/pfs/shard"
)

// stated is what a manifest says of a shard.
type stated struct {
	bytes, records int64
	verify         string // the command that tells all that is wrong
}

// ofSize returns an error unless the shard at e has so many bytes. A shard that no
// manifest speaks of is nil, and may have any number.
func (s *stated) ofSize(e transfer.End, bytes int64) error {
	if s == nil || bytes == s.bytes {
		return nil
	}
	return hinted{pfs.Errorf("paddlectl.dataset", e.Path, pfs.Integrity, "the shard has %s, the manifest says %d", count(bytes, "byte", "bytes"), s.bytes), s.verify}
}

// ofRecords is ofSize for the number of records.
func (s *stated) ofRecords(e transfer.End, records int64) error {
	if s == nil || records == s.records {
		return nil
	}
	return hinted{pfs.Errorf("paddlectl.dataset", e.Path, pfs.Integrity, "the shard has %s, the manifest says %d", count(records, "record", "records"), s.records), s.verify}
}

// checkShards compares the names and the sizes of the files of a dataset with its
// manifest: what is missing or of another set would be noticed by nobody who reads
// what is there.
func (d *deps) checkShards(ctx context.Context, s *dataset) error {
	found, err := findSet(ctx, s.dir, s.Name)
	if err != nil {
		return err
	}
	if err := shard.CompareSet(found.shards, s.Names()); err != nil {
		return err
	}
	for i := range s.Shards {
		f := s.shard(i)
		size, known := found.sizes[s.Shards[i].Name]
		if !known {
			continue // a link: its file is looked at when it is opened
		}
		if err := f.stated.ofSize(f.end, size); err != nil {
			return err
		}
	}
	return nil
}
