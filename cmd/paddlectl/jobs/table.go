package jobs

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/paddlecloud/pfs/internal/job"
	"github.com/urfave/cli/v2"
)

// shape holds the flags that choose the form of a table.
type shape struct {
	json, legacy bool
}

// legacyFlag returns the flag --legacy-table.
func (s *shape) legacyFlag() cli.Flag {
	return &cli.BoolFlag{Name: "legacy-table", Usage: "print the table of 2017", Destination: &s.legacy}
}

// table prints rows of cells. The rows of 2017 are separated by single tabs.
func table(w io.Writer, rows [][]string) error {
	t := tabwriter.NewWriter(w, 0, 8, 3, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	return t.Flush()
}

// legacyTable prints rows separated by tabs.
func legacyTable(w io.Writer, rows [][]string) error {
	for _, row := range rows {
		if _, err := fmt.Fprintln(w, strings.Join(row, "\t")); err != nil {
			return err
		}
	}
	return nil
}

// none is an empty cell of 2017.
const none = "<nil>"

// clock formats a time for a table.
func clock(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format(time.DateTime)
}

// legacyTime formats a time as in 2017.
func legacyTime(t time.Time) string {
	if t.IsZero() {
		return none
	}
	return t.UTC().Format(time.RFC3339)
}

// legacyCount formats a number as in 2017: none for 0.
func legacyCount(n int) string {
	if n == 0 {
		return none
	}
	return strconv.Itoa(n)
}

// orDash returns s, or "-" if it is empty.
func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// count returns the number of workers, without parameter servers, in one of the states.
func count(r *job.Record, states ...job.State) (n int) {
	for _, w := range r.Workers {
		for _, s := range states {
			if w.State == s && !r.Spec.Serves(w.Role) {
				n++
			}
		}
	}
	return n
}

// trainers returns how many trainers of a job run or have succeeded, of how many.
func trainers(r *job.Record) string {
	all := 0
	for _, role := range r.Spec.Roles {
		if !r.Spec.Serves(role.Name) {
			all += role.Replicas
		}
	}
	return fmt.Sprintf("%d/%d", count(r, job.Running, job.Uploading, job.Succeeded), all)
}

// ending returns how a worker ended.
func ending(w *job.Worker) string {
	switch {
	case w.Signal != "":
		return w.Signal
	case w.ExitCode != nil:
		return strconv.Itoa(*w.ExitCode)
	}
	return "-"
}
