package main

import (
	"context"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/recordio"
	"github.com/urfave/cli/v2"
)

func (d *deps) recordioVerifyCommand() *cli.Command {
	o := &readOptions{}
	var json bool
	return d.command(spec{
		name: "verify", args: "FILE...", least: 1, most: -1,
		summary: "check every record and checksum",
		text: `Reads files from their beginning to their end and checks everything that can be
checked. Prints one line for each file, and before it one for each damaged place:
the chunk, where it begins, what is wrong and what that costs. If anything is
damaged, the exit code is 7.

All damage is found; --on-damage fail stops at the first in each file, and salvage
tells how many records of damaged chunks could be saved.`,
		examples: []string{
			"paddlectl recordio verify '/pfs/dc1/home/alice/train-*'",
			"paddlectl recordio verify --json train-00000",
		},
		exits: pathExits(cliio.Integrity),
		flags: []cli.Flag{
			&cli.StringFlag{Name: "on-damage", Usage: "what to do after damage: `POLICY` fail, skip or salvage", Value: "skip", Destination: &o.damage},
			o.parallelFlag(), o.limitFlag(), quietFlag(&o.quiet), jsonFlag(&json),
		},
		run: func(ctx context.Context, operands []string) error {
			if err := o.check(); err != nil {
				return err
			}
			files, err := d.dataFiles(ctx, operands)
			if err != nil {
				return err
			}
			r := d.startReading(ctx, o, files, d.onScreen())
			defer r.m.end()
			v := &recordVerification{reading: r, json: json}
			return v.end(eachOf(ctx, d, files, func(f dataFile) error { return v.file(ctx, f) }))
		},
	})
}

// recordVerification is one run of the command.
type recordVerification struct {
	*reading
	json    bool
	damaged bool // a file is
}

// end makes the code: damage is Integrity, however many files are whole.
func (v *recordVerification) end(err error) error {
	switch {
	case !v.damaged:
		return err
	case err != nil:
		return cliio.Reported(cliio.Partly) // of several files, of which each failure was reported
	}
	return cliio.Reported(cliio.Integrity)
}

func (v *recordVerification) file(ctx context.Context, f dataFile) error {
	v.m.begin(f.text)
	defer v.m.finished()
	in, err := v.d.open(ctx, f, v.m)
	if err != nil {
		return err
	}
	defer in.Close()
	told := 0
	rep, err := recordio.Verify(in, v.o.scan(f.text, func(d recordio.Damage) {
		told++
		v.damage(f.text, d)
	}))
	if err != nil {
		return recordError(err)
	}
	if told < len(rep.Damage) {
		v.damage(f.text, rep.Damage[told]) // at which policy fail stopped
	}
	v.summary(f.text, rep)
	if len(rep.Damage) > 0 {
		if way := v.d.wayOut(v.d.foreignHint(in, rep.Damage[0].Err)); way != "" {
			v.d.hint(way)
		}
	}
	v.damaged = v.damaged || rep.Loss.Places > 0
	return nil
}

func (v *recordVerification) damage(name string, d recordio.Damage) {
	if v.json {
		v.d.out.JSON(struct {
			Event string `json:"event"` // "damage"
			damageJSON
		}{"damage", newDamageJSON(name, d)}) // an error shows when Out is flushed
		return
	}
	v.d.out.Printf("%s\n", v.d.out.Name(damageText(d)))
}

// reportJSON is how --json shows what verify found in a file.
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
	Unknown     int64    `json:"unknown"` // places of which nobody knows how many
	Saved       int64    `json:"saved"`
}

func (v *recordVerification) summary(name string, rep recordio.Report) {
	if v.json {
		v.d.out.JSON(reportJSON{
			Event: "file", Path: name, Whole: rep.Loss.Places == 0, Bytes: rep.Bytes, Dialect: rep.Dialect.String(),
			Compressors: compressorNames(rep.Compressors), Chunks: rep.Chunks, Records: rep.Records, RecordBytes: rep.RecordBytes,
			Damaged: rep.Loss.Places, Lost: rep.Loss.Records, Unknown: rep.Loss.Unknown, Saved: rep.Loss.Saved,
		}) // an error shows when Out is flushed
		return
	}
	text := "whole"
	if rep.Loss.Places > 0 {
		text = lossText(rep.Loss)
	}
	v.d.out.Printf("%s: %s in %s, %s: %s\n", v.d.out.Name(name), count(rep.Records, "record", "records"),
		count(rep.Chunks, "chunk", "chunks"), count(rep.Bytes, "byte", "bytes"), text)
}
