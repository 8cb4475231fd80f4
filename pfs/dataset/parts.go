package dataset

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/dataset/manifest"
	"github.com/paddlecloud/pfs/pfs/dataset/recordfile"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/transfer"
	"github.com/paddlecloud/pfs/recordio/convert"
	"github.com/paddlecloud/pfs/split"
)

// Process is one of several processes that make a dataset together. BeginParts prepares the staging
// directory; then each process calls ConvertPart, again if it was killed. All bytes are those that
// Convert makes.
//
// The processes have no connection but the staging directory:
//
//   - The inputs are cut into units. Process i reads the units i, i+Count, ..., counts their records
//     and writes the files unit-N.
//   - When all units are there, every process knows which records belong to which shard. It makes
//     its range of shards, reading the units that have their records.
//   - When all shards are there, the first process publishes them.
type Process struct {
	Index, Count int
	Run          string // of all processes, from BeginParts
}

// partsPlan is the content of the file plan.
type partsPlan struct {
	Run  string `json:"run"`
	Unit int64  `json:"unit"` // bytes of a unit
	Sum  string `json:"sum"`  // of the inputs
}

const (
	planName   = "plan"
	failedName = "failed"
	maxUnit    = 256 << 20
	minUnit    = 1 << 20
	maxResult  = 1 << 20 // bytes of the file of a unit
)

// refuseParts refuses what several processes cannot make with the same bytes.
func (s *settings) refuseParts() error {
	why := ""
	switch {
	case s.Shuffle:
		why = "--shuffle orders all records in one place"
	case s.rule.NeedsSizes():
		why = "where a shard of a number of bytes ends depends on all records before it: give --num-shards or --line-count"
	case s.Format == RecordsFormat:
		why = "--format recordio has no parts"
	case s.BadFile != nil:
		why = "--bad-file has the malformed records of all inputs; --bad skip counts them"
	case s.DryRun:
		why = "--dry-run reads everything here and makes nothing"
	}
	for _, in := range s.Inputs {
		if in.Stream != nil {
			why = "standard input can be read by one process only"
		}
	}
	if why != "" {
		return invalid("a conversion by several workers is not possible: %s", why)
	}
	return nil
}

// newParts checks the options and finds the inputs. The caller closes the inputs.
func newParts(ctx context.Context, options Options, process Process) (*parts, error) {
	o, err := options.check()
	if err != nil {
		return nil, err
	}
	if err := o.refuseParts(); err != nil {
		return nil, err
	}
	in, err := findInputs(ctx, o)
	if err != nil {
		return nil, err
	}
	in.meter = recordfile.NoMeter{}
	return &parts{Process: process, c: &conversion{o: o, in: in, res: &Result{}}, cut: map[string]bool{}}, nil
}

// parts is one process of a conversion.
type parts struct {
	Process
	c     *conversion
	plan  partsPlan
	prior *convert.Prior
	cut   map[string]bool // whether a source is cut, by title
	err   error           // that ended units

	found  []unitResult
	shards []split.File
	total  convert.Stats
	empty  int64
}

// BeginParts prepares a conversion by several processes: it makes all checks of Convert, and the
// staging directory. It returns the name of the run, or a Result if the dataset exists already and
// Options.Resume is set. If no process is started, AbandonParts takes it back.
func BeginParts(ctx context.Context, options Options, processes int) (run string, made *Result, err error) {
	p, err := newParts(ctx, options, Process{Count: processes})
	if err != nil {
		return "", nil, err
	}
	c := p.c
	defer c.in.close()
	if c.in.files == 0 && !c.o.AllowEmpty {
		return "", nil, &Error{Reason: Empty, Err: recordfile.WithKind(errors.New("there is no file in the inputs"), pfs.Invalid)}
	}
	if c.o.mayBeMNIST() {
		if err := c.in.mnist.check(); err != nil {
			return "", nil, err
		}
	}
	c.in.tellParts()
	if err := c.prepare(ctx); err != nil {
		return "", nil, err
	}
	if c.made != nil {
		return "", c.res, c.already(ctx)
	}
	const perProcess = 8 // units, so that the ends of the shards' ranges cost little
	plan := partsPlan{Unit: min(maxUnit, max(minUnit, c.in.bytes/int64(perProcess*processes)))}
	if plan.Sum, err = c.in.sum(c.o.mayBeMNIST()); err != nil {
		return "", nil, err
	}
	if testUnit > 0 {
		plan.Unit = testUnit
	}
	if !c.work.resumed {
		if err := c.work.create(ctx); err != nil {
			return "", nil, err
		}
	}
	if err := c.work.claim.take(ctx, c.o.Tell); err != nil {
		return "", nil, err
	}
	if err := p.plans(ctx, plan); err != nil {
		return "", nil, errors.Join(err, c.work.claim.release(ctx))
	}
	return p.plan.Run, nil, nil
}

// plans writes the plan, or takes over that of the run to be resumed with its name.
func (p *parts) plans(ctx context.Context, plan partsPlan) error {
	w := p.c.work
	plan.Run = w.run
	switch err := p.load(ctx, planName, &p.plan); {
	case isMissing(err):
		p.plan = plan
		return p.write(ctx, planName, plan)
	case err != nil:
		return err
	case p.plan.Sum != plan.Sum:
		return failure(OtherJob, "dataset.Convert", w.dir, pfs.Conflict, "the inputs have changed since the earlier run")
	}
	// What other options or other inputs may help against is found again.
	for e, err := range pfs.Entries(ctx, w.fs, w.dir, nil) {
		if err != nil {
			return err
		}
		var r unitResult
		if strings.HasPrefix(e.Name, unitPrefix) {
			err = p.load(ctx, e.Name, &r)
		}
		if err == nil && (e.Name == failedName || r.Failure != nil || r.Stats.Bad > 0) {
			err = p.remove(ctx, e.Name)
		}
		if err != nil {
			return err
		}
	}
	w.run, w.claim.run = p.plan.Run, p.plan.Run
	return pfs.WriteBatch(ctx, w.fs, []pfs.BatchEntry{w.claim.text(0, false)})[0]
}

// testUnit is, if not 0, the size of units in tests.
var testUnit int64

// AbandonParts takes BeginParts back. With Options.Resume it leaves what is finished to the next run.
func AbandonParts(ctx context.Context, options Options, run string) error {
	o, err := options.check()
	if err != nil {
		return err
	}
	c := &conversion{o: o}
	w := newStagingDir(o.Dir.FS, c.stagingPath(), nil, usualLease)
	w.run, w.claim.run = run, run
	if options.Resume {
		return w.claim.release(ctx)
	}
	return w.remove(ctx)
}

// write writes a file of the staging directory, unless another run has it.
func (p *parts) write(ctx context.Context, name string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if err := p.c.work.claim.held(ctx); err != nil {
		return err
	}
	return p.c.work.write(ctx, name, text)
}

// load reads a file of the staging directory.
func (p *parts) load(ctx context.Context, name string, v any) error {
	text, err := recordfile.ReadSmall(ctx, p.c.work.fs, p.c.work.dir.Join(name), maxResult)
	if err == nil && json.Unmarshal(text, v) != nil {
		err = pfs.Errorf("dataset.Convert", p.c.work.dir.Join(name), pfs.Integrity, "a file of the conversion is damaged: remove it")
	}
	return err
}

func (p *parts) remove(ctx context.Context, name string) error {
	err := p.c.work.fs.Remove(ctx, p.c.work.dir.Join(name))
	if isMissing(err) {
		return nil
	}
	return err
}

// ConvertPart does the work of one process. The first one returns the result, others nil.
func ConvertPart(ctx context.Context, options Options, process Process) (*Result, error) {
	p, err := newParts(ctx, options, process)
	if err != nil {
		return nil, err
	}
	c := p.c
	defer c.in.close()
	if c.o.Dir, _, err = lookAtDir(ctx, c.o.Dir); err != nil {
		return nil, err
	}
	c.work = newStagingDir(c.o.Dir.FS, c.stagingPath(), nil, cmp.Or(c.o.Lease, usualLease))
	c.work.run, c.work.claim.run, c.work.resumed = process.Run, process.Run, false
	exists, err := pfs.Exists(ctx, c.work.fs, c.work.dir)
	if err != nil {
		return nil, err
	}
	if !exists {
		return p.published(ctx)
	}
	if err := c.work.claim.held(ctx); err != nil {
		return nil, err
	}
	held, lost := context.WithCancel(ctx)
	defer lost()
	if p.Index == 0 {
		c.work.claim.keep(ctx, lost)
		defer func() { c.work.claim.rest() }()
	}
	err = p.run(held)
	if err == nil && p.Index > 0 {
		return nil, nil
	}
	if err == nil {
		return c.res, nil
	}
	if gone := c.work.claim.held(ctx); errors.Is(gone, pfs.Conflict) {
		return nil, gone
	}
	return nil, explain(err)
}

// published returns the result of a process that was repeated after the dataset was published.
func (p *parts) published(ctx context.Context) (*Result, error) {
	made, err := readDataset(ctx, p.c.o.Dir, p.c.o.Name, strings.TrimSuffix(p.c.o.Title, "/")+"/")
	if err != nil || p.Index > 0 {
		return nil, err
	}
	p.c.res.Manifest, p.c.res.Stats.Bad, p.c.res.Stats.Format = made.Manifest, made.Bad, made.Source
	return p.c.res, nil
}

// run carries out the steps.
func (p *parts) run(ctx context.Context) (err error) {
	c := p.c
	if err := p.load(ctx, planName, &p.plan); err != nil {
		return err
	}
	sum, err := c.in.sum(c.o.mayBeMNIST())
	if err != nil {
		return err
	}
	if sum != p.plan.Sum {
		return failure(OtherJob, "dataset.Convert", c.work.dir, pfs.Conflict, "the inputs have changed since the conversion began")
	}
	if p.prior, err = convert.Prepare(ctx, c.in.sources(c.o.mayBeMNIST()), c.o.convert); err != nil {
		return p.fail(ctx, err)
	}
	units, err := p.scanOwn(ctx)
	if err != nil {
		return err
	}
	if err := p.merge(ctx, units); err != nil {
		return p.fail(ctx, err)
	}
	if err := p.makeShards(ctx); err != nil {
		return err
	}
	if p.Index > 0 {
		return nil
	}
	return p.publish(ctx)
}

// fail records an error that repeating a process does not help against.
func (p *parts) fail(ctx context.Context, err error) error {
	if f := failureOf(ctx, err); f != nil {
		if err := p.write(ctx, failedName, f); err != nil {
			p.c.o.Tell(err.Error())
		}
	}
	return err
}

// PartsFailure returns the error for which the processes of a run cannot succeed, or nil. BeginParts
// was called with the same options.
func PartsFailure(ctx context.Context, options Options) error {
	o, err := options.check()
	if err != nil {
		return err
	}
	c := &conversion{o: o}
	c.work = newStagingDir(o.Dir.FS, c.stagingPath(), nil, usualLease)
	var f recorded
	err = (&parts{c: c}).load(ctx, failedName, &f)
	if isMissing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.error(0)
}

// PartsDone returns the numbers of units that have been read, and of shards that have been made.
func PartsDone(ctx context.Context, options Options) (units, shards int, err error) {
	o, err := options.check()
	if err != nil {
		return 0, 0, err
	}
	for e, err := range pfs.Entries(ctx, o.Dir.FS, (&conversion{o: o}).stagingPath(), nil) {
		switch {
		case err != nil:
			return 0, 0, err
		case strings.HasPrefix(e.Name, unitPrefix):
			units++
		case strings.HasSuffix(e.Name, shardSuffix):
			shards++
		}
	}
	return units, shards, nil
}

// scanOwn scans the units of this process, and returns the number of all units.
func (p *parts) scanOwn(ctx context.Context) (units int, err error) {
	for n, u := range p.units(ctx) {
		units = n + 1
		if n%p.Count != p.Index {
			continue
		}
		var r unitResult
		if err := p.load(ctx, unitName(n), &r); err == nil {
			continue
		} else if !isMissing(err) {
			return 0, err
		}
		if err := p.scan(ctx, n, u, -1); err != nil {
			return 0, err
		}
	}
	return units, p.err
}

// wait reads the file name as soon as it is there and good.
func (p *parts) wait(ctx context.Context, name string, v any, good func() bool) error {
	for {
		err := p.load(ctx, name, v)
		if err == nil && good() {
			return nil
		}
		if err != nil && !isMissing(err) {
			return err
		}
		if err := p.c.work.claim.held(ctx); err != nil {
			return err
		}
		if err := pause(ctx, p.c.work.claim.lease/20); err != nil {
			return err
		}
	}
}

// merge waits for the results of all units, and puts them together.
func (p *parts) merge(ctx context.Context, units int) error {
	p.found = make([]unitResult, units)
	for n := range p.found {
		r := &p.found[n]
		if err := p.wait(ctx, unitName(n), r, func() bool { return true }); err != nil {
			return err
		}
	}
	lines := int64(0) // of the file before the unit
	var stats []convert.Stats
	for n, u := range p.units(ctx) {
		r := &p.found[n]
		if !u.cut {
			lines = 0
		}
		if u.cut && r.Stats.Start != p.found[n-1].Stats.End {
			// The unit does not begin where it was assumed to.
			start := p.found[n-1].Stats.End
			if n%p.Count == p.Index {
				if err := p.scan(ctx, n, u, start); err != nil {
					return err
				}
			}
			*r = unitResult{}
			if err := p.wait(ctx, unitName(n), r, func() bool { return r.Stats.Start == start }); err != nil {
				return err
			}
		}
		if r.Failure != nil {
			return r.Failure.error(lines)
		}
		for _, bad := range r.Bad {
			r.Stats.FirstBad = append(r.Stats.FirstBad, bad.error(lines))
		}
		lines += r.Stats.Lines
		stats = append(stats, r.Stats)
		p.empty += r.Empty
	}
	if p.err != nil {
		return p.err
	}
	var err error
	if p.total, err = p.prior.Merge(stats); err != nil {
		return err
	}
	if p.total.Records == 0 && !p.c.o.AllowEmpty {
		return &Error{Reason: Empty, Err: errors.New("the input has no records")}
	}
	p.c.stats = p.total
	plan, err := p.c.o.rule.Plan(p.c.o.pattern, p.total.Records)
	p.shards = plan.Files
	return err
}

// makeShards makes the shards of this process.
func (p *parts) makeShards(ctx context.Context) (err error) {
	first, end := len(p.shards)*p.Index/p.Count, len(p.shards)*(p.Index+1)/p.Count
	c := p.c
	c.outs = c.outputs(ctx)
	defer c.outs.Abort() // the parts stay
	w := &shardRange{plan: p.shards, end: end, sink: &shardSink{c: c, ctx: ctx, parts: make([]*transfer.Output, first), shards: make([]manifest.Shard, first)}}
	c.work.resumed = true
	// What this run has made before the process was killed need not be read again.
	for ; first < end; first++ {
		before, err := c.work.finished(ctx, first)
		if err != nil {
			return err
		}
		if before == nil || !p.made(before, first) {
			break
		}
		w.sink.parts, w.sink.shards = append(w.sink.parts, nil), append(w.sink.shards, before.Shard)
	}
	c.work.resumed = false
	w.next = first
	err = w.open()
	record := int64(0) // the first of the unit
	for n, u := range p.units(ctx) {
		if err != nil {
			break
		}
		r := &p.found[n]
		w.at, record = record, record+r.Stats.Records
		if record <= p.shards[w.next].First {
			continue
		}
		start := int64(-1)
		if u.cut {
			start = r.Stats.Start
		}
		if _, err = p.read(ctx, u, start, w.Write); err == nil && w.at != record {
			err = failure(OtherJob, "dataset.Convert", c.work.dir, pfs.Conflict, "the inputs have changed since the conversion began")
		}
	}
	switch {
	case errors.Is(err, errStop):
		return nil
	case err == nil && p.err == nil:
		err = failure(OtherJob, "dataset.Convert", c.work.dir, pfs.Conflict, "the inputs have fewer records than when the conversion began")
	}
	w.abort()
	return cmp.Or(err, p.err)
}

// shardRange writes a range of the shards.
type shardRange struct {
	plan  []split.File
	next  int // the shard that is open
	end   int // after the last one
	sink  *shardSink
	shard split.RecordWriter
	at    int64 // number of the next record
}

// open begins the next shard; errStop after the last one.
func (w *shardRange) open() (err error) {
	for ; w.next < w.end; w.next++ {
		if w.shard, err = w.sink.create(w.next, ""); err != nil || w.plan[w.next].Records > 0 {
			return err
		}
		if err := w.shard.Close(); err != nil {
			return err
		}
	}
	return errStop
}

func (w *shardRange) Write(payload []byte) error {
	w.at++
	f := w.plan[w.next]
	if w.at <= f.First {
		return nil
	}
	if err := w.shard.Write(payload); err != nil || w.at < f.First+f.Records {
		return err
	}
	done := w.shard
	w.shard = nil
	if err := done.Close(); err != nil {
		return err
	}
	w.sink.c.o.Tell(fmt.Sprintf("shard %d of %d: %s", w.next+1, len(w.plan), count(f.Records, "record", "records")))
	w.next++
	return w.open()
}

// abort closes the open shard without finishing it.
func (w *shardRange) abort() {
	if w.shard != nil {
		w.sink.given = true
		_ = w.shard.Close() // nothing is finished
	}
}

// made reports whether s describes shard i as this run makes it.
func (p *parts) made(s *finishedShard, i int) bool {
	return s.Part == p.c.work.part(i).Path.Base() && s.Shard.Records == p.shards[i].Records
}

// publish waits for all shards, and gives the files their names.
func (p *parts) publish(ctx context.Context) (err error) {
	c := p.c
	c.work.resumed = true // a killed process may have published some of the files
	c.outs = c.outputs(ctx)
	sink := &shardSink{c: c, ctx: ctx, plan: split.Plan{Files: p.shards}, empty: p.empty}
	for i, f := range p.shards {
		var s finishedShard
		if err := p.wait(ctx, shardNumber(i)+shardSuffix, &s, func() bool { return p.made(&s, i) }); err != nil {
			return err
		}
		sink.shards = append(sink.shards, s.Shard)
		part := transfer.End{FS: c.work.fs, Path: c.work.dir.Join(s.Part)}
		there, err := pfs.Exists(ctx, part.FS, part.Path)
		if err != nil {
			return err
		}
		if !there { // a killed process has published it
			name := c.o.Dir.Path.Join(f.Name)
			sum, err := digest.Stored(ctx, c.o.Dir.FS, name, digest.BLAKE3, nil)
			if err != nil {
				return err
			}
			if sum != s.Shard.Digest {
				return failure(Unfinished, "dataset.Convert", name, pfs.Conflict, "it is not the shard that was made")
			}
			sink.parts = append(sink.parts, nil)
			continue
		}
		sink.parts = append(sink.parts, c.outs.Adopt(part, s.Shard.Bytes))
	}
	for i := range p.shards {
		sink.shards[i].Name = p.shards[i].Name
	}
	m := c.manifest(sink.shards)
	text, err := manifest.Encode(m)
	if err != nil {
		return err
	}
	at := c.o.Dir.Path.Join(manifest.FileName(c.o.Name))
	if before, err := recordfile.ReadSmall(ctx, c.o.Dir.FS, at, manifest.MaxBytes); err == nil && string(before) == string(text) {
		err = c.work.remove(ctx) // a killed process has published it
		c.result(m)
		return err
	}
	if err := c.publish(ctx, sink); err != nil {
		c.outs.Abort()
		return err
	}
	c.result(m)
	c.res.EmptyRecords = p.empty
	return nil
}
