package dataset

import (
	"context"
	"os"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/datafile"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/dataset/manifest"
	"github.com/paddlecloud/pfs/pfs/transfer"
)

// checkInputs refuses inputs that the set would replace or remove, by whatever name
// or link they were given. Only what exists can be replaced, so that the inputs, of
// which there may be millions, are held against the few files that do.
func (c *conversion) checkInputs(ctx context.Context) error {
	targets, err := c.existingOutputs(ctx)
	if err != nil || len(targets) == 0 {
		return err
	}
	for _, g := range c.in.groups {
		if err := g.checkNone(ctx, c.a, targets); err != nil {
			return err
		}
	}
	return nil
}

// existingOutputs lists the files that the conversion may replace or remove, by their
// size.
func (c *conversion) existingOutputs(ctx context.Context) (map[int64][]datafile.File, error) {
	ends := []transfer.End{{FS: c.dir.FS, Path: c.dir.Path.Join(manifest.FileName(c.o.namePrefix))}}
	for _, name := range c.set.shards {
		ends = append(ends, transfer.End{FS: c.dir.FS, Path: c.dir.Path.Join(name)})
	}
	if c.o.badFile != "" {
		end, err := datafile.OutputEnd(ctx, c.a, c.o.badFile)
		if err != nil {
			return nil, err
		}
		if end.FS != nil {
			ends = append(ends, end)
		}
		if end.FS == c.dir.FS && end.Path.Parent() == c.dir.Path &&
			(isShardOf(end.Path.Base(), c.o.namePrefix) || end.Path.Base() == manifest.FileName(c.o.namePrefix)) {
			return nil, cliargs.Usagef("--bad-file %s: the dataset has a file of that name", c.o.badFile)
		}
	}
	if c.work.exists {
		for e, err := range pfs.Entries(ctx, c.work.fs, c.work.dir, nil) {
			if err != nil {
				return nil, err
			}
			ends = append(ends, transfer.End{FS: c.work.fs, Path: c.work.dir.Join(e.Name)})
		}
	}
	return thoseThere(ctx, ends)
}

// thoseThere returns those of the files that exist, by their size.
func thoseThere(ctx context.Context, ends []transfer.End) (map[int64][]datafile.File, error) {
	files := map[int64][]datafile.File{}
	for _, end := range ends {
		_, info, err := app.Followed(ctx, end, true)
		if app.IsMissing(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		files[info.Size] = append(files[info.Size], datafile.File{Text: app.LocalText(end.Path), End: end})
	}
	return files, nil
}

// checkNone returns an error that names both if an input of g is one of the targets.
func (g *inputGroup) checkNone(ctx context.Context, a *app.App, targets map[int64][]datafile.File) error {
	if g.stdin {
		return checkStdin(a, targets)
	}
	return g.found.Each(func(f pfs.Info) error {
		for _, t := range targets[f.Size] {
			if t.SameFile(ctx, transfer.End{FS: g.fs, Path: pfs.Path(f.Name)}) {
				return replacedInput(app.LocalText(pfs.Path(f.Name)), t)
			}
		}
		return nil
	})
}

// checkStdin is checkNone for a file that the shell leads to standard input.
func checkStdin(a *app.App, targets map[int64][]datafile.File) error {
	f, ok := a.Main.Stdin.(*os.File)
	if !ok {
		return nil
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil // a pipe or a terminal is no output
	}
	for _, t := range targets[info.Size()] {
		if other, err := os.Stat(app.LocalText(t.End.Path)); !t.End.Path.Within(app.Top) && err == nil && os.SameFile(info, other) {
			return replacedInput(app.StdinText, t)
		}
	}
	return nil
}

func replacedInput(input string, output datafile.File) error {
	return cliargs.Usagef("the input %s is the output %s, which would replace or remove it: name another --output-path, --name-prefix or --bad-file",
		input, output.Text)
}
