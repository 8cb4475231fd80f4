package files

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/urfave/cli/v2"
)

// Df returns the command df.
func Df(a *app.App) *cli.Command {
	f := &df{App: a}
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
			app.HumanFlag(&f.human),
			&cli.BoolFlag{Name: "quota", Usage: "also show the limits of the directories", Destination: &f.quota},
			app.JSONFlag(&f.json),
		},
		Run: func(ctx context.Context, operands []string) error {
			if len(operands) == 0 && !f.quota {
				operands = []string{string(app.Top)}
			}
			return a.EachTarget(ctx, operands, func(t app.Target) error { return f.target(ctx, t) })
		},
	})
}

// df is one run of the command.
type df struct {
	*app.App
	human, json, quota bool

	begun bool // the header was printed
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
	tally := cliio.NewTally(f.ReportFailure)
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
	if !f.begun && !f.json {
		f.Printf("%14s %14s %14s %4s  %s\n", "SIZE", "USED", "AVAIL", "USE%", "PATH")
	}
	f.begun = true
	name := a.target.Path
	f.print(dfRow{Path: name, Total: a.space.Total, Used: a.space.Used, Free: a.space.Free})
	u, entries := a.usage, a.usage.Files+a.usage.Dirs
	if u.MaxBytes > 0 {
		f.print(dfRow{Path: name, Total: u.MaxBytes, Used: u.Bytes, Free: max(0, u.MaxBytes-u.Bytes), Quota: "bytes"})
	}
	if u.MaxFiles > 0 {
		f.print(dfRow{Path: name, Total: u.MaxFiles, Used: entries, Free: max(0, u.MaxFiles-entries), Quota: "files"})
	}
	return a.usageErr
}

// dfRow is a row, as --json shows it.
type dfRow struct {
	Path  pfs.Path `json:"path"`
	Total int64    `json:"total"`
	Used  int64    `json:"used"`
	Free  int64    `json:"free"`            // available
	Quota string   `json:"quota,omitempty"` // the limit, bytes or files; empty for a store
}

func (f *df) print(r dfRow) {
	size, note, most := sizes(f.human && r.Quota != "files"), "", r.Used+r.Free
	if r.Quota != "" {
		note, most = " (limit of "+r.Quota+")", r.Total
	}
	f.Show(f.json, r, "%14s %14s %14s %4s  %s%s\n", size(r.Total), size(r.Used), size(r.Free), share(r.Used, most), f.Name(string(r.Path)), note)
}

// sizes returns the function that formats numbers of bytes.
func sizes(human bool) func(int64) string {
	if human {
		return cliio.ShortSize
	}
	return func(n int64) string { return strconv.FormatInt(n, 10) }
}

// share formats a part of a whole in percent, or "-" if the whole is unknown.
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
	if a.err == nil && f.quota {
		a.usage, a.usageErr = pfs.UsageOf(ctx, t.FS, t.Path)
	}
	return a
}
