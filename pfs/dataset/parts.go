package dataset

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/dataset/recordfile"
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
	if err := p.begin(ctx); err != nil {
		c.work.undo(ctx, err)
		c.unmake(ctx)
		return "", nil, err
	}
	return p.plan.Run, nil, nil
}

// begin makes the staging directory with the plan, and claims it for the processes to come.
func (p *parts) begin(ctx context.Context) (err error) {
	c := p.c
	const perProcess = 8 // units, so that the ends of the shards' ranges cost little
	plan := partsPlan{Unit: cmp.Or(c.o.Unit, min(maxUnit, max(minUnit, c.in.bytes/int64(perProcess*p.Count))))}
	if plan.Sum, err = c.in.sum(c.o.mayBeMNIST()); err != nil {
		return err
	}
	if !c.work.resumed {
		if err := c.work.create(ctx); err != nil {
			return err
		}
	}
	if err := c.work.claim.take(ctx, c.o.Tell); err != nil {
		return err
	}
	if err := p.plans(ctx, plan); err != nil {
		return errors.Join(err, c.work.claim.release(ctx))
	}
	return nil
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
	// Results with failures or malformed records are removed: other options or inputs may mend those.
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

// AbandonParts undoes BeginParts. With Options.Resume it leaves finished units and shards to the next run.
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
