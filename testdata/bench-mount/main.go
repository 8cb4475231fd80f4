//go:build linux

// Command bench-mount measures the kernel mount beside the native file system, rclone mount and
// ceph-fuse. The contenders of a row take turns, and medians and their ratios are printed as
// tables for docs/benchmarks.md. The last table compares all rows that have a goal with it. Mounts are
// served by processes of their own. A row that fails or did not run is named; the exit code is then 1.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		fatal(serve(os.Args[2:]))
		return
	}
	var b bench
	only := flag.String("only", "", "only rows that match this regular expression")
	flag.IntVar(&b.rounds, "rounds", 3, "turns that count for each contender")
	flag.StringVar(&b.rclone, "rclone", "", "the program rclone; empty if there is none")
	flag.StringVar(&b.service, "service", "", "a command that mounts a home of a running service; empty for none")
	flag.StringVar(&b.home, "home", "", "the directory in which that service keeps this home")
	flag.StringVar(&b.stores, "stores", "", "a command that starts an HDFS and a CephFS and prints their addresses; empty for none")
	keep := flag.String("dir", "", "the directory for files and caches, which is kept (default: a temporary one)")
	flag.Parse()
	var err error
	if b.only, err = regexp.Compile(*only); err != nil {
		fatal(err)
	}
	if b.dir = *keep; b.dir == "" {
		b.dir, err = os.MkdirTemp("", "bench-mount.")
		defer os.RemoveAll(b.dir)
	} else {
		err = os.MkdirAll(b.dir, 0o755)
	}
	if err == nil {
		b.self, err = os.Executable()
	}
	if err != nil {
		fatal(err)
	}
	if b.rclone == "" {
		b.failed = append(b.failed, "rclone mount, which is missing")
	}
	fmt.Printf("%d processors, %s, Linux %s, %d turns; medians.\n", runtime.NumCPU(), strings.TrimPrefix(runtime.Version(), "go"), kernel(), b.rounds)
	for _, part := range []func(*bench){warm, cold, writes, clusters, server} {
		part(&b)
		b.stopAll()
	}
	b.summary()
	if len(b.failed) > 0 {
		fmt.Printf("\nFAILED: %s\n", strings.Join(b.failed, ", "))
		if *keep == "" {
			os.RemoveAll(b.dir)
		}
		os.Exit(1)
	}
}

func fatal(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// bench is one run.
type bench struct {
	dir, self, rclone, stores string
	service, home             string
	only                      *regexp.Regexp
	rounds                    int
	failed                    []string
	results                   []result
	mounts                    []*mounted
}

// result is a row that has a goal.
type result struct {
	row, measured, goal string
	met                 bool
}

// summary prints all results, and notes the rows that are missing.
func (b *bench) summary() {
	fmt.Printf("\n| row | measured | goal | |\n|---|---|---|---|\n")
	for _, name := range goals(b.stores != "") {
		if !b.wants(name) {
			continue
		}
		i := slices.IndexFunc(b.results, func(r result) bool { return r.row == name })
		if i < 0 {
			fmt.Printf("| %s | - | | DID NOT RUN |\n", name)
			b.failed = append(b.failed, name)
			continue
		}
		r := b.results[i]
		fmt.Printf("| %s | %s | %s | %s |\n", name, r.measured, r.goal, map[bool]string{true: "met", false: "MISSED"}[r.met])
	}
	slices.Sort(b.failed)
	b.failed = slices.Compact(b.failed)
}

// goals returns the rows that have a goal.
func goals(stores bool) (names []string) {
	rows := slices.Concat(warmRows, coldRows, writeRows, []row{storeWrite})
	if stores {
		for _, store := range []string{"HDFS", "CephFS"} {
			rows = append(rows, clusterRows(store)...)
		}
	}
	for _, r := range rows {
		if r.goal > 0 || r.peerGoal > 0 {
			names = append(names, r.name)
		}
	}
	return append(names, cpuRow, memoryRow)
}

// note records the result of a row and returns its verdict.
func (b *bench) note(name, measured, goal string, met bool) string {
	b.results = append(b.results, result{name, measured, goal, met})
	return goal + map[bool]string{false: ", missed"}[met]
}

// wants reports whether one of the rows is to be measured.
func (b *bench) wants(rows ...string) bool { return slices.ContainsFunc(rows, b.only.MatchString) }

// path returns the name of a file of this run.
func (b *bench) path(elem ...string) string {
	return filepath.Join(append([]string{b.dir}, elem...)...)
}

// fail notes that a row could not be measured.
func (b *bench) fail(name string, err error) {
	b.failed = append(b.failed, name)
	fmt.Printf("| %s | FAILED: %s |\n", name, strings.Join(strings.Fields(err.Error()), " "))
}

// way is one contender of a row. do returns an amount a second, or seconds.
type way struct {
	name string
	do   func(round int) (float64, error)
}

// row compares ways. The first is what the others are compared with, the second is the mount.
type row struct {
	name, unit string
	goal       float64 // of the second against the first, or of unit if absolute
	peerGoal   float64 // of the second against the third
	least      bool    // the unit is seconds: less is better
	absolute   bool
	rehearse   bool // a warm row; see turns
	drops      bool // each turn empties the page cache itself
	ways       []way
}

// turns returns how often the page cache is filled, and the numbers of the first and the last turn after that; those
// from 1 on count. The turns of a warm row are short, so it has more of them. Its first rehearsal fills the cache of a
// mount through the server, and in the second the kernel reads a large file from there itself for the first time, from
// the disk. The speed of a page cache depends on the memory that it got, so it is filled several times.
func (r row) turns(rounds int) (fillings, first, last int) {
	if r.rehearse {
		return rounds, -1, 5
	}
	return 1, 1, rounds
}

// table prints the head of a table.
func (b *bench) table(what string, columns ...string) {
	fmt.Printf("\n| %s | %s | mount against %s | goal |\n|%s\n", what, strings.Join(columns, " | "), columns[0], strings.Repeat("---|", len(columns)+3))
}

// turn measures each way once. The second and every other filling begins with the mount, and so does every other turn of a row
// that fills the page cache only once.
func (b *bench) turn(r row, got [][]float64, filling, round int) error {
	order := []int{0, 1, 2}[:len(r.ways)]
	if filling%2 == 1 || !r.rehearse && round%2 == 0 {
		order[0], order[1] = 1, 0
	}
	for _, i := range order {
		w := r.ways[i]
		// One turn shows where a peer is, after one that fills its cache.
		if w.do == nil || i == 2 && (filling > 0 || round < 0 || round > 1) && r.peerGoal == 0 {
			continue
		}
		if !r.rehearse && !r.drops {
			if err := b.useMemory(); err != nil {
				return err
			}
		}
		v, err := w.do(max(round, 0) + filling*10)
		if err != nil && i == 2 {
			fmt.Fprintf(os.Stderr, "%s: %s: %v\n", r.name, w.name, err)
			r.ways[i].do = nil
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
		if round > 0 {
			got[i] = append(got[i], v)
		}
	}
	return nil
}

// run measures a row and prints it.
func (b *bench) run(r row) {
	if !b.only.MatchString(r.name) {
		return
	}
	got := make([][]float64, len(r.ways))
	fillings, first, last := r.turns(b.rounds)
	for filling := range fillings {
		if filling > 0 {
			if err := dropCaches(); err != nil {
				b.fail(r.name, err)
				return
			}
		}
		for round := first; round <= last; round++ {
			if err := b.turn(r, got, filling, round); err != nil {
				b.fail(r.name, err)
				return
			}
		}
	}
	line := fmt.Sprintf("| %s, %s |", r.name, r.unit)
	medians := make([]float64, len(got))
	for i, values := range got {
		if len(values) == 0 {
			line += " - |"
			continue
		}
		slices.Sort(values)
		medians[i] = values[len(values)/2]
		line += fmt.Sprintf(" %s (%s to %s) |", number(medians[i]), number(values[0]), number(values[len(values)-1]))
	}
	value := medians[1] / medians[0]
	if r.least {
		value = medians[0] / medians[1]
	}
	shown := value
	if r.absolute {
		shown = medians[1]
	}
	verdict := ""
	switch {
	case r.peerGoal > 0:
		if peer := medians[1] / medians[len(medians)-1]; medians[len(medians)-1] > 0 {
			verdict = b.note(r.name, number(peer)+" of "+r.ways[len(r.ways)-1].name, ">= "+number(r.peerGoal), peer >= r.peerGoal)
		}
	case r.absolute && r.least:
		verdict = b.note(r.name, number(shown)+" "+r.unit, "<= "+number(r.goal), shown <= r.goal)
	case r.absolute:
		verdict = b.note(r.name, number(shown)+" "+r.unit, ">= "+number(r.goal), shown >= r.goal)
	case r.goal > 0:
		verdict = b.note(r.name, number(shown)+" of "+r.ways[0].name, ">= "+number(r.goal), shown >= r.goal)
	}
	if medians[0] == 0 {
		fmt.Printf("%s - | %s |\n", line, verdict)
		return
	}
	fmt.Printf("%s %.2f | %s |\n", line, value, verdict)
}

// number prints three digits.
func number(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// timed returns how long do takes, in seconds.
func timed(do func() error) (float64, error) {
	start := time.Now()
	err := do()
	return time.Since(start).Seconds(), err
}

// rate returns amount a second.
func rate(amount float64, do func() error) (float64, error) {
	s, err := timed(do)
	return amount / s, err
}

func kernel() string {
	out, _ := exec.Command("uname", "-r").Output()
	return cmp.Or(strings.TrimSpace(string(out)), "?")
}

// flush writes what the kernel has to write, so that the next contender does not.
func flush() error { return exec.Command("sync").Run() }

// useMemory fills the free memory with clean pages. Many virtual machines get their memory from the host at the first touch of a
// page, which costs more than copying it: a contender that gets fresh pages would be slower than one that does not.
func (b *bench) useMemory() error {
	var system unix.Sysinfo_t
	if err := unix.Sysinfo(&system); err != nil {
		return err
	}
	size := int64(system.Freeram)*int64(system.Unit) - 512*mib
	if size <= 0 {
		return nil
	}
	f, err := os.CreateTemp(b.dir, "fill.") // its pages stay until it is removed
	if err != nil {
		return err
	}
	if err := errors.Join(f.Truncate(size), f.Close()); err != nil {
		return err
	}
	return readFile(f.Name())
}

// dropCaches empties the kernel's caches of files.
func dropCaches() error {
	return errors.Join(flush(), os.WriteFile("/proc/sys/vm/drop_caches", []byte("3"), 0))
}
