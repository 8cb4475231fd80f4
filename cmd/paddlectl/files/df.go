package files

import (
	"context"
	"fmt"
	"sync"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/paddlectl/internal/app"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/urfave/cli/v2"
)

type dfOptions struct {
	human, json, quota bool
}

// Df returns the command df.
func Df(a *app.App) *cli.Command {
	var o dfOptions
	return a.NewCommand(app.Spec{
		Name: "df", Args: "[PATH...]", Most: -1,
		Summary: "show the space on each datacenter",
		Text: `Shows the size and the used and available space of the stores that hold the paths.
/pfs/DC stands for its home, public and mapped directories; /pfs, or no PATH, for all
datacenters of the current service. Space that a store reserves, or uses for more than
files, is neither used nor available. USE% is the used share of used and available.

--quota also shows the limits that each directory has of its own, the store's included:
a row for bytes, and one for files and directories. Without PATH it shows those of your
home. See also paddlectl quota.`,
		Examples: []string{"paddlectl df -h", "paddlectl df --json /pfs/dc1", "paddlectl df --quota /pfs/dc1/home/bob"},
		Exits:    app.PathExits(),
		Flags: []cli.Flag{
			app.HumanFlag(&o.human),
			&cli.BoolFlag{Name: "quota", Usage: "also show the limits of the directories", Destination: &o.quota},
			app.JSONFlag(&o.json),
		},
		Run: func(ctx context.Context, operands []string) error { return runDf(ctx, a, o, operands) },
	})
}

func runDf(ctx context.Context, a *app.App, o dfOptions, operands []string) error {
	if len(operands) == 0 && !o.quota {
		operands = []string{string(app.Top)}
	}
	f := &df{a: a, o: o, header: !o.json}
	return a.EachTarget(ctx, operands, func(t app.Target) error { return f.target(ctx, t) })
}

// df is one run of the command.
type df struct {
	a      *app.App
	o      dfOptions
	header bool // is still to be printed
}

// target shows the store that holds t, or all stores below t if t is above the stores.
func (f *df) target(ctx context.Context, t app.Target) error {
	if !app.AboveStores(t.Path) {
		return f.show(f.ask(ctx, t))
	}
	all, err := f.below(ctx, t)
	if err != nil {
		return err
	}
	tally := cliio.NewTally(f.a.ReportFailure)
	for _, a := range f.askAll(ctx, all) {
		err := f.show(a)
		tally.Add(err)
		if app.Hopeless(ctx, err) {
			break
		}
	}
	return tally.Err()
}

// show prints the row of a store, and the rows of its own limits.
func (f *df) show(a dfAnswer) error {
	if a.err != nil {
		return a.err
	}
	if f.header {
		f.a.Printf("%14s %14s %14s %4s  %s\n", "SIZE", "USED", "AVAIL", "USE%", "PATH")
		f.header = false
	}
	name := a.target.Path
	if err := f.o.print(f.a, dfRow{Path: name, Total: a.space.Total, Used: a.space.Used, Free: a.space.Free}); err != nil || !f.o.quota {
		return err
	}
	return f.limits(name, a.usage, a.usageErr)
}

// limits prints the rows of name's own limits.
func (f *df) limits(name pfs.Path, u pfs.Usage, err error) error {
	if err == nil && u.MaxBytes > 0 {
		err = f.o.print(f.a, dfRow{Path: name, Total: u.MaxBytes, Used: u.Bytes, Free: max(0, u.MaxBytes-u.Bytes), Quota: "bytes"})
	}
	if entries := u.Files + u.Dirs; err == nil && u.MaxFiles > 0 {
		err = f.o.print(f.a, dfRow{Path: name, Total: u.MaxFiles, Used: entries, Free: max(0, u.MaxFiles-entries), Quota: "files"})
	}
	return err
}

// dfRow is a row, as --json shows it.
type dfRow struct {
	Path  pfs.Path `json:"path"`
	Total int64    `json:"total"`
	Used  int64    `json:"used"`
	Free  int64    `json:"free"`            // available
	Quota string   `json:"quota,omitempty"` // what is limited, bytes or files; empty for a store
}

func (o dfOptions) print(a *app.App, r dfRow) error {
	if o.json {
		return a.JSON(r)
	}
	number := func(n int64) string { return fmt.Sprint(n) }
	size, note, most := number, "", r.Used+r.Free
	if o.human {
		size = cliio.ShortSize
	}
	if r.Quota != "" {
		note, most = " (limit of "+r.Quota+")", r.Total
	}
	if r.Quota == "files" {
		size = number
	}
	a.Printf("%14s %14s %14s %4s  %s%s\n", size(r.Total), size(r.Used), size(r.Free), share(r.Used, most), a.Name(string(r.Path)), note)
	return nil
}

// share formats a part of a whole in percent; "-" if the whole is not known.
func share(part, whole int64) string {
	if whole <= 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f%%", 100*float64(part)/float64(whole))
}

// dfAtOnce is how many stores are asked at the same time, because each silent store takes a whole
// timeout.
const dfAtOnce = 16

// dfAnswer is the answer of the store that holds a target.
type dfAnswer struct {
	target   app.Target
	space    pfs.Space
	usage    pfs.Usage // for --quota
	usageErr error
	err      error
}

// below returns the targets below t, which is above the stores. A target that cannot be listed
// has its error.
func (f *df) below(ctx context.Context, t app.Target) (all []dfAnswer, err error) {
	for e, err := range pfs.Entries(ctx, t.FS, t.Path, nil) {
		if err != nil {
			return nil, err
		}
		sub := app.Target{FS: t.FS, Path: t.Path.Join(e.Name)}
		switch {
		case sub.Path == app.CurrentPublic: // its datacenter has a row
		case app.AboveStores(sub.Path):
			more, err := f.below(ctx, sub)
			if err != nil {
				more = []dfAnswer{{target: sub, err: err}}
			}
			all = append(all, more...)
		default:
			all = append(all, dfAnswer{target: sub})
		}
	}
	return all, nil
}

// askAll fills in the answers that are missing.
func (f *df) askAll(ctx context.Context, all []dfAnswer) []dfAnswer {
	var wg sync.WaitGroup
	slots := make(chan struct{}, dfAtOnce)
	for i := range all {
		if all[i].err != nil {
			continue
		}
		slots <- struct{}{}
		wg.Go(func() {
			all[i] = f.ask(ctx, all[i].target)
			<-slots
		})
	}
	wg.Wait()
	return all
}

// ask asks the store that holds t.
func (f *df) ask(ctx context.Context, t app.Target) dfAnswer {
	a := dfAnswer{target: t}
	a.space, a.err = pfs.SpaceOf(ctx, t.FS, t.Path)
	if a.err == nil && f.o.quota {
		a.usage, a.usageErr = pfs.UsageOf(ctx, t.FS, t.Path)
	}
	return a
}
