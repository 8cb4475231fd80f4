package app

import (
	"math"
	"regexp"

	"github.com/urfave/cli/v2"
)

// Flags that have the same meaning in several commands.

// AllLevels is the default of flags that limit the depth of a tree: no limit.
const AllLevels = math.MaxInt

// JSONFlag returns the flag --json of commands that print results.
func JSONFlag(to *bool) cli.Flag {
	return &cli.BoolFlag{Name: "json", Usage: "print results as JSON, one object per line", Destination: to}
}

// HumanFlag returns the flag --human-readable of commands that print sizes.
func HumanFlag(to *bool) cli.Flag {
	return &cli.BoolFlag{Name: "human-readable", Aliases: []string{"h"}, Usage: "sizes like 1.5G", Destination: to}
}

// QuietFlag returns the flag --quiet of commands that show a progress bar.
func QuietFlag(to *bool) cli.Flag {
	return &cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "no progress bar and no summary", Destination: to}
}

// OutputFlag returns the flag --output of commands that write one file.
func OutputFlag(to *string) cli.Flag {
	return &cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "write to `FILE`; - is standard output", Destination: to}
}

// ForceFlag returns the flag --force of commands that write files.
func ForceFlag(to *bool) cli.Flag {
	return &cli.BoolFlag{Name: "force", Aliases: []string{"f"}, Usage: "replace files that exist", Destination: to}
}

// ListFlag returns the value of a flag that may be given several times; each value is appended to list.
func ListFlag(list *[]string) cli.Generic { return &listFlag{list} }

// listFlag collects the values of a flag that may be given several times.
type listFlag struct{ values *[]string }

func (f *listFlag) Set(s string) error {
	*f.values = append(*f.values, s)
	return nil
}

func (f *listFlag) String() string { return "" }

// OldCount matches a number of lines in the old syntax of head, such as -5.
var OldCount = regexp.MustCompile(`^-\d+$`)
