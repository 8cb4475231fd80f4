package dataset

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/recordio/convert"
)

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
		for i, bad := range r.Stats.FirstBad {
			r.Stats.FirstBad[i] = later(bad, lines)
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
