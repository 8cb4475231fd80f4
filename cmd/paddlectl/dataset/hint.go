package dataset

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/datafile"
	"github.com/paddlecloud/pfs/pfs/dataset"
)

const (
	wayToReplace = "--force replaces it"
	wayToDataset = "name the directory of the shards, or DIR/PREFIX; paddlectl dataset convert makes datasets"
)

// ways are the hints for errors of package dataset that need only the Reason.
var ways = map[dataset.Reason]string{
	dataset.Exists:          wayToReplace,
	dataset.ShardsExist:     "--force replaces them",
	dataset.Empty:           "--allow-empty makes an empty dataset",
	dataset.Unfinished:      "--resume keeps what it finished, --restart discards it",
	dataset.OtherJob:        "--restart discards what it finished",
	dataset.Busy:            "wait until it is done, or end it",
	dataset.UnnamedStray:    "remove it with the tools of the store, and publish again",
	dataset.OtherSchema:     "--change-schema publishes it anyway; another NAME keeps the two apart",
	dataset.TooManyVersions: "another NAME begins again with 1",
	dataset.TooFewFiles:     "--policy range shares out records instead of files; dataset convert --format recordio --num-shards makes more files",
}

// withHint adds a hint to an error of package dataset, or of the files that it reads and makes.
func withHint(ctx context.Context, a *app.App, err error) error {
	var e *dataset.Error
	if !errors.As(err, &e) {
		return datafile.WithHint(a, err)
	}
	if e.Reason == dataset.NotDataset && e.Dir.FS != nil && app.IsPublicDataset(e.Path) {
		if with := dataset.WithVersions(ctx, e.Dir, err); errors.As(with, &e) {
			err = with
		}
	}
	way := ways[e.Reason]
	name := app.LocalText(e.Path)
	if err == error(e) && e.Path != "" && !e.Names() {
		err = app.NamedError(name, e.Err)
	}
	switch {
	case e.Reason == dataset.BadOption:
		return cliargs.Usagef("%s", err)
	case e.Reason == dataset.Stray:
		way = "paddlectl rm " + app.ShellWord(name) + ", and publish again"
	case e.Reason == dataset.NoVersion:
		last := strconv.Itoa(e.Versions[len(e.Versions)-1])
		way = "name one of them, as " + name + "/" + last + "; for a publisher: paddlectl dataset latest " + app.ShellWord(name) + " " + last
	case e.Begun != "":
		way = "a conversion to " + e.Begun + " was not completed, or is running: the same paddlectl dataset convert with --resume completes it"
	case e.Files:
		way = "the files in it are " + app.ShellWord(strings.TrimSuffix(name, "/")+"/*") + "; " + wayToDataset
	case e.Reason == dataset.NotDataset:
		way = wayToDataset
	}
	return app.WithHint(err, way)
}

// open reads the manifest of the dataset that an operand names.
func open(ctx context.Context, a *app.App, text string) (*dataset.Dataset, error) {
	in, err := datafile.Operand(ctx, a, text)
	if err != nil {
		return nil, err
	}
	s, err := dataset.Open(ctx, in.File)
	return s, withHint(ctx, a, err)
}

// eachDataset calls fn for every named dataset, and continues after a failure.
func eachDataset(ctx context.Context, a *app.App, operands []string, fn func(*dataset.Dataset) error) error {
	return app.EachOf(ctx, a, operands, func(text string) error {
		s, err := open(ctx, a, text)
		if err == nil {
			err = withHint(ctx, a, fn(s))
		}
		return err
	})
}
