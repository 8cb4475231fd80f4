package recordio

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/datafile"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/dataset/recordfile"
	"github.com/paddlecloud/pfs/pfs/transfer"
	"github.com/paddlecloud/pfs/recordio"
	"github.com/paddlecloud/pfs/split"
	"github.com/urfave/cli/v2"
)

// splitOptions are the choices of split and reshard.
type splitOptions struct {
	datafile.ReadOptions
	writeOptions

	needed            string // the flags of which one is needed, for messages
	dir, name, of     string
	records           int64
	bytes             cliio.SizeFlag
	files, roundRobin int
	paddle            bool
	json              bool

	rule    split.Rule
	pattern split.Pattern
}

func splitCommand(a *app.App) *cli.Command {
	o := &splitOptions{needed: "one of --records, --bytes, --files and --round-robin"}
	return a.NewCommand(app.Spec{
		Name: "split", Args: "FILE...", Least: 1, Most: -1,
		Summary: "distribute records over several files",
		Text: `Distributes the records of all files, one file after the other, over new files in a
directory, which is made if it is missing. One of --records, --bytes, --files and
--round-robin is needed. The files appear together when all are complete.

--paddle-compat makes the files of the older convert of PaddlePaddle: the first file has
one record more than --records, and the last one may be empty.`,
		Examples: []string{
			"paddlectl recordio split --records 10000 --output-path shards train",
			"paddlectl recordio split --files 16 --name 'train-%05d-of-%05d' --output-path /pfs/dc1/home/alice/set train",
		},
		Exits: app.PathExits(cliio.Integrity),
		Flags: o.flags(
			&cli.Int64Flag{Name: "records", Usage: "put `N` records into each file, and the rest into the last", DefaultText: "none", Destination: &o.records},
			&cli.GenericFlag{Name: "bytes", Usage: "put at most `SIZE` of records into each file", Value: &o.bytes},
			&cli.IntFlag{Name: "files", Usage: "make `K` files of consecutive records, whose numbers differ by at most one", DefaultText: "none", Destination: &o.files},
			&cli.IntFlag{Name: "round-robin", Usage: "make `K` files with record i in file i mod K; holds a chunk of each in memory", DefaultText: "none", Destination: &o.roundRobin},
			&cli.BoolFlag{Name: "paddle-compat", Usage: "with --records: cut and number like PaddlePaddle", Destination: &o.paddle},
		),
		Run: func(ctx context.Context, operands []string) error { return splitRecords(ctx, a, o, operands) },
	})
}

// flags returns rules and the flags that split and reshard share.
func (o *splitOptions) flags(rules ...cli.Flag) []cli.Flag {
	flags := append(rules,
		&cli.StringFlag{Name: "output-path", Usage: "make the files in the directory `DIR`", Destination: &o.dir},
		&cli.StringFlag{Name: "name", Usage: "name the files by `PATTERN`, with %05d for the number or %05d-of-%05d; by default the name of the first input and -%05d, or that of its set and -%05d-of-%05d", Destination: &o.name},
		&cli.GenericFlag{Name: "of", Usage: "number after -of-: the `count` of files or the number of the last one (last, as with --paddle-compat)", Value: cliargs.OneOf(&o.of, "count", "last")},
	)
	flags = append(flags, o.writeOptions.flags()...)
	return append(append(flags, o.ReadOptions.Flags("fail")...), app.JSONFlag(&o.json))
}

// check refuses invalid options, and makes the rule.
func (o *splitOptions) check() error {
	if err := cmp.Or(o.ReadOptions.Check(), o.writeOptions.check()); err != nil {
		return err
	}
	given := o.given()
	switch {
	case o.dir == "":
		return cliargs.Usagef("--output-path is needed: the directory to make the files in")
	case len(given) == 0:
		return cliargs.Usagef("%s is needed", o.needed)
	case len(given) > 1:
		return cliargs.Usagef("%s exclude each other", strings.Join(given, " and "))
	case o.paddle && o.records == 0:
		return cliargs.Usagef("--paddle-compat needs --records")
	case o.paddle:
		o.rule = split.PaddleConvert(o.records)
	case o.records != 0:
		o.rule = split.Records(o.records)
	case o.bytes.Given:
		o.rule = split.Bytes(o.bytes.Bytes)
	case o.files != 0:
		o.rule = split.Files(o.files)
	default:
		o.rule, o.Parallel = split.RoundRobin(o.roundRobin), 1
	}
	return nil
}

// given lists the flags that say how to distribute records.
func (o *splitOptions) given() []string {
	var given []string
	for _, f := range []struct {
		name string
		on   bool
	}{{"--records", o.records != 0}, {"--bytes", o.bytes.Given}, {"--files", o.files != 0}, {"--round-robin", o.roundRobin != 0}} {
		if f.on {
			given = append(given, f.name)
		}
	}
	return given
}

// parse reads the pattern of names; first is the first input.
func (o *splitOptions) parse(first recordfile.File) error {
	name := o.name
	if name == "" && first.Stream != nil {
		return cliargs.Usagef("--name is needed: standard input has none")
	}
	if name == "" {
		name = namedAfter(first.End.Path.Base())
	}
	of := split.OfCount
	if o.of == "last" || o.of == "" && o.paddle {
		of = split.OfLast
	}
	var err error
	if o.pattern, err = split.ParsePattern(name, of); err != nil {
		return err
	}
	if strings.Contains(name, "/") {
		return cliargs.Usagef("--name %s: a name without a directory is needed: --output-path sets the directory", name)
	}
	return nil
}

// shardName matches the name of a file of a set: its number and the count of files.
var shardName = regexp.MustCompile(`(?s)^(.*)-\d{5,18}-of-\d{5,18}(\.[^.]*)?$`)

// namedAfter returns the pattern for files that are made from the file base, and perhaps others.
// From a shard of a set it takes the name of the set, without the number of the shard.
func namedAfter(base string) string {
	if m := shardName.FindStringSubmatch(base); m != nil {
		return split.Escape(m[1]) + "-%05d-of-%05d" + split.Escape(m[2])
	}
	ext := path.Ext(base)
	return split.Escape(strings.TrimSuffix(base, ext)) + "-%05d" + split.Escape(ext)
}

// splitRecords implements split and reshard.
func splitRecords(ctx context.Context, a *app.App, o *splitOptions, operands []string) error {
	if err := o.check(); err != nil {
		return err
	}
	files, err := datafile.List(ctx, a, operands)
	if err != nil {
		return err
	}
	if err := o.parse(files[0]); err != nil {
		return err
	}
	if err := countFirst(ctx, a, o, files); err != nil {
		return err
	}
	outs := datafile.NewOutputs(ctx, a, o.force, files)
	defer outs.Abort()
	s := &splitter{o: o, outs: outs, id: pfs.NewID()}
	w, err := split.NewWriter(o.rule, o.pattern, s.create)
	if err != nil {
		return err
	}
	if s.dir, err = datafile.OutputDir(ctx, a, o.dir); err != nil {
		return err
	}
	r := datafile.StartReading(ctx, a, &o.ReadOptions, files, false)
	defer r.M.End()
	if err := s.run(ctx, r, files, w); err != nil {
		return err
	}
	if err := outs.Publish(); err != nil {
		return err
	}
	r.M.End()
	s.tell(a)
	return r.End(nil)
}

// countFirst counts the records if the rule or the names need the count first. The headers hold
// it, unless damage is skipped.
func countFirst(ctx context.Context, a *app.App, o *splitOptions, files []recordfile.File) error {
	if !o.rule.NeedsCount() && !o.pattern.HasTotal() {
		return nil
	}
	total := int64(0)
	for _, f := range files {
		n, err := countRecordFile(ctx, a, o, f)
		if errors.Is(err, errUncounted) && !o.rule.NeedsCount() {
			return nil // the files are named in the end
		}
		if err != nil {
			return err
		}
		total += n
	}
	o.rule = o.rule.WithCount(total)
	return nil
}

// errUncounted reports that records can be counted only by reading them.
var errUncounted = errors.New("the number of records must be known before they are read: " +
	"use --round-robin, or a file in place of standard input")

func countRecordFile(ctx context.Context, a *app.App, o *splitOptions, f recordfile.File) (n int64, err error) {
	switch {
	case f.Stream != nil:
		return 0, recordfile.WithKind(errUncounted, pfs.Invalid)
	case o.Policy() != recordio.Fail:
		err := count(ctx, datafile.NewReading(a, &o.ReadOptions, nil), f, &n)
		return n, err
	}
	r, err := datafile.OpenRecords(ctx, a, f, &o.ReadOptions)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	return r.Len(), nil
}

// count counts the readable records. It does not report damage: the second reading does.
func count(ctx context.Context, r *datafile.Reading, f recordfile.File, n *int64) error {
	in, err := datafile.Open(ctx, r.App, f, nil)
	if err != nil {
		return err
	}
	defer in.Close()
	s := recordio.NewScanner(in, r.O.Scan(f.Title, nil))
	defer s.Close()
	for s.Scan() {
		*n++
	}
	return recordfile.RecordError(s.Err())
}

func reshardCommand(a *app.App) *cli.Command {
	o := &splitOptions{needed: "--files"}
	return a.NewCommand(app.Spec{
		Name: "reshard", Args: "FILE...", Least: 1, Most: -1,
		Summary: "distribute the records of N files over K files",
		Text: `Distributes the records of all files, one file after the other, over --files new
files of consecutive records whose numbers differ by at most one. The files appear
together when all are complete. The old files stay.`,
		Examples: []string{"paddlectl recordio reshard --files 8 --output-path eight --name 'train-%05d-of-%05d' old/train-*"},
		Exits:    app.PathExits(cliio.Integrity),
		Flags: o.flags(
			&cli.IntFlag{Name: "files", Usage: "make `K` files", DefaultText: "none", Destination: &o.files},
		),
		Run: func(ctx context.Context, operands []string) error { return splitRecords(ctx, a, o, operands) },
	})
}

// splitter writes the files of one set.
type splitter struct {
	o      *splitOptions
	outs   *transfer.Outputs
	dir    transfer.End
	id     string // of files whose names are unknown yet
	source recordio.Compressor
	files  []*recordOutput
}

// run reads all records and completes all files.
func (s *splitter) run(ctx context.Context, r *datafile.Reading, files []recordfile.File, w *split.Writer) error {
	err := copyRecords(ctx, r, files, func(rec []byte, source recordio.Compressor) error {
		s.source = source
		return w.Write(rec)
	})
	if err != nil {
		w.Abort(err)
		return err
	}
	plan, err := w.Close()
	if err != nil {
		return err
	}
	for i, f := range s.files {
		if f.out.IsPart() {
			err = f.out.Name(s.place(plan.Files[i].Name))
		}
		if err = cmp.Or(err, f.writeIndex()); err != nil {
			return err
		}
	}
	return nil
}

// create begins file i of the set; see split.Create.
func (s *splitter) create(i int, name string) (split.RecordWriter, error) {
	var out *transfer.Output
	var err error
	if name == "" {
		out, err = s.outs.CreatePart(transfer.End{FS: s.dir.FS, Path: s.dir.Path.Join(fmt.Sprintf(".%s-%05d.part", s.id, i))})
	} else {
		out, err = s.outs.Create(s.place(name))
	}
	if err != nil {
		return nil, err
	}
	f := &recordOutput{outs: s.outs, o: &s.o.writeOptions, out: out, parallel: s.o.Parallel}
	s.files = append(s.files, f)
	return splitFile{s, f}, nil
}

// place returns where the file of that name belongs.
func (s *splitter) place(name string) (string, transfer.End) {
	return app.InDir(s.o.dir, name), transfer.End{FS: s.dir.FS, Path: s.dir.Path.Join(name)}
}

// splitFile is a recordOutput for package split.
type splitFile struct {
	s *splitter
	f *recordOutput
}

func (f splitFile) Write(rec []byte) error { return f.f.write(rec, f.s.source) }

func (f splitFile) Close() error { return f.f.close() }

// tell prints the result.
func (s *splitter) tell(a *app.App) {
	var sum writtenJSON
	for _, f := range s.files {
		j := f.written()
		if s.o.json {
			a.JSON(j) // an error shows when Out is flushed
		}
		sum.Records, sum.Chunks, sum.Bytes = sum.Records+j.Records, sum.Chunks+j.Chunks, sum.Bytes+j.Bytes
	}
	if !s.o.json && !s.o.Quiet {
		a.Message("%s: %s in %s, %s", s.o.dir, app.Count(sum.Records, "record", "records"),
			app.Count(int64(len(s.files)), "file", "files"), cliio.Size(sum.Bytes))
	}
}
