package dataset

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"path"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/datafile"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/shard"
)

// mostState bounds the file that --state names.
const mostState = 64 << 10

// goOn makes the flags of the order those of the state in the file that --state names:
// what --json printed, with the cursor that was reached.
func (o *shardOptions) goOn(ctx context.Context, a *app.App) error {
	if o.state == "" {
		return nil
	}
	if o.shuffle != "" || o.seed != 0 || o.epoch != 0 || o.cursor != 0 {
		return cliargs.Usagef("--state tells --shuffle, --seed, --epoch and --cursor: give these, or the file")
	}
	if o.policy != ByMod && o.policy != ByOrder {
		return cliargs.Usagef("--state is for --policy order, not %s", o.policy)
	}
	kept, err := readState(ctx, a, o.state)
	if err != nil {
		return err
	}
	o.kept = &kept
	o.policy, o.shuffle, o.seed, o.epoch, o.cursor = ByOrder, kept.Shuffle, kept.Seed, kept.Epoch, kept.Cursor
	return nil
}

// readState reads the state in a file.
func readState(ctx context.Context, a *app.App, operand string) (shard.State, error) {
	f, err := datafile.One(ctx, a, operand)
	if err != nil {
		return shard.State{}, err
	}
	in, err := datafile.Open(ctx, a, f, nil)
	if err != nil {
		return shard.State{}, err
	}
	defer in.Close()
	text, err := io.ReadAll(io.LimitReader(in, mostState))
	if err != nil {
		return shard.State{}, err
	}
	var kept orderJSON
	strict := json.NewDecoder(bytes.NewReader(text))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&kept); err != nil {
		return shard.State{}, datafile.DataError(app.NamedError(in.Text, err), pfs.Integrity)
	}
	return kept.State, nil
}

// fingerprint identifies what is shared out, wherever a dataset lies.
func (s *sharing) fingerprint(all *shard.Dataset) (string, error) {
	if s.set == nil {
		return all.Fingerprint(s.blocks), nil
	}
	files := make([]shard.File, len(s.files))
	for i, f := range s.files {
		files[i] = shard.File{Name: path.Base(f.Name), Records: f.Records}
	}
	named, err := shard.NewDataset(files)
	if err != nil {
		return "", err
	}
	return named.Fingerprint(s.blocks), nil
}

// fits refuses to go on from a state that is of another dataset, or of another order.
func (s *sharing) fits(all *shard.Dataset) error {
	if s.o.kept == nil {
		return nil
	}
	sum, err := s.fingerprint(all)
	if err != nil {
		return err
	}
	if err := s.o.kept.Check(sum, s.o.shuffling, all.Len()); err != nil {
		return app.NamedError(s.o.state, err)
	}
	return nil
}
