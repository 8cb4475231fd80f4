package dataset

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/copying"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/dataset/manifest"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/transfer"
	"github.com/urfave/cli/v2"
)

type publishOptions struct{ force, changeSchema, allowEmpty, quiet, json bool }

func datasetPublishCommand(a *app.App) *cli.Command {
	var o publishOptions
	return a.NewCommand(app.Spec{
		Name: "publish", Args: "DATASET [/pfs/DC/public/dataset/NAME]", Least: 1, Most: 2,
		Summary: "make a dataset public, as a new version",
		Text: `Checks a dataset, copies it to /pfs/DC/public/dataset/NAME/N with N the next free
number, checks the copy, and writes its manifest last: a version without one is not
complete. A complete version is never changed; to publish again makes the next one.
NAME/latest then leads to it, which dataset info, cat, shard, split and verify read
if they are given NAME; dataset latest makes another version that. Without a target it
is the current datacenter, and the name of the dataset. Only publishers may do that.

A set that is the newest version already is not copied again. One that has another
prefix, other columns, classes or payload than the newest version is refused: who
reads NAME expects those.

A publication that was interrupted goes on where it was if it is run again.`,
		Examples: []string{"paddlectl dataset publish ./dataset /pfs/dc1/public/dataset/uci_housing"},
		Exits:    app.PathExits(cliio.Integrity),
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "force", Usage: "make a new version also of the set that is the newest one already", Destination: &o.force},
			&cli.BoolFlag{Name: "change-schema", Usage: "let prefix, columns, classes and payload be others than in the newest version", Destination: &o.changeSchema},
			&cli.BoolFlag{Name: "allow-empty", Usage: "publish a set without records", Destination: &o.allowEmpty},
			app.QuietFlag(&o.quiet),
			app.JSONFlag(&o.json),
		},
		Run: func(ctx context.Context, operands []string) error { return runPublish(ctx, a, o, operands) },
	})
}

// publication is one run of publish.
type publication struct {
	a    *app.App
	o    publishOptions
	s    *dataset
	top  transfer.End // of all versions
	n    int          // the version that is made
	text []byte       // of the manifest
	old  bool         // version n was there before, complete
}

func runPublish(ctx context.Context, a *app.App, o publishOptions, operands []string) error {
	s, err := openDataset(ctx, a, operands[0])
	if err != nil {
		return err
	}
	if s.Records == 0 && !o.allowEmpty {
		return cliargs.Usagef("%s has no records: --allow-empty publishes it", s.setText())
	}
	p := &publication{a: a, o: o, s: s}
	if p.top, err = publicPlace(ctx, a, s, operands[1:]); err != nil {
		return err
	}
	if p.text, err = manifest.Encode(s.Manifest); err != nil {
		return err
	}
	if err := verifyDataset(ctx, a, s, datasetVerifyOptions{quiet: true}); err != nil {
		return err
	}
	if err := p.claim(ctx); err != nil {
		return err
	}
	if !p.old {
		for _, step := range []func(context.Context) error{p.copy, p.check, p.complete} {
			if err := step(ctx); err != nil {
				return err
			}
		}
	}
	if err := p.advance(ctx); err != nil {
		return err
	}
	return p.tell()
}

// publicPlace is where the versions of a dataset are.
func publicPlace(ctx context.Context, a *app.App, s *dataset, operands []string) (transfer.End, error) {
	text := ""
	if len(operands) > 0 {
		text = operands[0]
	} else {
		conn, err := a.Remotes.Current(ctx)
		if err != nil {
			return transfer.End{}, err
		}
		text = fmt.Sprintf("/pfs/%s/public/dataset/%s", conn.Entry.Name, s.Name)
	}
	return publicDataset(ctx, a, text)
}

// publicDataset is the place of a public dataset that an operand names.
func publicDataset(ctx context.Context, a *app.App, text string) (transfer.End, error) {
	op, err := a.ParseOperand(text)
	if err != nil {
		return transfer.End{}, err
	}
	if op.Side != app.Remote || !app.IsPublicDataset(op.Path) {
		return transfer.End{}, cliargs.Usagef("%q is no place for a public dataset: /pfs/DC/public/dataset/NAME is needed", text)
	}
	return a.End(ctx, op)
}

// copy copies the shards; those that are there already are left, whatever they are:
// check looks at them.
func (p *publication) copy(ctx context.Context) error {
	o := &copying.Options{Retries: copying.ForAMinute, Parallel: transfer.DefaultParallel, Quiet: true, NoClobber: true}
	return copying.Run(ctx, p.a, o, nil, func(ctx context.Context, job *transfer.Job) error {
		return job.CopyAll(ctx, p.pairs())
	})
}

// pairs are the shards and their copies.
func (p *publication) pairs() iter.Seq2[transfer.Pair, error] {
	return func(yield func(transfer.Pair, error) bool) {
		for i, s := range p.s.Shards {
			to := p.version()
			to.Path = to.Path.Join(s.Name)
			pair := transfer.Pair{Source: p.s.shard(i).End, Target: to}
			if !yield(pair, nil) {
				return
			}
		}
	}
}

// check compares the copies, as they are stored, with the manifest, and refuses what does
// not belong to them.
func (p *publication) check(ctx context.Context) error {
	dir := p.version()
	unnamed := ""
	for e, err := range pfs.Entries(ctx, dir.FS, dir.Path, func(quoted string) { unnamed = quoted }) {
		if err != nil {
			return err
		}
		if _, ok := slices.BinarySearch(p.s.Names(), e.Name); !ok && e.Name != claimName {
			dir.Path = dir.Path.Join(e.Name)
			return refused(dir, "it is no part of the set, and would be published with it", "paddlectl rm "+app.ShellWord(app.LocalText(dir.Path))+", and publish again")
		}
	}
	if unnamed != "" {
		return refused(dir, "entry "+unnamed+" is no part of the set, and would be published with it", "remove it with the tools of the store, and publish again")
	}
	for _, s := range p.s.Shards {
		at := dir.Path.Join(s.Name)
		sum, err := digest.Stored(ctx, dir.FS, at, digest.BLAKE3, nil)
		if err != nil {
			return err
		}
		if sum != s.Digest {
			return pfs.Errorf("paddlectl.publish", at, pfs.Integrity, "its digest is %s, want %s: remove it and publish again", sum, s.Digest)
		}
	}
	return nil
}

// complete writes the manifest.
func (p *publication) complete(ctx context.Context) error {
	dir := p.version()
	at := dir.Path.Join(manifest.FileName(p.s.Name))
	err := pfs.WriteBatch(ctx, dir.FS, []pfs.BatchEntry{{Path: at, Mode: 0o644, Data: p.text, Digest: digest.Bytes(p.text), NoReplace: true}})[0]
	if errors.Is(err, pfs.Exist) || errors.Is(err, pfs.ReadOnly) {
		// Another run of the same publication was faster, or the answer to this one was lost.
		text, rerr := app.ReadSmall(ctx, dir.FS, at, int64(len(p.text))+1)
		if rerr == nil && bytes.Equal(text, p.text) {
			err = nil
		}
	}
	if err != nil {
		return err
	}
	if err := dir.FS.Remove(ctx, dir.Path.Join(claimName)); err != nil && !app.IsMissing(err) {
		return err
	}
	return nil
}

// advance makes latest say n, unless it says a higher number that is a complete version.
func (p *publication) advance(ctx context.Context) error {
	now, err := readLatest(ctx, p.top)
	switch {
	case err == nil && now == p.n:
		return nil
	case err != nil && !leadsNowhere(err):
		return err
	case err == nil && now > p.n:
		if newer, err := isComplete(ctx, p.top, now); err != nil || newer {
			return err
		}
	}
	return writeLatest(ctx, p.top, p.n)
}

// publishedJSON is the result of publish with --json.
type publishedJSON struct {
	Path    string `json:"path"`
	Version int    `json:"version"`
	Records int64  `json:"records"`
	Bytes   int64  `json:"bytes"`
	Digest  string `json:"digest"`  // of the manifest
	Already bool   `json:"already"` // it was that version before
}

func (p *publication) tell() error {
	path := app.LocalText(p.version().Path)
	if p.o.json {
		return p.a.JSON(publishedJSON{path, p.n, p.s.Records, p.s.Bytes, p.s.sum, p.old})
	}
	if p.old && !p.o.quiet {
		p.a.Message("already published as version %d: %s", p.n, path)
	} else if !p.o.quiet {
		p.a.Message("%s: %s in %s, %s", path, app.Count(p.s.Records, "record", "records"),
			app.Count(int64(len(p.s.Shards)), "shard", "shards"), cliio.Size(p.s.Bytes))
	}
	return nil
}
