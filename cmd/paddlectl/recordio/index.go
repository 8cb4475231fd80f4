package recordio

import (
	"context"
	"errors"
	"strings"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/datafile"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/dataset/recordfile"
	"github.com/paddlecloud/pfs/pfs/transfer"
	"github.com/paddlecloud/pfs/recordio"
	"github.com/urfave/cli/v2"
)

func indexCommand(a *app.App) *cli.Command {
	x, o := &indexing{}, &datafile.ReadOptions{}
	return a.NewCommand(app.Spec{
		Name: "index", Args: "FILE...", Least: 1, Most: -1,
		Summary: "write, check or remove indexes",
		Text: `Writes the index .NAME.idx beside each file. It is a dot-file, which patterns such as
train-* do not match. The whole file is read and checked; a damaged file gets no index. A
matching index stays, any other is replaced. Commands that read single records use a
matching index.

--check writes nothing. A missing index is code 3; one that is damaged, or does not match
its file, is code 7.`,
		Examples: []string{
			"paddlectl recordio index '/pfs/dc1/home/alice/train-*'",
			"paddlectl recordio index --remove train-00000",
		},
		Exits: app.PathExits(cliio.Integrity),
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "check", Usage: "compare indexes with their files", Destination: &x.comparing},
			&cli.BoolFlag{Name: "remove", Usage: "remove indexes, and ignore missing ones", Destination: &x.removing},
			o.ParallelFlag(), o.LimitFlag(), app.QuietFlag(&o.Quiet), app.JSONFlag(&x.json),
		},
		Run: func(ctx context.Context, operands []string) error {
			if x.comparing && x.removing {
				return cliargs.Usagef("--check and --remove contradict each other")
			}
			return datafile.EachRead(ctx, a, o, operands, a.OnScreen() || x.comparing || x.removing, func(r *datafile.Reading, f recordfile.File) error {
				x.Reading = r
				switch {
				case f.Stream != nil:
					return cliargs.Usagef("standard input has no index beside it: a file is needed")
				case x.removing:
					return x.remove(ctx, f)
				case x.comparing:
					return x.verify(ctx, f)
				}
				return x.write(ctx, f)
			})
		},
	})
}

// indexing is one run of the command.
type indexing struct {
	*datafile.Reading
	comparing, removing, json bool
}

// indexJSON is the result for an index with --json.
type indexJSON struct {
	Path    string `json:"path"`
	Index   string `json:"index"`
	State   string `json:"state"` // written, matches, removed, none, does not match, not readable
	Records int64  `json:"records,omitempty"`
}

// tell prints the state of the index of f at end, to which a link may have led.
func (x *indexing) tell(f recordfile.File, end transfer.End, state string, records int64) {
	index := recordfile.IndexEnd(end).Path
	j := indexJSON{f.Title, app.LocalText(index), state, records}
	if dir, named := strings.CutSuffix(f.Title, f.End.Path.Base()); named && f.End.Path == end.Path {
		j.Index = dir + index.Base()
	}
	x.App.Show(x.json, j, "%-8s  %s\n", state, x.App.Name(j.Index))
}

// remove removes the index of f, which may be gone.
func (x *indexing) remove(ctx context.Context, f recordfile.File) error {
	end := f.End
	if there, _, err := f.End.Follow(ctx); err == nil {
		end = there // else the file is gone, but its index may exist
	}
	e := recordfile.IndexEnd(end)
	state := "removed"
	err := e.FS.Remove(ctx, e.Path)
	if app.IsMissing(err) {
		state, err = string(recordfile.IndexNone), nil
	}
	if err == nil {
		x.tell(f, end, state, 0)
	}
	return err
}

// verify compares the index of f with f.
func (x *indexing) verify(ctx context.Context, f recordfile.File) error {
	in, err := datafile.Open(ctx, x.App, f, nil)
	if err != nil {
		return err
	}
	defer in.Close()
	index, err := in.ReadIndex(ctx)
	if err == nil {
		x.tell(f, in.End, string(recordfile.IndexUsed), index.Len())
		return nil
	}
	if x.json {
		x.tell(f, in.End, string(recordfile.IndexStateOf(err)), 0)
	}
	var e *pfs.Error
	if !errors.As(err, &e) {
		err = recordfile.WithKind(app.NamedError(app.LocalText(recordfile.IndexEnd(in.End).Path), err), pfs.Integrity)
	}
	return app.WithHint(err, x.App.Program+" recordio index "+app.ShellWord(f.Title)+" writes it")
}

// write makes the index of f unless a matching one exists.
func (x *indexing) write(ctx context.Context, f recordfile.File) error {
	x.M.Begin(f.Title)
	defer x.M.Finished()
	in, err := datafile.Open(ctx, x.App, f, x.M)
	if err != nil {
		return err
	}
	defer in.Close()
	if index, state := in.IndexBeside(ctx); state == recordfile.IndexUsed {
		x.M.Add(in.Size)
		x.tell(f, in.End, string(recordfile.IndexUsed), index.Len())
		return nil
	}
	index, err := recordio.BuildIndex(in, x.O.Scan(f.Title, nil))
	if err != nil {
		return datafile.WithHint(x.App, in.Explain(err))
	}
	outs := datafile.NewOutputs(ctx, x.App, true, nil)
	defer outs.Abort()
	if err := createIndex(outs, in.End, index); err != nil {
		return err
	}
	if err := outs.Publish(); err != nil {
		return err
	}
	x.tell(f, in.End, "written", index.Len())
	return nil
}
