package main

import (
	"context"
	"strconv"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/transfer"
	"github.com/paddlecloud/pfs/recordio"
	"github.com/urfave/cli/v2"
)

func (d *deps) datasetLatestCommand() *cli.Command {
	var json, quiet bool
	return d.command(spec{
		name: "latest", args: "/pfs/DC/public/dataset/NAME [N]", least: 1, most: 2,
		summary: "list the versions of a published dataset, or choose the one that NAME means",
		text: `Lists the complete versions of a published dataset. The one marked latest is what
NAME and NAME/latest mean.

With N makes that version N, from one moment to the next, as to go back to an older
one. It must be complete: its manifest is read, and names and sizes of its shards are
compared with that. To publish again makes the new version the latest, as always.
Only publishers may do that.`,
		examples: []string{
			"paddlectl dataset latest /pfs/dc1/public/dataset/uci_housing",
			"paddlectl dataset latest /pfs/dc1/public/dataset/uci_housing 2",
		},
		exits: pathExits(cliio.Integrity),
		flags: []cli.Flag{quietFlag(&quiet), jsonFlag(&json)},
		run: func(ctx context.Context, operands []string) error {
			dir, err := d.publicDataset(ctx, operands[0])
			if err != nil {
				return err
			}
			l := &latestVersion{d: d, dir: dir, json: json, quiet: quiet}
			if len(operands) == 1 {
				return l.list(ctx)
			}
			return l.choose(ctx, operands[1])
		},
	})
}

// latestVersion is one run of dataset latest.
type latestVersion struct {
	d           *deps
	dir         transfer.End
	json, quiet bool
}

// datasetVersionJSON is how --json shows a version.
type datasetVersionJSON struct {
	Path    string `json:"path"`
	Version int    `json:"version"`
	Latest  bool   `json:"latest"`
	Records int64  `json:"records"`
	Bytes   int64  `json:"bytes"`
	Digest  string `json:"digest"` // of the manifest
}

func newDatasetVersionJSON(s *dataset, n int, latest bool) datasetVersionJSON {
	return datasetVersionJSON{localText(s.dir.Path), n, latest, s.Records, s.Bytes, s.sum}
}

// list tells of every complete version.
func (l *latestVersion) list(ctx context.Context) error {
	complete, err := completeIn(ctx, l.dir)
	if err != nil {
		return err
	}
	if len(complete) == 0 {
		return hinted{pfs.Errorf("paddlectl.latest", l.dir.Path, pfs.NotExist, "no complete version is published here"), "paddlectl dataset publish makes one"}
	}
	latest, broken := newestVersion(ctx, l.dir, true)
	if err := eachOf(ctx, l.d, complete, func(n int) error { return l.tell(ctx, n, n == latest && broken == nil) }); err != nil {
		return err
	}
	return broken
}

func (l *latestVersion) tell(ctx context.Context, n int, latest bool) error {
	s, err := readVersion(ctx, l.dir, n, "")
	if err != nil {
		return err
	}
	if l.json {
		return l.d.out.JSON(newDatasetVersionJSON(s, n, latest))
	}
	mark := ""
	if latest {
		mark = "  " + latestName
	}
	l.d.out.Printf("%d  %s in %s, %s%s\n", n, count(s.Records, "record", "records"), count(int64(len(s.Shards)), "shard", "shards"), cliio.Size(s.Bytes), mark)
	return nil
}

// choose makes latest the version of a number.
func (l *latestVersion) choose(ctx context.Context, number string) error {
	n, ok := versionOf(number)
	if !ok || n > mostVersions {
		return cliargs.Usagef("%q is no number of a version: they are counted from 1", number)
	}
	whole, err := isComplete(ctx, l.dir, n)
	if err == nil && !whole {
		err = withVersions(ctx, l.dir, pfs.Errorf("paddlectl.latest", l.dir.Path.Join(number), pfs.NotExist, "this is no complete version"))
	}
	if err != nil {
		return err
	}
	s, err := readVersion(ctx, l.dir, n, localText(l.dir.Path)+"/"+strconv.Itoa(n)+"/")
	if err != nil {
		return err
	}
	if err := l.d.checkShards(ctx, s, recordio.Fail); err != nil {
		return err
	}
	if err := writeLatest(ctx, l.dir, n); err != nil {
		return err
	}
	if l.json {
		return l.d.out.JSON(newDatasetVersionJSON(s, n, true))
	}
	if !l.quiet {
		l.d.out.Message("%s means version %d now", localText(l.dir.Path), n)
	}
	return nil
}
