package dataset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/datafile"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/dataset/manifest"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/transfer"
	"github.com/paddlecloud/pfs/recordio/convert"
	"github.com/paddlecloud/pfs/split"
)

// conversion is one run of dataset convert.
type conversion struct {
	a     *app.App
	o     *convertOptions
	in    *datasetInputs
	dir   transfer.End // for the shards
	set   *foundSet    // what is there of a set of that name
	made  *dataset     // that set, if it is what would be made
	work  *stagingDir
	outs  *transfer.Outputs
	bad   *badFile // nil: bad records are not collected
	start time.Time
	stats convert.Stats

	dirMade bool // by this run
}

// newConversion looks at the target and takes up, with --resume, what is there. A dry
// run makes no directory, and is refused what the run would be.
func newConversion(ctx context.Context, a *app.App, o *convertOptions, in *datasetInputs) (*conversion, error) {
	c := &conversion{a: a, o: o, in: in, start: a.Now()}
	t, err := datafile.LookAtDir(ctx, a, o.outputPath)
	if c.dir = t.End; err != nil {
		return nil, err
	}
	if o.dryRun {
		t.End.FS = new(transfer.Rehearsal).FS(t.End.FS)
	}
	if err := datafile.MakeDir(ctx, a, t); err != nil {
		return nil, err
	}
	c.dirMade = !t.Exists && !o.dryRun
	if t.Exists || c.dirMade {
		err = c.look(ctx)
	}
	if err == nil && o.dryRun && c.made == nil {
		err = t.End.FS.Mkdir(ctx, c.stagingPath(), 0o755)
	}
	if err != nil {
		c.unmake(ctx)
		return nil, err
	}
	return c, nil
}

// unmake removes the directory that a run which failed has made, if nothing is in it.
func (c *conversion) unmake(ctx context.Context) {
	if !c.dirMade {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), datafile.CleanUpTime)
	defer cancel()
	c.dir.FS.Remove(ctx, c.dir.Path) // one that stays is empty, or has what is to stay
}

// look refuses what is in the way, and finds what can be gone on with.
func (c *conversion) look(ctx context.Context) (err error) {
	if c.set, err = findSet(ctx, c.dir, c.o.namePrefix); err != nil {
		return err
	}
	if err := c.lookAtSet(ctx); err != nil {
		return err
	}
	if c.work, err = openStaging(ctx, c); err != nil || c.made != nil {
		return err
	}
	if len(c.set.shards) > 0 && !c.o.force && !c.work.resumed {
		return app.WithHint(pfs.Errorf("paddlectl.convert", c.dir.Path.Join(c.set.shards[0]), pfs.Exist, "shards of that name exist, without a manifest"),
			"--force replaces them")
	}
	return c.checkInputs(ctx)
}

// run makes the shards and publishes them.
func (c *conversion) run(ctx context.Context) error {
	held, lost := context.WithCancel(ctx)
	defer lost()
	opts := datafile.OutputOptions(held, c.a, c.o.force || c.work.resumed, nil)
	opts.KeepParts, opts.Algorithm = true, digest.BLAKE3
	c.outs = transfer.NewOutputs(held, opts)
	sink := &shardSink{c: c, ctx: held}
	if err := c.work.begin(ctx, c.a.Message, lost); err != nil {
		return err
	}
	err := c.collect(held)
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
			return gone // which is why err came, or makes no difference
		}
		c.work.leave(ctx, c.a, sink.done)
		c.unmake(ctx)
		return c.explain(err)
	}
	return c.tell(sink)
}

// collect begins the file of bad records.
func (c *conversion) collect(ctx context.Context) error {
	if c.o.badFile == "" {
		return nil
	}
	end, err := datafile.OutputEnd(ctx, c.a, c.o.badFile)
	if err != nil {
		return err
	}
	out, err := c.outs.Create(c.o.badFile, end)
	if err != nil {
		return err
	}
	c.bad = &badFile{out: out}
	c.o.options.Bad.Collect = c.bad.collect
	return nil
}

// convert reads all inputs into sink, through what has to know all records first.
func (c *conversion) convert(ctx context.Context, sink recordSink) (err error) {
	c.in.meter = c.a.StartMeter(c.o.quiet, c.in.bytes, int(c.in.files))
	defer c.in.meter.End()
	switch {
	case c.o.shuffle:
		err = c.shuffled(ctx, sink)
	case c.o.rule.NeedsCount():
		err = c.counted(ctx, sink)
	default:
		if err = sink.begin(c.o.rule); err == nil {
			err = c.read(ctx, sink.Write)
		}
	}
	return sink.end(err)
}

// read gives the payloads of all records to emit.
func (c *conversion) read(ctx context.Context, emit func(payload []byte) error) (err error) {
	if c.in.records != nil {
		err = c.readRecords(ctx, emit)
	} else {
		c.stats, err = convert.Run(ctx, c.in.sources(c.o.mayBeMNIST()), c.o.options, emit)
	}
	if err == nil && c.stats.Records == 0 && !c.o.allowEmpty {
		err = app.WithHint(errors.New("the input has no records"), "--allow-empty makes an empty dataset")
	}
	return err
}

// shuffled brings the records into a random order.
func (c *conversion) shuffled(ctx context.Context, sink recordSink) (err error) {
	s := convert.NewShuffler(c.o.seed, int(c.o.shuffleMemory.Bytes), newSpill)
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := c.read(ctx, s.Add); err != nil {
		return err
	}
	if err := sink.begin(c.countedRule(c.stats.Records)); err != nil {
		return err
	}
	return s.Each(interruptibly(ctx, sink.Write))
}

// counted keeps the records in a temporary file until their number is known.
func (c *conversion) counted(ctx context.Context, sink recordSink) (err error) {
	s := &spool{}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := c.read(ctx, s.add); err != nil {
		return err
	}
	if err := sink.begin(c.countedRule(c.stats.Records)); err != nil {
		return err
	}
	return s.each(interruptibly(ctx, sink.Write))
}

func (c *conversion) countedRule(records int64) split.Rule {
	if c.o.rule.NeedsCount() {
		return c.o.rule.WithCount(records)
	}
	return c.o.rule
}

// interruptibly ends a loop without input or output when ctx does.
func interruptibly(ctx context.Context, emit func([]byte) error) func([]byte) error {
	return func(payload []byte) error {
		if err := pfs.CheckContext(ctx, "paddlectl.convert", ""); err != nil {
			return err
		}
		return emit(payload)
	}
}

// manifest describes what sink made.
func (c *conversion) manifest(shards []manifest.Shard) *manifest.Manifest {
	m := &manifest.Manifest{
		Format: manifest.Format, Version: manifest.Version, Name: c.o.namePrefix,
		Payload: c.payload(), Of: c.o.ofText(), Source: c.stats.Format,
		Inputs: c.in.list(), Options: c.o.ofBytes(), Columns: c.columns(), Classes: c.classes(), Bad: c.stats.Bad, Shards: shards,
	}
	m.Sum()
	return m
}

// classes are the labels of images, or those of the datasets that are read.
func (c *conversion) classes() []string {
	if c.in.records == nil && c.stats.Format != imagesName {
		return nil
	}
	return c.in.labels
}

// columns are those of a table, of Parquet or of arrays.
func (c *conversion) columns() (list []manifest.Column) {
	if c.in.records != nil {
		return c.in.records.columns
	}
	for _, col := range c.stats.Columns {
		list = append(list, manifest.Column{Name: col.Name, Type: col.Type})
	}
	return list
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
		if err := c.bad.out.Finish(); err != nil {
			return err
		}
	}
	if err := c.again(ctx); err != nil {
		return err
	}
	if err := c.set.withdraw(ctx, shards); err != nil {
		return err
	}
	end := transfer.End{FS: c.dir.FS, Path: c.dir.Path.Join(manifest.FileName(c.o.namePrefix))}
	out, err := c.outs.Create(app.InDir(c.o.outputPath, end.Path.Base()), end)
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

// again looks a second time for a set in the way, and for those of its files that are to
// be removed: another run may have come first.
func (c *conversion) again(ctx context.Context) error {
	if err := c.work.claim.held(ctx); err != nil {
		return err
	}
	set, err := findSet(ctx, c.dir, c.o.namePrefix)
	if err != nil {
		return err
	}
	if !c.o.force && (set.manifest || len(set.shards) > 0 && !c.work.resumed) {
		return app.WithHint(pfs.Errorf("paddlectl.convert", c.dir.Path, pfs.Exist, "a dataset %q was made here in the meantime", c.o.namePrefix), wayToReplace)
	}
	c.set = set
	return nil
}

// convertSums is the result of convert with --json.
type convertSums struct {
	Dataset string  `json:"dataset"` // the path of its manifest
	Records int64   `json:"records"`
	Bytes   int64   `json:"bytes"`
	Bad     int64   `json:"bad"`
	LeftOut int64   `json:"left_out"` // files below directories that are no data
	Kept    int     `json:"kept"`     // shards of the run before
	Seconds float64 `json:"seconds"`
	Already bool    `json:"already,omitempty"` // nothing was left to do
	DryRun  bool    `json:"dry_run,omitempty"`
	// Columns are those of a table, with the types that were declared or found, of Parquet or of arrays.
	Columns []manifest.Column `json:"columns,omitempty"`
	Notes   []string          `json:"notes,omitempty"` // what the records do not show
	Shards  json.RawMessage   `json:"shards"`
}

// jsonOf is the text of shards as a part of convertSums.
func jsonOf(shards any) (json.RawMessage, error) {
	text, err := json.Marshal(shards)
	return text, err
}

// tell sums up.
func (c *conversion) tell(sink *shardSink) error {
	c.tellLeft()
	if sink.empty > 0 {
		c.a.Message("%s empty: many readers, such as those of the manuals, take the first one for the end of the file",
			app.Count(sink.empty, "record is", "records are"))
	}
	m := c.manifest(sink.shards)
	if c.o.json {
		shards, err := jsonOf(sink.shards)
		if err != nil {
			return err
		}
		return c.a.JSON(convertSums{
			Dataset: app.InDir(c.o.outputPath, manifest.FileName(m.Name)), Records: m.Records, Bytes: m.Bytes, Bad: m.Bad, LeftOut: c.in.strays.count,
			Kept: sink.kept, Seconds: c.a.Now().Sub(c.start).Seconds(), Columns: m.Columns, Notes: c.notes(), Shards: shards,
		})
	}
	if c.o.quiet {
		return nil
	}
	c.tellColumns()
	text := fmt.Sprintf("%s of %s in %s, %s", app.Count(m.Records, "record", "records"), c.stats.Format,
		app.Count(int64(len(m.Shards)), "shard", "shards"), cliio.Size(m.Bytes))
	if sink.kept > 0 {
		text += fmt.Sprintf(", %d of them from the run before", sink.kept)
	}
	if m.Bad > 0 {
		text += fmt.Sprintf(", %s left out", app.Count(m.Bad, "malformed record", "malformed records"))
	}
	c.a.Message("%s", text)
	return nil
}

// tellLeft names what was left out: files, parts of samples, and the first records.
func (c *conversion) tellLeft() {
	c.in.strays.tell(c.a)
	c.tellHeader()
	if n := c.stats.Partial; n > 0 {
		c.a.Message("the payload raw keeps the bytes or the text of a sample alone: %s more, such as a label, which is left out", app.Count(n, "sample has", "samples have"))
	}
	for _, note := range c.notes() {
		c.a.Message("%s", note)
	}
	c.tellBad()
}

// notes are what the records do not show.
func (c *conversion) notes() (texts []string) {
	for _, note := range c.stats.Notes {
		texts = append(texts, note.String())
	}
	if more := c.stats.Unnoted; more > 0 {
		texts = append(texts, fmt.Sprintf("%d more of such kinds", more))
	}
	return texts
}

// tellHeader warns of a table whose first line is no header, by its looks: all names are
// numbers.
func (c *conversion) tellHeader() {
	if c.o.noHeader || c.stats.Format != "csv" && c.stats.Format != "tsv" || len(c.stats.Columns) == 0 {
		return
	}
	for _, col := range c.stats.Columns {
		if _, err := strconv.ParseFloat(strings.TrimSpace(col.Name), 64); err != nil {
			return
		}
	}
	c.a.Message("the first line was taken for a header, and all names in it are numbers: --no-header makes a record of it")
}

// tellColumns names the types of columns where they were found out, or stand in the inputs. Of
// many columns it tells how many have which.
func (c *conversion) tellColumns() {
	if len(c.stats.Columns) == 0 || c.o.text || c.o.payload == "raw" {
		return
	}
	const most = 12
	parts, times := columnParts(c.columns()), map[string]int64{}
	for _, col := range c.stats.Columns {
		times[col.Type]++
	}
	if len(parts) > most {
		parts = parts[:0]
		for _, typ := range slices.Sorted(maps.Keys(times)) {
			parts = append(parts, fmt.Sprintf("%d %s", times[typ], typ))
		}
	}
	c.a.Message("columns: %s", strings.Join(parts, ", "))
}

// tellBad names the first records that were left out.
func (c *conversion) tellBad() {
	for _, bad := range c.stats.FirstBad {
		c.a.Message("left out: %v", bad)
	}
	if more := c.stats.Bad - int64(len(c.stats.FirstBad)); more > 0 {
		c.a.Message("left out: %d more", more)
	}
}
