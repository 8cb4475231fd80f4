package app

import (
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/urfave/cli/v2"
)

// The flags that several commands have, and mean the same by.

// AllLevels is how far down a tree is gone if nothing is said.
const AllLevels = math.MaxInt

// JSONFlag is --json of all commands that print results.
func JSONFlag(to *bool) cli.Flag {
	return &cli.BoolFlag{Name: "json", Usage: "print results as JSON, one object per line", Destination: to}
}

// HumanFlag is --human-readable of all commands that print sizes.
func HumanFlag(to *bool) cli.Flag {
	return &cli.BoolFlag{Name: "human-readable", Aliases: []string{"h"}, Usage: "sizes like 1.5G", Destination: to}
}

// QuietFlag is --quiet of all commands that show a bar.
func QuietFlag(to *bool) cli.Flag {
	return &cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "no progress bar and no summary", Destination: to}
}

// OutputFlag is --output of all commands that make one file.
func OutputFlag(to *string) cli.Flag {
	return &cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "write to `FILE`; - is standard output", Destination: to}
}

// ForceFlag is --force of all commands that make files.
func ForceFlag(to *bool) cli.Flag {
	return &cli.BoolFlag{Name: "force", Aliases: []string{"f"}, Usage: "replace files that exist", Destination: to}
}

// ListFlag returns the value of a flag that adds each of its values to list.
func ListFlag(list *[]string) cli.Generic { return &listFlag{list} }

// listFlag gathers the values of a flag that may be given several times.
type listFlag struct{ values *[]string }

func (f *listFlag) Set(s string) error {
	*f.values = append(*f.values, s)
	return nil
}

func (f *listFlag) String() string { return "" }

// OneOf refuses a value that is not among those that a flag takes.
func OneOf(flag, value string, values ...string) error {
	if slices.Contains(values, value) {
		return nil
	}
	last := len(values) - 1
	return cliargs.Usagef("--%s %s: %s or %s is needed", flag, value, strings.Join(values[:last], ", "), values[last])
}

// OldCount is a number of lines as head of old takes it.
var OldCount = regexp.MustCompile(`^-\d+$`)
