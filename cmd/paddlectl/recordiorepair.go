package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/recordio"
	"github.com/urfave/cli/v2"
)

// repairOptions are the choices of repair.
type repairOptions struct {
	readOptions

	output              string
	force, dryRun, json bool
}

func (d *deps) recordioRepairCommand() *cli.Command {
	o := &repairOptions{}
	return d.command(spec{
		name: "repair", args: "FILE", least: 1, most: 1,
		summary: "cut off a last chunk that was not written to its end",
		text: `Cuts off the end of a file whose writer died, so that it can be gone on with: a last
chunk of which the end is missing, or zeros. All chunks before it stay as they are. A
file of this machine is changed in place, unless --output names another one; a file
of a service is never changed in place.

Only the headers of the chunks and the last chunk are looked at; verify checks the
rest. Whatever else is damaged, also in a last chunk that is there to its end, is code
7 and nothing is changed: salvage makes a new file of what is whole. salvage also
saves records out of a torn chunk, which repair does not.`,
		examples: []string{
			"paddlectl recordio repair --dry-run train-00000",
			"paddlectl recordio repair /pfs/dc1/home/alice/log -o /pfs/dc1/home/alice/log.whole",
		},
		exits: pathExits(cliio.Integrity),
		flags: []cli.Flag{
			outputFlag(&o.output),
			&cli.BoolFlag{Name: "dry-run", Usage: "change nothing, print what would be done", Destination: &o.dryRun},
			forceFlag(&o.force), o.limitFlag(), jsonFlag(&o.json),
		},
		run: func(ctx context.Context, operands []string) error { return d.repairRecords(ctx, o, operands[0]) },
	})
}

func (d *deps) repairRecords(ctx context.Context, o *repairOptions, operand string) error {
	if err := o.check(); err != nil {
		return err
	}
	f, err := d.dataFile(ctx, operand)
	switch {
	case err != nil:
		return err
	case f.stdin:
		return cliargs.Usagef("standard input cannot be repaired: a file is needed")
	case o.output == "" && f.end.Path.Within(top):
		return cliargs.Usagef("%s is on a service and is not changed in place: --output names the file to make", f.text)
	}
	in, err := d.open(ctx, f, nil)
	if err != nil {
		return err
	}
	defer in.Close()
	if o.output == "" {
		return d.repairInPlace(o, in)
	}
	tail, err := recordio.FindTail(in.ReaderAt, in.size, o.scan(f.text, nil))
	if err != nil {
		return d.salvageHint(err, in)
	}
	if err := d.repairCopy(ctx, o, in, tail); err != nil {
		return err
	}
	d.tellTail(o, f.text, tail)
	return nil
}

// salvageHint adds the way out to damage that repair leaves alone.
func (d *deps) salvageHint(err error, in *input) error {
	if foreign := d.foreignHint(in, err); errors.As(foreign, new(hinted)) {
		return foreign
	}
	if !errors.Is(err, recordio.Checksum) && !errors.Is(err, recordio.Malformed) && !errors.Is(err, recordio.Truncated) {
		return recordError(err)
	}
	return hinted{recordError(err), fmt.Sprintf("this is no torn end: %s recordio salvage %s -o NEW saves what can be read", d.out.Program, shellWord(in.text))}
}

// repairInPlace cuts the file itself, and returns when that is on the disk. A dry run only
// opens it in the same way.
func (d *deps) repairInPlace(o *repairOptions, in *input) error {
	file, err := os.OpenFile(localText(in.end.Path), os.O_RDWR, 0)
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
		tail, err = recordio.FindTail(file, info.Size(), o.scan(in.text, nil))
	} else {
		tail, err = recordio.Repair(file, info.Size(), o.scan(in.text, nil))
	}
	if err == nil && tail.Torn > 0 && !o.dryRun {
		err = file.Sync()
	}
	if err != nil {
		return d.salvageHint(err, in)
	}
	d.tellTail(o, in.text, tail)
	return nil
}

// repairCopy writes what is whole to another file, or finds out whether it could.
func (d *deps) repairCopy(ctx context.Context, o *repairOptions, in *input, tail recordio.Tail) error {
	e, err := d.outputEnd(ctx, o.output)
	if err != nil {
		return err
	}
	if o.json && e.FS == nil {
		return cliargs.Usagef("--json has no place beside the file on standard output")
	}
	outs := d.newOutputs(ctx, o.force, []dataFile{in.dataFile})
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
		err = pfs.Errorf("paddlectl.repair", in.end.Path, pfs.Conflict, "it became shorter while it was read")
	}
	if err == nil {
		err = out.Finish()
	}
	if err != nil {
		return err
	}
	return outs.Publish()
}

// tailJSON is how --json shows what repair found.
type tailJSON struct {
	Path    string `json:"path"`
	Output  string `json:"output,omitempty"` // the file that was made instead of changing that of Path
	Torn    int64  `json:"torn"`             // bytes cut off, or left out
	Bytes   int64  `json:"bytes"`
	Chunks  int64  `json:"chunks"`
	Records int64  `json:"records"`
	DryRun  bool   `json:"dry_run,omitempty"`
}

func (d *deps) tellTail(o *repairOptions, name string, t recordio.Tail) {
	made := o.output
	if o.dryRun {
		made = ""
	}
	if o.json {
		d.out.JSON(tailJSON{name, made, t.Torn, t.End, t.Chunks, t.Records, o.dryRun}) // an error shows when Out is flushed
		return
	}
	d.tell(o.output == "-", "%s", tailText(name, made, o.dryRun, t))
	if t.Torn == 0 {
		d.hint("only the headers and the last chunk were looked at: " + d.out.Program + " recordio verify " + shellWord(name) + " checks the rest")
	}
}

// tailText says what repair did to the file name, or made of it.
func tailText(name, made string, dryRun bool, t recordio.Tail) string {
	left := fmt.Sprintf("%s in %s, %s", count(t.Records, "record", "records"), count(t.Chunks, "chunk", "chunks"), count(t.End, "byte", "bytes"))
	torn := count(t.Torn, "byte", "bytes")
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

// tell prints a result, or with aside, where standard output is a file of data, a
// message.
func (d *deps) tell(aside bool, format string, args ...any) {
	if aside {
		d.out.Message(format, args...)
		return
	}
	d.out.Printf("%s\n", d.out.Name(fmt.Sprintf(format, args...)))
}
