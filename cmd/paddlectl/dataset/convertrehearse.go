package dataset

import (
	"context"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/datafile"
	"github.com/paddlecloud/pfs/pfs/dataset/manifest"
	"github.com/paddlecloud/pfs/split"
)

// rehearse reads everything and tells what shards it would make.
func (c *conversion) rehearse(ctx context.Context) error {
	if err := c.lookAtBadFile(ctx); err != nil {
		return err
	}
	s := &countingSink{pattern: c.o.pattern}
	if err := c.convert(ctx, s); err != nil {
		return c.explain(err)
	}
	c.tellLeft()
	if !c.o.json {
		if !c.o.quiet {
			c.tellColumns()
		}
		for _, f := range s.plan.Files {
			c.a.Printf("%s  %d  %s\n", c.a.Name(f.Name), f.Records, cliio.Size(f.Bytes))
		}
		return nil
	}
	shards, err := jsonOf(s.plan.Files)
	if err != nil {
		return err
	}
	return c.a.JSON(convertSums{
		Dataset: app.InDir(c.o.outputPath, manifest.FileName(c.o.namePrefix)),
		Records: c.stats.Records, Bytes: c.stats.Payload, Bad: c.stats.Bad, LeftOut: c.in.strays.count,
		Seconds: c.a.Now().Sub(c.start).Seconds(), DryRun: true, Columns: c.columns(), Notes: c.notes(), Shards: shards,
	})
}

// lookAtBadFile refuses a file of bad records that the run would not replace.
func (c *conversion) lookAtBadFile(ctx context.Context) error {
	if c.o.badFile == "" {
		return nil
	}
	end, err := datafile.OutputEnd(ctx, c.a, c.o.badFile)
	if err != nil {
		return err
	}
	return datafile.NewOutputs(ctx, c.a, c.o.force || c.work != nil && c.work.resumed, nil).Rehearse(c.o.badFile, end)
}

// countingSink counts records instead of writing them.
type countingSink struct {
	pattern split.Pattern
	w       *split.Writer
	plan    split.Plan
}

var _ recordSink = (*countingSink)(nil)

func (s *countingSink) begin(rule split.Rule) (err error) {
	s.w, err = split.NewWriter(rule, s.pattern, func(int, string) (split.RecordWriter, error) { return nowhere{}, nil })
	return err
}

func (s *countingSink) Write(payload []byte) error { return s.w.Write(payload) }

func (s *countingSink) end(err error) error {
	if err == nil {
		s.plan, err = s.w.Close()
	}
	return err
}

// nowhere drops records.
type nowhere struct{}

func (nowhere) Write([]byte) error { return nil }
func (nowhere) Close() error       { return nil }
