package files

import (
	"context"
	"errors"
	"fmt"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/copying"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/transfer"
	"github.com/urfave/cli/v2"
)

// Verify returns the command verify.
func Verify(a *app.App) *cli.Command {
	o := &copying.Options{Retries: copying.ForAMinute}
	return a.NewCommand(app.Spec{
		Name: "verify", Args: "A B", Least: 2, Most: 2,
		Summary: "compare files or directories by digest",
		Text: `Compares two files, or the content of two directories, by digests. Each digest is
computed from the stored bytes, where they are stored. A and B may be on the service or
on this machine. Prints what is missing in B, extra in B or different; if anything is,
the exit code is 7.

--kept trusts valid stored digests and reads only files without one. That quickly finds
files that were not copied or have changed since, but not damage of stored bytes. cp and
sync trust stored digests, too: to replace a damaged file, remove it and copy it again
from an intact source.`,
		Examples: []string{
			"paddlectl verify ./data /pfs/dc1/home/alice/data",
			"paddlectl verify --json /pfs/dc1/home/alice/data /pfs/dc2/home/alice/data",
		},
		Exits: app.PathExits(cliio.Integrity),
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "kept", Usage: "trust stored digests, and read only files without one", Destination: &o.Kept},
			&cli.GenericFlag{Name: "algorithm", Usage: "compare by `NAME`: blake3, or the faster xxh3, which detects accidents but not fraud", DefaultText: "blake3, with --kept xxh3", Value: cliargs.OneOf(&o.Algorithm, digest.BLAKE3, digest.XXH3)},
			&cli.GenericFlag{Name: "include", Usage: "compare what matches `PATTERN`; the last matching --include or --exclude decides", Value: &copying.RuleFlag{Rules: &o.Filter}},
			&cli.GenericFlag{Name: "exclude", Usage: "leave out what matches `PATTERN`; excluded directories are not entered", Value: &copying.RuleFlag{Rules: &o.Filter, Exclude: true}},
			&cli.BoolFlag{Name: "links", Usage: "compare the targets of links, do not follow them", Destination: &o.Links},
			&cli.IntFlag{Name: "parallel", Aliases: []string{"j", "jobs"}, Usage: "compare `N` pairs of files at once", Value: transfer.DefaultParallel, Destination: &o.Parallel},
			&cli.BoolFlag{Name: "verbose", Aliases: []string{"v"}, Usage: "also print what is the same, with its digest", Destination: &o.Verbose},
			app.JSONFlag(&o.JSON),
		},
		Run: func(ctx context.Context, operands []string) error {
			v := &verification{Transferring: copying.Transferring{App: a, O: o, Start: a.Now()}}
			return v.end(v.run(ctx, operands))
		},
	})
}

// verification is one run of the command.
type verification struct {
	copying.Transferring
}

func (v *verification) run(ctx context.Context, operands []string) error {
	o := v.O
	if o.Kept && o.Algorithm == digest.BLAKE3 {
		return cliargs.Usagef("--kept and --algorithm %s contradict each other: stored digests are %s", o.Algorithm, digest.XXH3)
	}
	if err := o.Check(); err != nil {
		return err
	}
	ends, err := twoEnds(ctx, v.App, operands)
	if err != nil {
		return err
	}
	opts := o.Job(v.App)
	opts.Totals, opts.Events = v.HasBar(false), v.event
	if v.Job, err = transfer.New(opts); err != nil {
		return err
	}
	stop := v.ShowBar(false)
	defer stop()
	return v.Job.Verify(ctx, ends[0], ends[1])
}

// twoEnds reads the operands of a comparison.
func twoEnds(ctx context.Context, a *app.App, operands []string) (ends [2]transfer.End, err error) {
	for i, text := range operands {
		op, err := a.ParseOperand(text)
		if err == nil && op.Side == app.Stdio {
			err = cliargs.Usagef("\"-\" cannot be compared: files and directories can")
		}
		if err != nil {
			return ends, err
		}
		if ends[i], err = a.End(ctx, op); err != nil {
			return ends, err
		}
	}
	return ends, nil
}

// event prints a result.
func (v *verification) event(e transfer.Event) {
	switch e.Kind {
	case transfer.Same:
		v.Working(e)
		if v.O.Verbose {
			v.found(e, app.LocalText(e.Path)+"  "+e.Digest)
		}
	case transfer.Missing:
		v.found(e, app.LocalText(e.Path))
	case transfer.Extra:
		v.found(e, app.LocalText(e.Target))
	case transfer.Different:
		v.found(e, differenceText(e))
	case transfer.Failed:
		if v.O.JSON {
			v.App.JSON(copying.NewEventJSON(e))
		}
		v.Failed++
		v.App.ReportFailure(e.Err)
	case transfer.Retry:
		copying.TellRetry(v.App, e, v.O.Verbose)
	case transfer.Skipped:
		if v.O.JSON {
			v.App.JSON(copying.NewEventJSON(e))
		}
		v.App.Message("%s: left out: %s", app.LocalText(e.Path), e.Reason)
	}
}

func (v *verification) found(e transfer.Event, text string) {
	if v.O.JSON {
		j := copying.NewEventJSON(e)
		if e.Kind == transfer.Different {
			j.Error = text
		}
		v.App.JSON(j) // an error appears when Out is flushed
		return
	}
	v.App.Printf("%-9s  %s\n", e.Kind, v.App.Name(text))
}

// differenceText states how two files differ. It leaves out the Kind of the error, which would
// call the difference a failure.
func differenceText(e transfer.Event) string {
	var pe *pfs.Error
	if errors.As(e.Err, &pe) && pe.Err != nil {
		return app.LocalText(e.Target) + ": " + pe.Err.Error()
	}
	return e.Err.Error()
}

// verifySums is the last line of --json.
type verifySums struct {
	Event     string `json:"event"` // "summary"
	Same      int64  `json:"same"`
	Missing   int64  `json:"missing"`
	Extra     int64  `json:"extra"`
	Different int64  `json:"different"`
	Failed    int64  `json:"failed"`
	LeftOut   int64  `json:"left_out"`
	Error     string `json:"error,omitempty"` // why it ended early
}

// end prints the totals, including failures before the comparison began.
func (v *verification) end(err error) error {
	var s transfer.Stats
	if v.Job != nil {
		s = v.Job.Stats()
	}
	sums := verifySums{"summary", s.Same, s.Missing, s.Extra, s.Different, s.Failed, s.Omitted, ""}
	var incomplete *transfer.Incomplete
	switch {
	case errors.As(err, &incomplete):
		err = cliio.Reported(cliio.Partly)
	case errors.Is(err, pfs.Integrity):
		err = cliio.Reported(cliio.Integrity)
	case err != nil:
		sums.Error = err.Error()
	}
	if sums.Error == "" || v.Failed > 0 {
		text := fmt.Sprintf("%d same, %d missing, %d extra, %d different, %d not readable", s.Same, s.Missing, s.Extra, s.Different, s.Failed)
		if s.Omitted > 0 {
			text += fmt.Sprintf(", %d left out", s.Omitted)
		}
		v.App.Message("%s", text+copying.Left(s, "compared"))
	}
	if v.O.JSON {
		v.App.JSON(sums)
	}
	if sums.Error != "" && v.Failed > 0 {
		return cliio.Reported(cliio.CodeOf(err)) // every failure was named
	}
	return err
}
