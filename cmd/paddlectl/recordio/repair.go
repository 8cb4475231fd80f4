package recordio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/datafile"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/dataset/recordfile"
	"github.com/paddlecloud/pfs/recordio"
	"github.com/urfave/cli/v2"
)

// repairOptions are the choices of repair.
type repairOptions struct {
	datafile.ReadOptions

	output              string
	force, dryRun, json bool
}

func repairCommand(a *app.App) *cli.Command {
	o := &repairOptions{}
	return a.NewCommand(app.Spec{
		Name: "repair", Args: "FILE", Least: 1, Most: 1,
		Summary: "cut off an incomplete last chunk",
		Text: `Cuts off the end of a file whose writer died, so that more can be appended: a last chunk
whose end is missing, or zeros. All chunks before it stay as they are. A file on this
machine is changed in place unless --output is given; a file on a service never is.

Only the headers of the chunks and the last chunk are read; verify checks the rest. Any
other damage, also in a complete last chunk, is code 7 and changes nothing: use salvage,
which also saves records of an incomplete chunk.`,
		Examples: []string{
			"paddlectl recordio repair --dry-run train-00000",
			"paddlectl recordio repair /pfs/dc1/home/alice/log -o /pfs/dc1/home/alice/log.whole",
		},
		Exits: app.PathExits(cliio.Integrity),
		Flags: []cli.Flag{
			app.OutputFlag(&o.output),
			&cli.BoolFlag{Name: "dry-run", Usage: "change nothing, print what would be done", Destination: &o.dryRun},
			app.ForceFlag(&o.force), o.LimitFlag(), app.JSONFlag(&o.json),
		},
		Run: func(ctx context.Context, operands []string) error { return repairRecords(ctx, a, o, operands[0]) },
	})
}

func repairRecords(ctx context.Context, a *app.App, o *repairOptions, operand string) error {
	if err := o.Check(); err != nil {
		return err
	}
	f, err := datafile.One(ctx, a, operand)
	switch {
	case err != nil:
		return err
	case f.Stream != nil:
		return cliargs.Usagef("standard input cannot be repaired: a file is needed")
	case o.output == "" && f.End.Path.Within(app.Top):
		return cliargs.Usagef("%s is on a service and is not changed in place: --output names the file to write", f.Title)
	}
	in, err := datafile.Open(ctx, a, f, nil)
	if err != nil {
		return err
	}
	defer in.Close()
	if o.output == "" {
		return repairInPlace(a, o, in)
	}
	tail, err := recordio.FindTail(in.ReaderAt, in.Size, o.Scan(f.Title, nil))
	if err != nil {
		return salvageHint(a, err, in)
	}
	if err := repairCopy(ctx, a, o, in, tail); err != nil {
		return err
	}
	tellTail(a, o, f.Title, tail)
	return nil
}

// salvageHint adds a hint to damage that repair does not repair.
func salvageHint(a *app.App, err error, in *recordfile.Input) error {
	if foreign := datafile.WithHint(a, in.Explain(err)); errors.As(foreign, new(app.Hinted)) {
		return foreign
	}
	if !errors.Is(err, recordio.Checksum) && !errors.Is(err, recordio.Malformed) && !errors.Is(err, recordio.Truncated) {
		return recordfile.RecordError(err)
	}
	return app.WithHint(recordfile.RecordError(err), fmt.Sprintf("this is more than an incomplete end: %s recordio salvage %s -o NEW saves what can be read", a.Program, app.ShellWord(in.Title)))
}

// repairInPlace truncates the file itself, and returns when that is on the disk. A dry run only
// opens it in the same way.
func repairInPlace(a *app.App, o *repairOptions, in *recordfile.Input) error {
	file, err := os.OpenFile(app.LocalText(in.End.Path), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	var tail recordio.Tail
	if o.dryRun {
		tail, err = recordio.FindTail(file, info.Size(), o.Scan(in.Title, nil))
	} else {
		tail, err = recordio.Repair(file, info.Size(), o.Scan(in.Title, nil))
	}
	if err == nil && tail.Torn > 0 && !o.dryRun {
		err = file.Sync()
	}
	if err != nil {
		return salvageHint(a, err, in)
	}
	tellTail(a, o, in.Title, tail)
	return nil
}

// repairCopy writes the complete chunks to another file; a dry run only checks that it could.
func repairCopy(ctx context.Context, a *app.App, o *repairOptions, in *recordfile.Input, tail recordio.Tail) error {
	e, err := datafile.OutputEnd(ctx, a, o.output)
	if err != nil {
		return err
	}
	if o.json && e.FS == nil {
		return cliargs.Usagef("--json cannot be used when the file goes to standard output")
	}
	outs := datafile.NewOutputs(ctx, a, o.force, []recordfile.File{in.File})
	defer outs.Abort()
	if o.dryRun {
		return outs.Rehearse(o.output, e)
	}
	out, err := outs.Create(o.output, e)
	if err != nil {
		return err
	}
	n, err := io.Copy(out, io.LimitReader(in, tail.End))
	if err == nil && n < tail.End {
		err = pfs.Errorf("paddlectl.repair", in.End.Path, pfs.Conflict, "it became shorter while it was read")
	}
	if err == nil {
		err = out.Finish()
	}
	if err != nil {
		return err
	}
	return outs.Publish()
}

// tailJSON is the result of repair as --json prints it.
type tailJSON struct {
	Path    string `json:"path"`
	Output  string `json:"output,omitempty"` // the new file, if Path was not changed itself
	Torn    int64  `json:"torn"`             // bytes cut off, or left out
	Bytes   int64  `json:"bytes"`
	Chunks  int64  `json:"chunks"`
	Records int64  `json:"records"`
	DryRun  bool   `json:"dry_run,omitempty"`
}

func tellTail(a *app.App, o *repairOptions, name string, t recordio.Tail) {
	made := o.output
	if o.dryRun {
		made = ""
	}
	if o.json {
		a.JSON(tailJSON{name, made, t.Torn, t.End, t.Chunks, t.Records, o.dryRun}) // an error shows when Out is flushed
		return
	}
	tell(a, o.output == "-", "%s", tailText(name, made, o.dryRun, t))
	if t.Torn == 0 {
		a.Hint("only the headers and the last chunk were read: " + a.Program + " recordio verify " + app.ShellWord(name) + " checks the rest")
	}
}

// tailText describes how repair changed the file name, or which file it made of it.
func tailText(name, made string, dryRun bool, t recordio.Tail) string {
	left := fmt.Sprintf("%s in %s, %s", app.Count(t.Records, "record", "records"), app.Count(t.Chunks, "chunk", "chunks"), app.Count(t.End, "byte", "bytes"))
	torn := app.Count(t.Torn, "byte", "bytes")
	if made == "-" {
		made = "standard output"
	}
	switch {
	case made != "" && t.Torn == 0:
		return fmt.Sprintf("%s: %s, all of %s", made, left, name)
	case made != "":
		return fmt.Sprintf("%s: %s, without the last %s of %s", made, left, torn, name)
	case t.Torn == 0:
		return fmt.Sprintf("%s: nothing to cut off: %s", name, left)
	case dryRun:
		return fmt.Sprintf("%s: would cut off %s and leave %s", name, torn, left)
	}
	return fmt.Sprintf("%s: %s cut off, left %s", name, torn, left)
}

// tell prints a result; with aside, because standard output is the file, it prints a message.
func tell(a *app.App, aside bool, format string, args ...any) {
	if aside {
		a.Message(format, args...)
		return
	}
	a.Printf("%s\n", a.Name(fmt.Sprintf(format, args...)))
}
