package recordio

import (
	"context"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/datafile"
	"github.com/paddlecloud/pfs/pfs/dataset/recordfile"
	"github.com/paddlecloud/pfs/recordio"
	"github.com/urfave/cli/v2"
)

func verifyCommand(a *app.App) *cli.Command {
	o, v := &datafile.ReadOptions{}, &recordVerification{}
	damage := o.DamageFlag("skip")
	damage.Usage = "what to do after damage: `POLICY` fail, skip or salvage"
	return a.NewCommand(app.Spec{
		Name: "verify", Args: "FILE...", Least: 1, Most: -1,
		Summary: "check every record and checksum",
		Text: `Reads whole files and checks everything that can be checked. Prints one line for each
file, and before it one for each damaged place: the chunk, its offset, what is wrong and
what is lost. If anything is damaged, the exit code is 7.

All damage is found. --on-damage fail stops at the first in each file; salvage also
counts the records of damaged chunks that could be saved.`,
		Examples: []string{
			"paddlectl recordio verify '/pfs/dc1/home/alice/train-*'",
			"paddlectl recordio verify --json train-00000",
		},
		Exits: app.PathExits(cliio.Integrity),
		Flags: []cli.Flag{
			damage, o.ParallelFlag(), o.LimitFlag(), app.QuietFlag(&o.Quiet), app.JSONFlag(&v.json),
		},
		Run: func(ctx context.Context, operands []string) error {
			return v.end(datafile.EachRead(ctx, a, o, operands, a.OnScreen(), func(r *datafile.Reading, f recordfile.File) error {
				v.Reading = r
				return v.file(ctx, f)
			}))
		},
	})
}

// recordVerification is one run of the command.
type recordVerification struct {
	*datafile.Reading
	json    bool
	damaged bool // a file is
}

// end decides the exit code: damage is Integrity, even if other files are intact.
func (v *recordVerification) end(err error) error {
	switch {
	case !v.damaged:
		return err
	case err != nil:
		return cliio.Reported(cliio.Partly) // of several files, of which each failure was reported
	}
	return cliio.Reported(cliio.Integrity)
}

func (v *recordVerification) file(ctx context.Context, f recordfile.File) error {
	v.M.Begin(f.Title)
	defer v.M.Finished()
	in, err := datafile.Open(ctx, v.App, f, v.M)
	if err != nil {
		return err
	}
	defer in.Close()
	told := 0
	rep, err := recordio.Verify(in, v.O.Scan(f.Title, func(d recordio.Damage) {
		told++
		v.damage(f.Title, d)
	}))
	if err != nil {
		return recordfile.RecordError(err)
	}
	if told < len(rep.Damage) {
		v.damage(f.Title, rep.Damage[told]) // at which policy fail stopped
	}
	v.summary(f.Title, rep)
	if len(rep.Damage) > 0 {
		if way := v.App.WayOut(datafile.WithHint(v.App, in.Explain(rep.Damage[0].Err))); way != "" {
			v.App.Hint(way)
		}
	}
	v.damaged = v.damaged || rep.Loss.Places > 0
	return nil
}

func (v *recordVerification) damage(name string, d recordio.Damage) {
	v.App.Show(v.json, damageJSON{
		Event: "damage", Path: name, Offset: d.Offset, Chunk: d.Err.Chunk, Bytes: d.Bytes, Lost: d.Lost, Saved: d.Saved,
		Error: d.Err.Error(), Kind: d.Err.Kind.Error(),
	}, "%s\n", v.App.Name(datafile.DamageText(d)))
}

// reportJSON is the report of verify about a file as --json prints it.
type reportJSON struct {
	Event       string   `json:"event"` // "file"
	Path        string   `json:"path"`
	Whole       bool     `json:"whole"`
	Bytes       int64    `json:"bytes"`
	Dialect     string   `json:"dialect"`
	Compressors []string `json:"compressors"`
	Chunks      int64    `json:"chunks"`
	Records     int64    `json:"records"`
	RecordBytes int64    `json:"record_bytes"`
	Damaged     int64    `json:"damaged"` // places
	Lost        int64    `json:"lost"`    // records, for certain
	Unknown     int64    `json:"unknown"` // places with an unknown number
	Saved       int64    `json:"saved"`
}

func (v *recordVerification) summary(name string, rep recordio.Report) {
	text := "whole"
	if rep.Loss.Places > 0 {
		text = datafile.LossText(rep.Loss)
	}
	v.App.Show(v.json, reportJSON{
		Event: "file", Path: name, Whole: rep.Loss.Places == 0, Bytes: rep.Bytes, Dialect: rep.Dialect.String(),
		Compressors: datafile.CompressorNames(rep.Compressors), Chunks: rep.Chunks, Records: rep.Records, RecordBytes: rep.RecordBytes,
		Damaged: rep.Loss.Places, Lost: rep.Loss.Records, Unknown: rep.Loss.Unknown, Saved: rep.Loss.Saved,
	}, "%s: %s in %s, %s: %s\n", v.App.Name(name), app.Count(rep.Records, "record", "records"),
		app.Count(rep.Chunks, "chunk", "chunks"), app.Count(rep.Bytes, "byte", "bytes"), text)
}

// damageJSON is how --json shows a damaged place.
type damageJSON struct {
	Event  string `json:"event"` // "damage"
	Path   string `json:"path"`
	Offset int64  `json:"offset"`
	Chunk  int64  `json:"chunk"`
	Bytes  int64  `json:"bytes"`  // skipped; -1 if unknown
	Lost   int64  `json:"lost"`   // records; -1 if unknown
	Saved  int64  `json:"saved"`  // records
	Error  string `json:"error"`  // the problem
	Kind   string `json:"damage"` // the kind of it
}
