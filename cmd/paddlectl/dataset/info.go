package dataset

import (
	"context"
	"fmt"
	"strings"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs/dataset"
	"github.com/paddlecloud/pfs/pfs/dataset/manifest"
	"github.com/urfave/cli/v2"
)

type infoOptions struct{ shards, json bool }

func datasetInfoCommand(a *app.App) *cli.Command {
	var o infoOptions
	return a.NewCommand(app.Spec{
		Name: "info", Args: "DATASET...", Least: 1, Most: -1,
		Summary: "show what a dataset consists of",
		Text: `Shows the manifest. DATASET is the directory of the shards, or DIR/PREFIX, or a published
dataset, whose latest version is shown. Nothing is checked: paddlectl dataset verify does
that.`,
		Examples: []string{"paddlectl dataset info ./dataset", "paddlectl dataset info --shards /pfs/dc1/public/dataset/uci_housing"},
		Exits:    app.PathExits(cliio.Integrity),
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "shards", Usage: "also list the shards", Destination: &o.shards},
			&cli.BoolFlag{Name: "json", Usage: "the manifest, with the directory as \"path\", on one line", Destination: &o.json},
		},
		Run: func(ctx context.Context, operands []string) error {
			return eachDataset(ctx, a, operands, func(s *dataset.Dataset) error { return showDataset(a, s, o) })
		},
	})
}

// datasetJSON is the result of info with --json.
type datasetJSON struct {
	Path string `json:"path"`
	*manifest.Manifest
}

func showDataset(a *app.App, s *dataset.Dataset, o infoOptions) error {
	if o.json {
		return a.JSON(datasetJSON{s.DirTitle(), s.Manifest})
	}
	var b strings.Builder
	row := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-10s%s\n", name, a.Name(fmt.Sprintf(format, args...)))
	}
	row("dataset", "%s", s.Title())
	row("records", "%d in %s, %s", s.Records, app.Count(int64(len(s.Shards)), "shard", "shards"), cliio.Size(s.Bytes))
	row("payload", "%s, of %s", s.Payload, s.Source)
	for i, in := range s.Inputs {
		if more := int64(len(s.Inputs) - i); i == mostShown && more > 1 {
			row("input", "and %s: --json shows all", app.Count(more, "more", "more"))
			break
		}
		row("input", "%s (%s, %s)", in.Path, app.Count(in.Files, "file", "files"), cliio.Size(in.Bytes))
	}
	row("options", "%s", strings.Join(s.Options, " "))
	if len(s.Columns) > 0 {
		row("columns", "%s", dataset.ColumnsText(s.Columns))
	}
	if len(s.Classes) > 0 {
		row("classes", "%s", classesText(s.Classes))
	}
	if s.Bad > 0 {
		row("left out", "%s", app.Count(s.Bad, "malformed record", "malformed records"))
	}
	a.Printf("%s", b.String())
	if o.shards {
		for _, shard := range s.Shards {
			a.Printf("%s  %d  %s  %s\n", a.Name(shard.Name), shard.Records, cliio.Size(shard.Bytes), shard.Digest)
		}
	}
	return nil
}

// mostShown bounds the inputs, and the classes, that are printed without --json.
const mostShown = 20

// classesText names the first classes.
func classesText(classes []string) string {
	more := int64(len(classes) - mostShown)
	if more <= 1 {
		return strings.Join(classes, ", ")
	}
	return strings.Join(classes[:mostShown], ", ") + ", and " + app.Count(more, "more", "more") + ": --json shows all"
}
