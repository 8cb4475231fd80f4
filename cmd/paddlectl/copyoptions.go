package main

import (
	"os"
	"os/user"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs/transfer"
	"github.com/urfave/cli/v2"
)

// copyOptions are what cp, sync and file have in common.
type copyOptions struct {
	dryRun, verbose, quiet, json bool
	noClobber, update            bool
	noPreserve, links, skipLinks bool
	quick, checksum              bool
	preserve, archive            bool
	recursive, parents           bool
	mirroring, force             bool
	maxDelete                    int64

	asking   asking // of cp
	rules    []transfer.Rule
	parallel int
	retries  int
	bwlimit  cliio.SizeFlag

	summed bool // the last line of --json was written
}

// never is what packages client and transfer take for no retries; 0 is their
// default.
const never = -1

// tries returns the value of --retries as those packages take it.
func (o *copyOptions) tries() int {
	if o.retries == 0 {
		return never
	}
	return o.retries
}

// flags are the flags of cp and sync.
func (o *copyOptions) flags() []cli.Flag {
	return []cli.Flag{
		&cli.GenericFlag{Name: "include", Usage: "copy what matches `PATTERN`; of all rules the last that matches decides", Value: &ruleFlag{rules: &o.rules}},
		&cli.GenericFlag{Name: "exclude", Usage: "leave out what matches `PATTERN` (*.tmp, logs/, data/**/raw); excluded directories are not entered", Value: &ruleFlag{rules: &o.rules, exclude: true}},
		&cli.BoolFlag{Name: "dry-run", Usage: "change nothing, print what would be done", Destination: &o.dryRun},
		&cli.BoolFlag{Name: "no-clobber", Aliases: []string{"n"}, Usage: "do not replace files that exist", Destination: &o.noClobber},
		&cli.BoolFlag{Name: "update", Aliases: []string{"u"}, Usage: "replace only files that are older than the source", Destination: &o.update},
		&cli.BoolFlag{Name: "quick", Usage: "files of the same size and time are the same; do not compare digests", Destination: &o.quick},
		&cli.BoolFlag{Name: "checksum", Usage: "files of the same size and digest are the same (the default)", Destination: &o.checksum},
		&cli.BoolFlag{Name: "preserve", Aliases: []string{"p"}, Usage: "keep times and modes (the default), but not owners", Destination: &o.preserve},
		&cli.BoolFlag{Name: "no-preserve", Usage: "give copies the current time and the mode 0644, not those of the source", Destination: &o.noPreserve},
		&cli.BoolFlag{Name: "links", Usage: "copy links as links, do not follow them", Destination: &o.links},
		&cli.BoolFlag{Name: "archive", Aliases: []string{"a"}, Usage: "the same as --recursive --preserve and, without --skip-links, --links", Destination: &o.archive},
		&cli.BoolFlag{Name: "skip-links", Usage: "leave links out", Destination: &o.skipLinks},
		&cli.IntFlag{Name: "parallel", Aliases: []string{"j", "jobs"}, Usage: "move `N` chunks or batches of small files at once", Value: transfer.DefaultParallel, Destination: &o.parallel},
		&cli.GenericFlag{Name: "bwlimit", Usage: "move at most `SIZE` a second, like 10M; copies inside the service do not count", Value: &o.bwlimit},
		&cli.IntFlag{Name: "retries", Usage: "retry `N` times what fails for the moment, after growing pauses", Value: inPatience, DefaultText: "for a minute", Destination: &o.retries},
		&cli.BoolFlag{Name: "verbose", Aliases: []string{"v"}, Usage: "one line a file on standard error", Destination: &o.verbose},
		&cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "no progress bar and no summary; what fails is told all the same", Destination: &o.quiet},
		&cli.BoolFlag{Name: "json", Usage: "events and the sums as JSON, one object a line", Destination: &o.json},
	}
}

// ruleFlag adds its values to the rules, in the order in which they are given.
type ruleFlag struct {
	rules   *[]transfer.Rule
	exclude bool
}

func (f *ruleFlag) Set(pattern string) error {
	*f.rules = append(*f.rules, transfer.Rule{Exclude: f.exclude, Pattern: pattern})
	return nil
}

func (f *ruleFlag) String() string { return "" }

// check refuses flags that contradict each other.
func (o *copyOptions) check() error {
	if o.archive {
		o.recursive, o.preserve, o.links = true, true, !o.skipLinks
	}
	switch {
	case o.preserve && o.noPreserve:
		return cliargs.Usagef("--preserve and --no-preserve contradict each other")
	case o.noClobber && o.update:
		return cliargs.Usagef("--no-clobber and --update contradict each other")
	case o.links && o.skipLinks:
		return cliargs.Usagef("--links and --skip-links contradict each other")
	case o.quiet && o.verbose:
		return cliargs.Usagef("--quiet and --verbose contradict each other")
	case o.quick && o.checksum:
		return cliargs.Usagef("--quick and --checksum contradict each other")
	case o.parallel < 1 || o.parallel > 256:
		return cliargs.Usagef("--parallel %d: a number from 1 to 256 is needed", o.parallel)
	case o.retries < 0:
		return cliargs.Usagef("--retries %d: a number from 0 up is needed", o.retries)
	}
	return nil
}

// job returns the options as package transfer knows them.
func (o *copyOptions) job(d *deps) transfer.Options {
	t := transfer.Options{
		Origin:         origin(),
		Quick:          o.quick,
		Filter:         o.rules,
		Delete:         o.mirroring,
		DeleteAll:      o.force,
		MaxDelete:      o.deletions(),
		Parents:        o.parents,
		NewTime:        o.noPreserve,
		NewMode:        o.noPreserve,
		DryRun:         o.dryRun,
		Parallel:       o.parallel,
		BytesPerSecond: o.bwlimit.Bytes,
		Retries:        o.tries(),
		Patience:       d.patience(o.tries()),
	}
	switch {
	case o.noClobber:
		t.Overwrite = transfer.NoReplace
	case o.update:
		t.Overwrite = transfer.Update
	}
	switch {
	case o.links:
		t.Links = transfer.Keep
	case o.skipLinks:
		t.Links = transfer.SkipLinks
	}
	return t
}

// origin names this machine and user, so that uploads of equal paths from two
// machines do not go on with each other's bytes.
func origin() string {
	host, _ := os.Hostname() // without a name they still differ by what they send
	if u, err := user.Current(); err == nil {
		return u.Uid + "@" + host
	}
	return host
}
