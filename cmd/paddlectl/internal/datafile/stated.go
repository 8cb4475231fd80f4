package datafile

import (
	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/transfer"
)

// Stated is what a manifest says of a shard.
type Stated struct {
	Bytes, Records int64
	Set            string // what messages call the dataset
	Payload        string // how its records are encoded
	Verify         string // the command that tells all that is wrong
}

// OfSize returns an error unless the shard at e has so many bytes. A shard that no
// manifest speaks of is nil, and may have any number.
func (s *Stated) OfSize(e transfer.End, bytes int64) error {
	if s == nil || bytes == s.Bytes {
		return nil
	}
	return app.WithHint(pfs.Errorf("paddlectl.dataset", e.Path, pfs.Integrity, "the shard has %s, the manifest says %d", app.Count(bytes, "byte", "bytes"), s.Bytes), s.Verify)
}

// OfRecords is ofSize for the number of records.
func (s *Stated) OfRecords(e transfer.End, records int64) error {
	if s == nil || records == s.Records {
		return nil
	}
	return app.WithHint(pfs.Errorf("paddlectl.dataset", e.Path, pfs.Integrity, "the shard has %s, the manifest says %d", app.Count(records, "record", "records"), s.Records), s.Verify)
}

// PayloadOf returns how the records of files are encoded, as their manifests say; "" if
// there is none. Datasets that differ are an error of usage: one way to decode is not
// right for both.
func PayloadOf(files []File) (string, error) {
	var first *Stated
	for _, f := range files {
		switch {
		case f.Stated == nil:
		case first == nil:
			first = f.Stated
		case f.Stated.Payload != first.Payload:
			return "", cliargs.Usagef("%s has records of %s, %s of %s: read them one after the other", first.Set, first.Payload, f.Stated.Set, f.Stated.Payload)
		}
	}
	if first == nil {
		return "", nil
	}
	return first.Payload, nil
}
