package dataset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/paddlecloud/pfs/internal/sorter"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/dataset/manifest"
	"github.com/paddlecloud/pfs/pfs/dataset/recordfile"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/transfer"
	"github.com/paddlecloud/pfs/recordio"
	"github.com/paddlecloud/pfs/recordio/convert"
	"github.com/paddlecloud/pfs/split"
)

// Result describes the dataset that a conversion has made, or would make with Options.DryRun.
type Result struct {
	*manifest.Manifest               // without shards in a dry run
	Stats              convert.Stats // what was read; zero if the dataset existed already
	Plan               split.Plan    // the shards of a dry run
	Kept               int           // shards that an earlier run finished
	Already            bool          // nothing was left to do
	EmptyRecords       int64         // records without a byte, which some readers take for the end of a file

	LeftOut int64         // files below directories that are not data
	Strays  string        // names the first of them; empty if there are none
	Loss    recordio.Loss // damage of inputs that are RecordIO
}

// Convert reads the inputs and writes their samples as records into shards and a manifest. All
// files get their names together, the manifest last: a set without one is not complete. The same
// inputs and options give the same bytes.
//
// A conversion that fails leaves the shards that it finished in the directory .NAME.convert
// beside the target, for Options.Resume.
func Convert(ctx context.Context, options Options) (*Result, error) {
	o, err := options.check()
	if err != nil {
		return nil, err
	}
	find := findInputs
	if o.Format == RecordsFormat {
		find = findRecords
	}
	in, err := find(ctx, o)
	if err != nil {
		return nil, err
	}
	defer in.close()
	if in.files == 0 && !o.AllowEmpty {
		var titles []string
		for _, operand := range o.Inputs {
			titles = append(titles, operand.Title)
		}
		return nil, &Error{Reason: Empty, Err: recordfile.WithKind(fmt.Errorf("there is no file in %s", strings.Join(titles, ", ")), pfs.Invalid)}
	}
	if o.mayBeMNIST() && in.mnist != nil {
		if err := in.mnist.check(); err != nil {
			return nil, err
		}
	}
	in.tellParts()
	c := &conversion{o: o, in: in, res: &Result{}}
	if err := c.prepare(ctx); err != nil {
		return nil, err
	}
	switch {
	case c.made != nil:
		err = c.already(ctx)
	case o.DryRun:
		err = c.rehearse(ctx)
	default:
		err = c.run(ctx)
	}
	if err != nil {
		return nil, err
	}
	return c.res, nil
}

// conversion is one call of Convert.
type conversion struct {
	o    *settings
	in   *inputs
	res  *Result
	set  *foundSet // existing files of a set of that name
	made *Dataset  // the existing set, if this conversion would make the same
	work *stagingDir
	outs *transfer.Outputs
	bad  *transfer.Output // nil: bad records are not collected

	stats   convert.Stats
	dirMade bool // by this run
}

// prepare checks the target and, with Resume, takes over what exists. A dry run makes no
// directory, and is refused whatever a real run would be refused.
func (c *conversion) prepare(ctx context.Context) error {
	dir := &c.o.Dir
	end, exists, err := lookAtDir(ctx, *dir)
	if err != nil {
		return err
	}
	*dir = end
	if c.o.DryRun {
		dir.FS = new(transfer.Rehearsal).FS(dir.FS)
	}
	if !exists {
		if err := dir.FS.Mkdir(ctx, dir.Path, 0o755); err != nil {
			return err
		}
	}
	c.dirMade = !exists && !c.o.DryRun
	if exists || c.dirMade {
		err = c.look(ctx)
	}
	if err == nil && c.o.DryRun && c.made == nil {
		err = dir.FS.Mkdir(ctx, c.stagingPath(), 0o755)
	}
	if err != nil {
		c.unmake(ctx)
	}
	return err
}

// lookAtDir follows a link to a directory for files, and refuses anything but a directory.
func lookAtDir(ctx context.Context, dir transfer.End) (_ transfer.End, exists bool, err error) {
	end, info, err := dir.Follow(ctx)
	switch {
	case isMissing(err):
		return dir, false, nil
	case err != nil:
		return dir, false, err
	case !info.IsDir():
		return dir, true, pfs.Errorf("dataset.Convert", dir.Path, pfs.NotDir, "several files need a directory")
	}
	return end, true, nil
}

// unmake removes the directory that a failed run has made, if it is empty.
func (c *conversion) unmake(ctx context.Context) {
	if !c.dirMade {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUpTime)
	defer cancel()
	_ = c.o.Dir.FS.Remove(ctx, c.o.Dir.Path) // if it fails, the directory is empty or in use
}

// look refuses existing files that would be replaced, and finds a run to resume.
func (c *conversion) look(ctx context.Context) (err error) {
	if c.set, err = findSet(ctx, c.o.Dir, c.o.Name); err != nil {
		return err
	}
	if err := c.lookAtSet(ctx); err != nil {
		return err
	}
	if c.work, err = openStaging(ctx, c); err != nil || c.made != nil {
		return err
	}
	if len(c.set.shards) > 0 && !c.o.Force && !c.work.resumed {
		return failure(ShardsExist, "dataset.Convert", c.o.Dir.Path.Join(c.set.shards[0]), pfs.Exist, "shards of that name exist, without a manifest")
	}
	return c.checkInputs(ctx)
}

// already reports the existing set, and removes leftovers of a run that was killed just before its
// end. A run at work, such as one that replaces the set, keeps them.
func (c *conversion) already(ctx context.Context) error {
	c.res.Manifest, c.res.Kept, c.res.Already = c.made.Manifest, len(c.made.Shards), true
	if c.o.DryRun || !c.work.resumed {
		return nil
	}
	if err := c.work.claim.take(ctx, c.o.Tell); err != nil && !isMissing(err) {
		return err
	}
	return c.work.remove(ctx)
}

// outputs begins the set of output files.
func (c *conversion) outputs(ctx context.Context) *transfer.Outputs {
	return transfer.NewOutputs(ctx, transfer.OutputOptions{
		Force: c.o.Force || c.work != nil && c.work.resumed, KeepParts: true, Algorithm: digest.BLAKE3, Stdout: c.o.Stdout,
	})
}

// run makes the shards and publishes them.
func (c *conversion) run(ctx context.Context) error {
	held, lost := context.WithCancel(ctx)
	defer lost()
	c.outs = c.outputs(held)
	sink := &shardSink{c: c, ctx: held}
	if err := c.work.begin(ctx, c.o.Tell, lost); err != nil {
		c.work.undo(ctx, err)
		c.unmake(ctx)
		return err
	}
	err := c.collect()
	if err == nil {
		err = c.convert(held, sink)
	}
	if err == nil {
		err = c.publish(held, sink)
	}
	if err != nil {
		c.outs.Abort()
		if gone := c.work.claim.held(ctx); errors.Is(gone, pfs.Conflict) {
			c.work.claim.rest()
			return gone // the cause of err, if there is one
		}
		c.work.leave(ctx, c.o.Tell, sink.done)
		c.unmake(ctx)
		return explain(err)
	}
	c.result(c.manifest(sink.shards))
	c.res.Kept, c.res.EmptyRecords = sink.kept, sink.empty
	return nil
}

// result records the totals of the conversion.
func (c *conversion) result(m *manifest.Manifest) {
	c.res.Manifest, c.res.Stats, c.res.LeftOut, c.res.Strays = m, c.stats, c.in.strays.count, c.in.strays.text()
	if c.in.records != nil {
		c.res.Loss = c.in.records.loss
	}
}

// collect begins the file of bad records.
func (c *conversion) collect() (err error) {
	if c.o.BadFile == nil {
		return nil
	}
	if c.bad, err = c.outs.Create("--bad-file", *c.o.BadFile); err == nil {
		c.o.convert.Bad.Collect = c.collectBad
	}
	return err
}

// collectBad writes one line of the file of bad records.
func (c *conversion) collectBad(bad *convert.RecordError, record []byte) error {
	text, err := json.Marshal(bad.Describe(record))
	if err == nil {
		_, err = c.bad.Write(append(text, '\n'))
	}
	return err
}

// convert reads all inputs into sink, through the steps that must know all records first.
func (c *conversion) convert(ctx context.Context, sink recordSink) (err error) {
	c.in.meter = c.o.startMeter(c.in.bytes, int(c.in.files))
	defer c.in.meter.End()
	switch {
	case c.o.Shuffle:
		err = c.kept(ctx, sink, sorter.NewShuffler(c.o.Seed, int(c.o.ShuffleMemory)))
	case c.o.rule.NeedsCount():
		err = c.kept(ctx, sink, sorter.NewQueue(queueMemory))
	default:
		if err = sink.begin(c.o.rule); err == nil {
			err = c.read(ctx, sink.Write)
		}
	}
	return sink.end(err)
}

// queueMemory is the memory for records that wait until their number is known.
const queueMemory = 1 << 20

// kept passes all records to s and then, when their number is known, from s to sink.
func (c *conversion) kept(ctx context.Context, sink recordSink, s *sorter.Shuffler) (err error) {
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := c.read(ctx, s.Add); err != nil {
		return err
	}
	rule := c.o.rule
	if rule.NeedsCount() {
		rule = rule.WithCount(c.stats.Records)
	}
	if err := sink.begin(rule); err != nil {
		return err
	}
	return s.Each(func(payload []byte) error {
		if err := pfs.CheckContext(ctx, "dataset.Convert", ""); err != nil {
			return err
		}
		return sink.Write(payload)
	})
}

// read passes the payloads of all records to emit.
func (c *conversion) read(ctx context.Context, emit func(payload []byte) error) (err error) {
	if c.in.records != nil {
		err = c.readRecords(ctx, emit)
	} else {
		c.stats, err = convert.Run(ctx, c.in.sources(c.o.mayBeMNIST()), c.o.convert, emit)
	}
	if err == nil && c.stats.Records == 0 && !c.o.AllowEmpty {
		err = &Error{Reason: Empty, Err: errors.New("the input has no records")}
	}
	return err
}

// manifest returns the manifest of the new set.
func (c *conversion) manifest(shards []manifest.Shard) *manifest.Manifest {
	m := &manifest.Manifest{
		Format: manifest.Format, Version: manifest.Version, Name: c.o.Name,
		Payload: c.payload(), Of: c.o.ofText(), Source: c.stats.Format,
		Inputs: c.in.list(), Options: c.o.ofBytes(), Columns: c.columns(), Classes: c.classes(), Notes: c.notes(), Bad: c.stats.Bad, Shards: shards,
	}
	m.Sum()
	return m
}

// classes returns the labels of images, or those of the datasets that are read.
func (c *conversion) classes() []string {
	if c.in.records == nil && c.stats.Format != imagesName {
		return nil
	}
	return c.in.labels
}

// columns returns the columns of a table, of Parquet or of arrays.
func (c *conversion) columns() (list []manifest.Column) {
	if c.in.records != nil {
		return c.in.records.columns
	}
	for _, col := range c.stats.Columns {
		list = append(list, manifest.Column{Name: col.Name, Type: col.Type, Label: col.Label})
	}
	return list
}

// notes returns the notes of the conversion, and those of the datasets that it reads. They are
// sorted, because workers find them in any order.
func (c *conversion) notes() (list []string) {
	if c.in.records != nil {
		list = slices.Clone(c.in.records.notes)
	}
	for _, n := range c.stats.Notes {
		list = append(list, n.Text)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// publish gives all files their names, the manifest last.
func (c *conversion) publish(ctx context.Context, sink *shardSink) error {
	shards, err := sink.name()
	if err != nil {
		return err
	}
	text, err := manifest.Encode(c.manifest(shards))
	if err != nil {
		return err
	}
	if c.bad != nil {
		if err := c.bad.Finish(); err != nil {
			return err
		}
	}
	if err := c.again(ctx); err != nil {
		return err
	}
	if err := c.set.withdraw(ctx, shards); err != nil {
		return err
	}
	name := manifest.FileName(c.o.Name)
	out, err := c.outs.Create(name, transfer.End{FS: c.o.Dir.FS, Path: c.o.Dir.Path.Join(name)})
	if err != nil {
		return err
	}
	if _, err := out.Write(text); err != nil {
		return err
	}
	if err := out.Finish(); err != nil {
		return err
	}
	if err := c.outs.Publish(); err != nil {
		return err
	}
	return c.work.remove(ctx)
}

// again checks once more for a set in the way, since another run may have been faster, and finds
// the files of that set to remove.
func (c *conversion) again(ctx context.Context) error {
	if err := c.work.claim.held(ctx); err != nil {
		return err
	}
	set, err := findSet(ctx, c.o.Dir, c.o.Name)
	if err != nil {
		return err
	}
	if !c.o.Force && (set.manifest || len(set.shards) > 0 && !c.work.resumed) {
		return failure(Exists, "dataset.Convert", c.o.Dir.Path, pfs.Exist, "a dataset %q was made here in the meantime", c.o.Name)
	}
	c.set = set
	return nil
}

// explain gives an error of a conversion its Kind.
func explain(err error) error {
	if p, ok := errors.Unwrap(err).(*pfs.Error); ok && p.Path != "" && !errors.As(err, new(*Error)) {
		err = p // it names the input better than package convert does
	}
	return recordfile.ConvertError(recordfile.RecordError(err))
}

// rehearse reads everything and finds out which shards it would make.
func (c *conversion) rehearse(ctx context.Context) error {
	if c.o.BadFile != nil {
		if err := c.outputs(ctx).Rehearse("--bad-file", *c.o.BadFile); err != nil {
			return err
		}
	}
	s := &countingSink{pattern: c.o.pattern}
	if err := c.convert(ctx, s); err != nil {
		return explain(err)
	}
	c.result(c.manifest(nil))
	c.res.Plan, c.res.Records, c.res.Bytes = s.plan, c.stats.Records, c.stats.Payload
	return nil
}
