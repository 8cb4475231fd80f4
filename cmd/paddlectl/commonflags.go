package main

import (
	"math"
	"slices"
	"strings"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/urfave/cli/v2"
)

// The flags that several commands have, and mean the same by.

// allLevels is how far down a tree is gone if nothing is said.
const allLevels = math.MaxInt

// jsonFlag is --json of all commands that print results.
func jsonFlag(to *bool) cli.Flag {
	return &cli.BoolFlag{Name: "json", Usage: "results as JSON, one object a line", Destination: to}
}

// humanFlag is --human-readable of all commands that print sizes.
func humanFlag(to *bool) cli.Flag {
	return &cli.BoolFlag{Name: "human-readable", Aliases: []string{"h"}, Usage: "sizes like 1.5G", Destination: to}
}

// quietFlag is --quiet of all commands that show a bar.
func quietFlag(to *bool) cli.Flag {
	return &cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "no progress bar and no summary", Destination: to}
}

// outputFlag is --output of all commands that make one file.
func outputFlag(to *string) cli.Flag {
	return &cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "write to `FILE`; - is standard output", Destination: to}
}

// forceFlag is --force of all commands that make files.
func forceFlag(to *bool) cli.Flag {
	return &cli.BoolFlag{Name: "force", Aliases: []string{"f"}, Usage: "replace files that exist", Destination: to}
}

// listFlag gathers the values of a flag that may be given several times.
type listFlag struct{ values *[]string }

func (f *listFlag) Set(s string) error {
	*f.values = append(*f.values, s)
	return nil
}

func (f *listFlag) String() string { return "" }

// oneOf refuses a value that is not among those that a flag takes.
func oneOf(flag, value string, values ...string) error {
	if slices.Contains(values, value) {
		return nil
	}
	last := len(values) - 1
	return cliargs.Usagef("--%s %s: %s or %s is needed", flag, value, strings.Join(values[:last], ", "), values[last])
}
