package output

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/retry"
)

// maxSmall bounds the size of a marker.
const maxSmall = 1 << 20

// budgeted returns ctx with a budget for retries.
func budgeted(ctx context.Context, policy retry.Policy) context.Context {
	return retry.With(ctx, retry.New(policy, nil))
}

// writeRecord writes record as JSON to the file name. With noReplace an Exist may mean that an earlier
// attempt succeeded and its answer was lost.
func writeRecord(ctx context.Context, fsys pfs.FileSystem, name pfs.Path, record any, noReplace bool) error {
	data, err := json.MarshalIndent(record, "", "  ")
	if err != nil {
		return err
	}
	data = append(data, '\n')
	return retry.From(ctx).Do(ctx, retry.Op{}, func(ctx context.Context) error {
		return pfs.WriteBatch(ctx, fsys, []pfs.BatchEntry{{Path: name, Mode: 0o644, Data: data, Digest: digest.Bytes(data), NoReplace: noReplace}})[0]
	})
}

// readRecord reads the file name, JSON that writeRecord wrote, into record.
func readRecord(ctx context.Context, fsys pfs.FileSystem, name pfs.Path, record any) error {
	return retry.From(ctx).Do(ctx, retry.Op{}, func(ctx context.Context) error {
		f, err := fsys.Open(ctx, name)
		if err != nil {
			return err
		}
		defer f.Close()
		size := f.Info().Size
		if size > maxSmall {
			return pfs.Errorf("output.readRecord", name, pfs.Integrity, "%d bytes are too many for this file", size)
		}
		data := make([]byte, size)
		if err := pfs.ReadFull(ctx, f, data, 0); err != nil {
			return err
		}
		if err := json.Unmarshal(data, record); err != nil {
			return pfs.E("output.readRecord", name, pfs.Integrity, fmt.Errorf("damaged: %w", err))
		}
		return nil
	})
}
