package copying

import (
	"context"
	"math"
	"os"
	"os/user"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs/retry"
	"github.com/paddlecloud/pfs/pfs/transfer"
	"github.com/urfave/cli/v2"
)

// Options are the common options of cp, sync and file.
type Options struct {
	transfer.Options // those that a flag sets directly

	Verbose, Quiet, JSON bool
	NoClobber, update    bool
	Links, skipLinks     bool
	checksum             bool
	preserve, archive    bool
	Recursive            bool

	Asking  app.Asking // of cp
	Retries int
	bwlimit cliio.SizeFlag

	summed bool // the last line of --json was written
}

// ForAMinute means that --retries is not given.
const ForAMinute = math.MaxInt32

// Budget returns ctx with the budget of --retries, if that is given.
func (o *Options) Budget(ctx context.Context, a *app.App) context.Context {
	policy := retry.Policy{Attempts: o.Retries}
	switch o.Retries {
	case ForAMinute:
		return ctx
	case 0:
		policy = retry.Never
	}
	return retry.With(ctx, retry.New(policy, a.Waiting.Retry))
}

// Flags are the flags of cp and sync.
func (o *Options) Flags() []cli.Flag {
	return []cli.Flag{
		&cli.GenericFlag{Name: "include", Usage: "copy what matches `PATTERN`; the last matching --include or --exclude decides", Value: &RuleFlag{Rules: &o.Filter}},
		&cli.GenericFlag{Name: "exclude", Usage: "leave out what matches `PATTERN` (*.tmp, logs/, data/**/raw); excluded directories are not entered", Value: &RuleFlag{Rules: &o.Filter, Exclude: true}},
		&cli.BoolFlag{Name: "dry-run", Usage: "change nothing, print what would be done", Destination: &o.DryRun},
		&cli.BoolFlag{Name: "no-clobber", Aliases: []string{"n"}, Usage: "do not replace files that exist", Destination: &o.NoClobber},
		&cli.BoolFlag{Name: "update", Aliases: []string{"u"}, Usage: "replace only files that are older than the source", Destination: &o.update},
		&cli.BoolFlag{Name: "quick", Usage: "compare size and time, not digests", Destination: &o.Quick},
		&cli.BoolFlag{Name: "checksum", Usage: "compare size and digest (the default)", Destination: &o.checksum},
		&cli.BoolFlag{Name: "preserve", Aliases: []string{"p"}, Usage: "keep times and modes (the default), but not owners", Destination: &o.preserve},
		&cli.BoolFlag{Name: "no-preserve", Usage: "give copies the current time and the mode 0644, not those of the source", Destination: &o.NewTime},
		&cli.BoolFlag{Name: "links", Usage: "copy links as links, do not follow them", Destination: &o.Links},
		&cli.BoolFlag{Name: "archive", Aliases: []string{"a"}, Usage: "--recursive --preserve and, without --skip-links, --links", Destination: &o.archive},
		&cli.BoolFlag{Name: "skip-links", Usage: "leave links out", Destination: &o.skipLinks},
		&cli.IntFlag{Name: "parallel", Aliases: []string{"j", "jobs"}, Usage: "move `N` chunks or batches of small files at once", Value: transfer.DefaultParallel, Destination: &o.Parallel},
		&cli.GenericFlag{Name: "bwlimit", Usage: "move at most `SIZE` per second, like 10M; copies inside the service are not limited", Value: &o.bwlimit},
		&cli.IntFlag{Name: "retries", Usage: "retry temporary failures `N` times, after growing pauses", Value: ForAMinute, DefaultText: "for a minute", Destination: &o.Retries},
		&cli.BoolFlag{Name: "verbose", Aliases: []string{"v"}, Usage: "print a line per file to standard error", Destination: &o.Verbose},
		&cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "no progress bar and no summary; failures are still reported", Destination: &o.Quiet},
		&cli.BoolFlag{Name: "json", Usage: "print events and totals as JSON, one object per line", Destination: &o.JSON},
	}
}

// RuleFlag adds its values to the rules, in the order in which they are given.
type RuleFlag struct {
	Rules   *[]transfer.Rule
	Exclude bool
}

func (f *RuleFlag) Set(pattern string) error {
	*f.Rules = append(*f.Rules, transfer.Rule{Exclude: f.Exclude, Pattern: pattern})
	return nil
}

func (f *RuleFlag) String() string { return "" }

// Check refuses flags that contradict each other.
func (o *Options) Check() error {
	if o.archive {
		o.Recursive, o.preserve, o.Links = true, true, !o.skipLinks
	}
	switch {
	case o.preserve && o.NewTime:
		return cliargs.Usagef("--preserve and --no-preserve contradict each other")
	case o.NoClobber && o.update:
		return cliargs.Usagef("--no-clobber and --update contradict each other")
	case o.Links && o.skipLinks:
		return cliargs.Usagef("--links and --skip-links contradict each other")
	case o.Quiet && o.Verbose:
		return cliargs.Usagef("--quiet and --verbose contradict each other")
	case o.Quick && o.checksum:
		return cliargs.Usagef("--quick and --checksum contradict each other")
	case o.Parallel < 1 || o.Parallel > 256:
		return cliargs.Usagef("--parallel %d: a number from 1 to 256 is needed", o.Parallel)
	case o.Retries < 0:
		return cliargs.Usagef("--retries %d: a number from 0 up is needed", o.Retries)
	}
	return nil
}

// Job returns the options for package transfer.
func (o *Options) Job(a *app.App) transfer.Options {
	t := o.Options
	t.Origin, t.MaxDelete, t.NewMode, t.BytesPerSecond = origin(), o.deletions(), o.NewTime, o.bwlimit.Bytes
	switch {
	case o.NoClobber:
		t.Overwrite = transfer.NoReplace
	case o.update:
		t.Overwrite = transfer.Update
	}
	switch {
	case o.Links:
		t.Links = transfer.Keep
	case o.skipLinks:
		t.Links = transfer.SkipLinks
	}
	return t
}

// origin names this machine and user, so that uploads of equal paths from two machines do not
// resume each other.
func origin() string {
	host, _ := os.Hostname() // without a name, their content still tells uploads apart
	if u, err := user.Current(); err == nil {
		return u.Uid + "@" + host
	}
	return host
}

// Unlimited means that --max-delete is not given. It is not -1, which a user might give to mean
// "none".
const Unlimited = math.MaxInt64

// deletions returns the value of --max-delete for package transfer.
func (o *Options) deletions() int64 {
	switch o.MaxDelete {
	case Unlimited:
		return 0
	case 0:
		return -1
	}
	return o.MaxDelete
}

// SimpleCopy returns the options of file put and file get.
func SimpleCopy() *Options {
	return &Options{Recursive: true, Retries: ForAMinute, Options: transfer.Options{Parallel: transfer.DefaultParallel}}
}
