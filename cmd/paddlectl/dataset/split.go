package dataset

import (
	"bytes"
	"cmp"
	"context"
	"path"
	"strings"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/datafile"
	"github.com/paddlecloud/pfs/pfs/dataset/payload"
	"github.com/paddlecloud/pfs/pfs/transfer"
	"github.com/paddlecloud/pfs/recordio"
	"github.com/paddlecloud/pfs/recordio/convert"
	"github.com/paddlecloud/pfs/split"
	"github.com/urfave/cli/v2"
)

type datasetSplitOptions struct {
	lineCount, numFiles  int64
	suffix, as, payload  string
	paddleCompat         bool
	force, quiet, asJSON bool
	damage               datafile.ReadOptions

	dir     string // the part of suffix before its last slash
	rule    split.Rule
	pattern split.Pattern
}

func datasetSplitCommand(a *app.App) *cli.Command {
	o := &datasetSplitOptions{}
	return a.NewCommand(app.Spec{
		Name: "split", Args: "DATASET...|FILE...", Least: 1, Most: -1,
		Summary: "write the records of a dataset to files, as split of PaddlePaddle",
		Text: `Writes the samples of datasets, or of files of RecordIO, to files of --line-count
each: as one pickled list a file, which cluster_files_reader reads, as RecordIO or
as JSON lines. The files get their names together. Pickles are read, never executed.

What is damaged ends the command with code 7. With --on-damage skip or salvage it is
named and left out, and the code is 8.`,
		Examples: []string{
			"paddlectl dataset split --line-count 500 --suffix ./uci_housing/train-%05d.pickle ./dataset",
			"paddlectl dataset split --num-files 8 --as recordio --suffix /pfs/dc1/home/alice/part-%05d-of-%05d big.recordio",
		},
		Exits: app.PathExits(cliio.Integrity),
		Flags: []cli.Flag{
			&cli.Int64Flag{Name: "line-count", Usage: "put `N` records into each file", DefaultText: "none", Destination: &o.lineCount},
			&cli.Int64Flag{Name: "num-files", Usage: "make `K` files, whose records differ by at most one", DefaultText: "none", Destination: &o.numFiles},
			&cli.StringFlag{Name: "suffix", Usage: "name the files by `PATTERN`, which has %05d for the number, and may have a directory", Value: "%05d.pickle", Destination: &o.suffix},
			&cli.StringFlag{Name: "as", Usage: "write files as `FORM`: pickle, recordio or json", Value: payload.Pickle, Destination: &o.as},
			payloadFlag(&o.payload),
			&cli.BoolFlag{Name: "paddle-compat", Usage: "cut as split of paddle.v2.dataset.common: the first file has one record more", Destination: &o.paddleCompat},
			o.damage.DamageFlag("fail"),
			app.ForceFlag(&o.force),
			app.QuietFlag(&o.quiet),
			app.JSONFlag(&o.asJSON),
		},
		Run: func(ctx context.Context, operands []string) error { return runDatasetSplit(ctx, a, o, operands) },
	})
}

// check makes the values of the flags what they stand for.
func (o *datasetSplitOptions) check() error {
	switch {
	case (o.lineCount > 0) == (o.numFiles > 0) || o.lineCount < 0 || o.numFiles < 0:
		return cliargs.Usagef("either --line-count or --num-files is needed, a number from 1 on")
	case o.paddleCompat && o.lineCount == 0:
		return cliargs.Usagef("--paddle-compat needs --line-count")
	case o.as != payload.Pickle && o.as != "recordio" && o.as != payload.JSON:
		return cliargs.Usagef("--as %s: pickle, recordio or json is needed", o.as)
	case o.payload != "" && o.as == "recordio":
		return cliargs.Usagef("--payload has no effect with --as recordio, which writes records as they are")
	case o.paddleCompat:
		o.rule = split.PaddleSplit(o.lineCount)
	case o.lineCount > 0:
		o.rule = split.Records(o.lineCount)
	default:
		o.rule = split.Files(int(o.numFiles))
	}
	if err := cmp.Or(checkPayload(o.payload), o.damage.CheckPolicy()); err != nil {
		return err
	}
	base := path.Base(o.suffix)
	o.dir = strings.TrimSuffix(o.suffix, base)
	if o.dir == "" {
		o.dir = "."
	}
	var err error
	if o.pattern, err = split.ParsePattern(base, split.OfCount); err != nil {
		return err
	}
	if o.damage.Policy != recordio.Fail && (o.pattern.HasTotal() || o.rule.NeedsCount()) {
		return cliargs.Usagef("--on-damage %s needs --line-count and a pattern without -of-: nobody knows beforehand how many records are lost", o.damage.Damage)
	}
	return nil
}

func runDatasetSplit(ctx context.Context, a *app.App, o *datasetSplitOptions, operands []string) error {
	if err := o.check(); err != nil {
		return err
	}
	_, files, err := datasetOrDamaged(ctx, a, operands, o.damage.Policy)
	if err != nil {
		return err
	}
	if o.payload == "" {
		if o.payload, err = datafile.PayloadOf(files); err != nil {
			return err
		}
	}
	if o.pattern.HasTotal() || o.rule.NeedsCount() {
		total, err := countRecords(ctx, a, files)
		if err != nil {
			return err
		}
		o.rule = o.rule.WithCount(total)
	}
	dir, err := datafile.OutputDir(ctx, a, o.dir)
	if err != nil {
		return err
	}
	s := &splitting{a: a, o: o, dir: dir, outs: datafile.NewOutputs(ctx, a, o.force, files)}
	s.reading = datafile.StartReading(ctx, a, &o.damage, files, o.quiet)
	defer s.reading.M.End()
	defer s.outs.Abort()
	return s.reading.End(s.run(ctx, files))
}

// countRecords returns the number of records in files, as the manifests say, or the
// headers where there is none.
func countRecords(ctx context.Context, a *app.App, files []datafile.File) (int64, error) {
	total := int64(0)
	for _, f := range files {
		if f.Stated != nil {
			total += f.Stated.Records
			continue
		}
		if f.Stdin {
			return 0, cliargs.Usagef("the number of records of standard input is not known: give --line-count and a pattern without -of-")
		}
		records, err := datafile.OpenRecordFile(ctx, a, f, &datafile.ReadOptions{})
		if err != nil {
			return 0, err
		}
		total += records.Len()
		if err := records.Close(); err != nil {
			return 0, err
		}
	}
	return total, nil
}

// splitting is one run of dataset split.
type splitting struct {
	a    *app.App
	o    *datasetSplitOptions
	dir  transfer.End
	outs *transfer.Outputs

	reading *datafile.Reading
}

func (s *splitting) run(ctx context.Context, files []datafile.File) error {
	w, err := split.NewWriter(s.o.rule, s.o.pattern, s.create)
	if err != nil {
		return err
	}
	if err := s.write(ctx, files, w.Write); err != nil {
		w.Abort(err)
		return err
	}
	plan, err := w.Close()
	if err != nil {
		return err
	}
	if err := s.outs.Publish(); err != nil {
		return err
	}
	if s.o.asJSON {
		return s.a.JSON(plan)
	}
	if !s.o.quiet {
		s.a.Message("%s in %s", app.Count(plan.Records(), "record", "records"), app.Count(int64(len(plan.Files)), "file", "files"))
	}
	return nil
}

// write gives all records to emit, in the form in which they are written.
func (s *splitting) write(ctx context.Context, files []datafile.File, emit func([]byte) error) error {
	defer s.reading.M.End()
	records := recordsOf(ctx, s.reading, files, -1)
	if s.o.as != "recordio" {
		note := func(n convert.Note) { s.a.Message("%v", n) }
		return transcoder{from: s.o.payload, to: s.o.as, note: note}.run(ctx, records, emit)
	}
	for rec, err := range records {
		if err == nil {
			err = emit(rec.data)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// create begins one file.
func (s *splitting) create(_ int, name string) (split.RecordWriter, error) {
	end := s.dir
	end.Path = end.Path.Join(name)
	text := app.InDir(s.o.dir, name)
	out, err := s.outs.Create(text, end)
	if err != nil {
		return nil, err
	}
	switch s.o.as {
	case payload.Pickle:
		_, err := out.Write([]byte(listBegin))
		return &pickledList{out}, err
	case payload.JSON:
		return &jsonLines{out}, nil
	}
	w := recordio.NewWriter(out, recordio.WriterOptions{Path: text, Compressor: recordio.Snappy, ChunkBytes: defaultChunkBytes})
	return &splitShard{out, w}, nil
}

// Before and behind the items of a pickled list of protocol 2, and around each item
// where it is a pickle of its own.
const (
	listBegin  = "\x80\x02]("
	listEnd    = "e."
	itemBegin  = "\x80\x02"
	itemEnd    = "."
	lineEnding = "\n"
)

// pickledList writes the pickles of protocol 2 that it is given, which use no memo,
// as the items of one list.
type pickledList struct{ *transfer.Output }

func (l *pickledList) Write(rec []byte) error {
	body := bytes.TrimSuffix(bytes.TrimPrefix(rec, []byte(itemBegin)), []byte(itemEnd))
	_, err := l.Output.Write(body)
	return err
}

func (l *pickledList) Close() error {
	if _, err := l.Output.Write([]byte(listEnd)); err != nil {
		return err
	}
	return l.Finish()
}

// jsonLines writes one value a line.
type jsonLines struct{ *transfer.Output }

func (l *jsonLines) Write(rec []byte) error {
	if _, err := l.Output.Write(rec); err != nil {
		return err
	}
	_, err := l.Output.Write([]byte(lineEnding))
	return err
}

func (l *jsonLines) Close() error { return l.Finish() }

// splitShard writes RecordIO.
type splitShard struct {
	out *transfer.Output
	*recordio.Writer
}

func (s *splitShard) Close() error {
	if err := s.Writer.Close(); err != nil {
		return err
	}
	return s.out.Finish()
}
