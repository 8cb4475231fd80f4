package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/recordio"
	"github.com/urfave/cli/v2"
)

// readOptions are what all commands that read records have in common.
type readOptions struct {
	damage   string
	policy   recordio.Policy
	parallel int
	maxChunk cliio.SizeFlag
	quiet    bool
}

// limitFlag is --max-chunk of all commands that look into chunks.
func (o *readOptions) limitFlag() cli.Flag {
	return &cli.GenericFlag{Name: "max-chunk", Usage: "refuse chunks of more than `SIZE`, stored or decompressed; 256M without it", Value: &o.maxChunk}
}

// flags are the flags of the commands that read files from their beginning to their
// end. policy is what they do with damage if not told otherwise.
func (o *readOptions) flags(policy string) []cli.Flag {
	return []cli.Flag{
		o.damageFlag(policy),
		o.parallelFlag(),
		o.limitFlag(),
		quietFlag(&o.quiet),
	}
}

func (o *readOptions) damageFlag(policy string) cli.Flag {
	return &cli.StringFlag{Name: "on-damage", Usage: "what to do with damage: `POLICY` fail, skip (leave out the chunk) or salvage (keep of it what can be proven right)", Value: policy, Destination: &o.damage}
}

func (o *readOptions) parallelFlag() cli.Flag {
	return &cli.IntFlag{Name: "parallel", Aliases: []string{"j", "jobs"}, Usage: "decompress, and compress, with `N` goroutines", DefaultText: "the processors", Destination: &o.parallel}
}

// check refuses values that cannot be meant.
func (o *readOptions) check() error {
	if err := o.checkPolicy(); err != nil {
		return err
	}
	if o.parallel < 0 || o.parallel > 256 {
		return cliargs.Usagef("--parallel %d: a number from 1 to 256 is needed", o.parallel)
	}
	if o.parallel == 0 {
		o.parallel = runtime.GOMAXPROCS(0)
	}
	if o.maxChunk.Given && o.maxChunk.Bytes < 1 {
		return cliargs.Usagef("--max-chunk 0: at least one byte is needed")
	}
	return nil
}

func (o *readOptions) checkPolicy() error {
	policies := map[string]recordio.Policy{"": recordio.Fail, "fail": recordio.Fail, "skip": recordio.Skip, "salvage": recordio.Salvage}
	var known bool
	if o.policy, known = policies[o.damage]; !known {
		return cliargs.Usagef("--on-damage %s: fail, skip or salvage is needed", o.damage)
	}
	return nil
}

// scan returns the options as package recordio knows them.
func (o *readOptions) scan(name string, told func(recordio.Damage)) recordio.ScanOptions {
	return recordio.ScanOptions{
		Path: name, Policy: o.policy, Parallelism: o.parallel, MaxChunkBytes: o.maxChunk.Bytes, OnDamage: told,
	}
}

// reading is one run of a command that reads records.
type reading struct {
	d    *deps
	o    *readOptions
	m    *meter
	loss recordio.Loss // of all files

	silent bool // damage is neither told nor counted: it was
}

// startReading begins to read files, which may be none yet.
func (d *deps) startReading(ctx context.Context, o *readOptions, files []dataFile, quiet bool) *reading {
	return &reading{d: d, o: o, m: d.startMeter(quiet || o.quiet, sizeOf(ctx, files), len(files))}
}

// each calls fn with a scanner of f, which fn need not close.
func (r *reading) each(ctx context.Context, f dataFile, fn func(*recordio.Scanner) error) error {
	r.m.begin(f.text)
	defer r.m.finished()
	in, err := r.d.open(ctx, f, r.m)
	if err != nil {
		return err
	}
	defer in.Close()
	s := recordio.NewScanner(in, r.o.scan(f.text, r.told))
	defer func() {
		s.Close()
		r.add(s.Loss())
	}()
	return r.d.foreignHint(in, fn(s))
}

// told tells of a damaged place.
func (r *reading) told(d recordio.Damage) {
	if !r.silent {
		r.d.out.Message("%s", damageText(d))
	}
}

func (r *reading) add(l recordio.Loss) {
	if r.silent {
		return
	}
	r.loss.Places += l.Places
	r.loss.Bytes += l.Bytes
	r.loss.Records += l.Records
	r.loss.Saved += l.Saved
	r.loss.Unknown += l.Unknown
}

// records calls fn with every record of f, which is valid during the call.
func (r *reading) records(ctx context.Context, f dataFile, fn func(rec []byte) error) error {
	return r.each(ctx, f, func(s *recordio.Scanner) error {
		for s.Scan() {
			if err := fn(s.Bytes()); err != nil {
				return err
			}
		}
		return recordError(s.Err())
	})
}

// end says what was lost; the code of a run that has lost records, or may have, is
// Partly.
func (r *reading) end(err error) error {
	r.m.end()
	if err != nil || r.loss.Places == 0 {
		return err
	}
	r.d.out.Message("%s", lossText(r.loss))
	if r.loss.Records == 0 && r.loss.Unknown == 0 {
		return nil
	}
	return cliio.Reported(cliio.Partly)
}

// damageText says where bytes are not what was written and what that costs.
func damageText(d recordio.Damage) string {
	text := d.Err.Error()
	if d.Bytes >= 0 {
		text += fmt.Sprintf(": %s passed over", count(d.Bytes, "byte", "bytes"))
	}
	switch {
	case d.Lost < 0 && d.Bytes >= 0:
		text += ", how many records they held is not known"
	case d.Lost >= 0:
		text += fmt.Sprintf(", %s lost", count(d.Lost, "record", "records"))
	}
	if d.Saved > 0 {
		text += fmt.Sprintf(", %d saved", d.Saved)
	}
	return text
}

// lossText sums up damage.
func lossText(l recordio.Loss) string {
	text := fmt.Sprintf("%s: %s lost", count(l.Places, "damaged place", "damaged places"), count(l.Records, "record", "records"))
	if l.Unknown > 0 {
		text += fmt.Sprintf(" for certain, and at %s nobody knows how many", count(l.Unknown, "place", "places"))
	}
	if l.Saved > 0 {
		text += fmt.Sprintf(", %d saved", l.Saved)
	}
	return text
}

// damageJSON is how --json shows a damaged place.
type damageJSON struct {
	Path   string `json:"path"`
	Offset int64  `json:"offset"`
	Chunk  int64  `json:"chunk"`
	Bytes  int64  `json:"bytes"`  // passed over; -1 not known
	Lost   int64  `json:"lost"`   // records; -1 not known
	Saved  int64  `json:"saved"`  // records
	Error  string `json:"error"`  // what is wrong
	Kind   string `json:"damage"` // the kind of it
}

func newDamageJSON(name string, d recordio.Damage) damageJSON {
	return damageJSON{
		Path: name, Offset: d.Offset, Chunk: d.Err.Chunk, Bytes: d.Bytes, Lost: d.Lost, Saved: d.Saved,
		Error: d.Err.Error(), Kind: d.Err.Kind.Error(),
	}
}

// compressorNames lists names for messages, each once, in the order of their values.
func compressorNames(has map[recordio.Compressor]int64) []string {
	names := []string{}
	for _, c := range recordio.Compressors() {
		if has[c] > 0 {
			names = append(names, c.String())
		}
	}
	return names
}

// copyRecords passes the records of all files to write, with the compressor of the
// chunk that they are in. It ends with the first file that fails, and fails if damage leaves
// no record at all.
func (r *reading) copyRecords(ctx context.Context, files []dataFile, write func(rec []byte, source recordio.Compressor) error) error {
	none := true
	for _, f := range files {
		err := r.each(ctx, f, func(s *recordio.Scanner) error {
			for s.Scan() {
				none = false
				if err := write(s.Bytes(), s.Chunk().Compressor); err != nil {
					return err
				}
			}
			return recordError(s.Err())
		})
		if err != nil {
			return err
		}
	}
	if none && r.loss.Places > 0 {
		return dataError{errors.New("no record can be read: nothing is written"), pfs.Integrity}
	}
	return nil
}
