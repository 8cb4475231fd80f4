package dataset

import (
	"context"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/dataset"
	"github.com/paddlecloud/pfs/pfs/transfer"
	"github.com/urfave/cli/v2"
)

func datasetLatestCommand(a *app.App) *cli.Command {
	l := &latestVersion{App: a}
	return a.NewCommand(app.Spec{
		Name: "latest", Args: "/pfs/DC/public/dataset/NAME [N]", Least: 1, Most: 2,
		Summary: "list the versions of a published dataset, or choose the latest",
		Text: `Lists the complete versions of a published dataset. The one marked latest is what
NAME and NAME/latest mean.

With N, makes version N the latest in one step, for example to go back to an older one.
Version N must be complete: the names and sizes of its shards must match its manifest.
The next publication becomes the latest again. Only publishers may choose a version.`,
		Examples: []string{
			"paddlectl dataset latest /pfs/dc1/public/dataset/uci_housing",
			"paddlectl dataset latest /pfs/dc1/public/dataset/uci_housing 2",
		},
		Exits: app.PathExits(cliio.Integrity),
		Flags: []cli.Flag{app.QuietFlag(&l.quiet), app.JSONFlag(&l.json)},
		Run: func(ctx context.Context, operands []string) error {
			var err error
			if l.dir, err = parsePublicDir(ctx, a, operands[0]); err != nil {
				return err
			}
			if len(operands) == 1 {
				return l.list(ctx)
			}
			return l.choose(ctx, operands[1])
		},
	})
}

// latestVersion is one run of dataset latest.
type latestVersion struct {
	*app.App
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

func newDatasetVersionJSON(s *dataset.Dataset, n int, latest bool) datasetVersionJSON {
	return datasetVersionJSON{app.LocalText(s.Dir.Path), n, latest, s.Records, s.Bytes, s.Digest}
}

// list prints every complete version.
func (l *latestVersion) list(ctx context.Context) error {
	complete, err := dataset.Versions(ctx, l.dir)
	if err != nil {
		return err
	}
	if len(complete) == 0 {
		return app.WithHint(pfs.Errorf("paddlectl.latest", l.dir.Path, pfs.NotExist, "no complete version is published here"), "paddlectl dataset publish makes one")
	}
	latest, broken := dataset.Latest(ctx, l.dir)
	if err := app.EachOf(ctx, l.App, complete, func(n int) error { return l.tell(ctx, n, n == latest && broken == nil) }); err != nil {
		return err
	}
	return withHint(ctx, l.App, broken)
}

func (l *latestVersion) tell(ctx context.Context, n int, latest bool) error {
	s, err := dataset.OpenVersion(ctx, l.dir, n)
	if err != nil {
		return err
	}
	mark := ""
	if latest {
		mark = "  " + dataset.LatestName
	}
	l.Show(l.json, newDatasetVersionJSON(s, n, latest), "%d  %s in %s, %s%s\n", n, app.Count(s.Records, "record", "records"), app.Count(int64(len(s.Shards)), "shard", "shards"), cliio.Size(s.Bytes), mark)
	return nil
}

// choose makes the version number the latest.
func (l *latestVersion) choose(ctx context.Context, number string) error {
	n, ok := dataset.VersionOf(number)
	if !ok {
		return cliargs.Usagef("%q is not a version number: versions are counted from 1", number)
	}
	s, err := dataset.SetLatest(ctx, l.dir, n)
	if err != nil {
		return withHint(ctx, l.App, err)
	}
	if l.json {
		return l.JSON(newDatasetVersionJSON(s, n, true))
	}
	if !l.quiet {
		l.Message("%s means version %d now", app.LocalText(l.dir.Path), n)
	}
	return nil
}
