package main

import (
	"context"
	"errors"
	"strings"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/transfer"
	"github.com/paddlecloud/pfs/recordio"
	"github.com/urfave/cli/v2"
)

// indexOptions are the choices of index.
type indexOptions struct {
	readOptions

	compare, remove, json bool
}

func (d *deps) recordioIndexCommand() *cli.Command {
	o := &indexOptions{}
	return d.command(spec{
		name: "index", args: "FILE...", least: 1, most: -1,
		summary: "write, check or remove indexes",
		text: `Writes for each file the index .NAME.idx beside it: a dot-file, which patterns such
as train-* do not match. The file is read and checked from its beginning to its end;
a damaged one gets no index. An index that matches is left as it is, any other is
replaced. Every command that reads single records uses the index if it matches.

With --check nothing is written: an index that is missing is code 3, one that does
not match the file, or is damaged, 7.`,
		examples: []string{
			"paddlectl recordio index '/pfs/dc1/home/alice/train-*'",
			"paddlectl recordio index --remove train-00000",
		},
		exits: pathExits(cliio.Integrity),
		flags: []cli.Flag{
			&cli.BoolFlag{Name: "check", Usage: "compare indexes with their files", Destination: &o.compare},
			&cli.BoolFlag{Name: "remove", Usage: "remove indexes; one that is not there is no error", Destination: &o.remove},
			o.parallelFlag(), o.limitFlag(), quietFlag(&o.quiet), jsonFlag(&o.json),
		},
		run: func(ctx context.Context, operands []string) error { return d.indexRecords(ctx, o, operands) },
	})
}

func (d *deps) indexRecords(ctx context.Context, o *indexOptions, operands []string) error {
	if err := o.check(); err != nil {
		return err
	}
	if o.compare && o.remove {
		return cliargs.Usagef("--check and --remove contradict each other")
	}
	files, err := d.dataFiles(ctx, operands)
	if err != nil {
		return err
	}
	x := &indexing{o: o, reading: d.startReading(ctx, &o.readOptions, files, d.onScreen() || o.compare || o.remove)}
	defer x.m.end()
	return eachOf(ctx, d, files, func(f dataFile) error {
		switch {
		case f.stdin:
			return cliargs.Usagef("standard input has no index beside it: a file is needed")
		case o.remove:
			return x.remove(ctx, f)
		case o.compare:
			return x.verify(ctx, f)
		}
		return x.write(ctx, f)
	})
}

// indexing is one run of the command.
type indexing struct {
	*reading
	o *indexOptions
}

// indexJSON is how --json shows what became of an index.
type indexJSON struct {
	Path    string `json:"path"`
	Index   string `json:"index"`
	State   string `json:"state"` // written, matches, removed, none, does not match, not readable
	Records int64  `json:"records,omitempty"`
}

// tell tells of the index of f, which is at end: a link may have led there.
func (x *indexing) tell(f dataFile, end transfer.End, state string, records int64) {
	index := indexEnd(end).Path
	j := indexJSON{f.text, localText(index), state, records}
	if dir, named := strings.CutSuffix(f.text, f.end.Path.Base()); named && f.end.Path == end.Path {
		j.Index = dir + index.Base()
	}
	if x.o.json {
		x.d.out.JSON(j) // an error shows when Out is flushed
		return
	}
	x.d.out.Printf("%-8s  %s\n", state, x.d.out.Name(j.Index))
}

// remove removes the index of f, which may be gone.
func (x *indexing) remove(ctx context.Context, f dataFile) error {
	end := f.end
	if there, _, err := followed(ctx, f.end, true); err == nil {
		end = there // else the file is gone, and its index may have stayed
	}
	e := indexEnd(end)
	state := "removed"
	err := e.FS.Remove(ctx, e.Path)
	if isMissing(err) {
		state, err = indexNone, nil
	}
	if err == nil {
		x.tell(f, end, state, 0)
	}
	return err
}

// verify compares the index of f with f.
func (x *indexing) verify(ctx context.Context, f dataFile) error {
	in, err := x.d.open(ctx, f, nil)
	if err != nil {
		return err
	}
	defer in.Close()
	index, err := x.d.readIndex(ctx, in)
	if err == nil {
		x.tell(f, in.end, indexUsed, index.Len())
		return nil
	}
	if x.o.json {
		x.tell(f, in.end, indexState(err), 0)
	}
	var e *pfs.Error
	if !errors.As(err, &e) {
		err = dataError{errNamed{localText(indexEnd(in.end).Path), err}, pfs.Integrity}
	}
	return hinted{err, x.d.out.Program + " recordio index " + shellWord(f.text) + " writes it"}
}

// errNamed puts a name before an error that has none.
type errNamed struct {
	name string
	err  error
}

func (e errNamed) Error() string { return e.name + ": " + e.err.Error() }
func (e errNamed) Unwrap() error { return e.err }

// write makes the index of f unless there is one that matches.
func (x *indexing) write(ctx context.Context, f dataFile) error {
	x.m.begin(f.text)
	defer x.m.finished()
	in, err := x.d.open(ctx, f, x.m)
	if err != nil {
		return err
	}
	defer in.Close()
	if index, state := x.d.indexBeside(ctx, in); state == indexUsed {
		x.m.add(in.size)
		x.tell(f, in.end, indexUsed, index.Len())
		return nil
	}
	index, err := recordio.BuildIndex(in, x.o.scan(f.text, nil))
	if err != nil {
		return x.d.foreignHint(in, err)
	}
	outs := x.d.newOutputs(ctx, true, nil)
	defer outs.Abort()
	if err := createIndex(outs, in.end, index); err != nil {
		return err
	}
	if err := outs.Publish(); err != nil {
		return err
	}
	x.tell(f, in.end, "written", index.Len())
	return nil
}
