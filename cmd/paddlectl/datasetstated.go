package main

import (
	"context"
	"fmt"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/transfer"
	"github.com/paddlecloud/pfs/recordio"
	"github.com/paddlecloud/pfs/shard"
)

// stated is what a manifest says of a shard.
type stated struct {
	bytes, records int64
	set            string // what messages call the dataset
	payload        string // how its records are encoded
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

// payloadOf returns how the records of files are encoded, as their manifests say; "" if
// there is none. Datasets that differ are an error of usage: one way to decode is not
// right for both.
func payloadOf(files []dataFile) (string, error) {
	var first *stated
	for _, f := range files {
		switch {
		case f.stated == nil:
		case first == nil:
			first = f.stated
		case f.stated.payload != first.payload:
			return "", cliargs.Usagef("%s has records of %s, %s of %s: read them one after the other", first.set, first.payload, f.stated.set, f.stated.payload)
		}
	}
	if first == nil {
		return "", nil
	}
	return first.payload, nil
}

// checkShards compares the names and the sizes of the files of a dataset with its
// manifest: what is missing or of another set would be noticed by nobody who reads
// what is there. The sizes only matter where damage ends what is done.
func (d *deps) checkShards(ctx context.Context, s *dataset, policy recordio.Policy) error {
	found, err := findSet(ctx, s.dir, s.Name)
	if err != nil {
		return err
	}
	if err := shard.CompareSet(found.shards, s.Names()); err != nil {
		return fmt.Errorf("%s: %w", s.setText(), err)
	}
	for i := range s.Shards {
		f := s.shard(i)
		size, known := found.sizes[s.Shards[i].Name]
		if !known || policy != recordio.Fail {
			continue // a link: its file is looked at when it is opened
		}
		if err := f.stated.ofSize(f.end, size); err != nil {
			return err
		}
	}
	return nil
}
