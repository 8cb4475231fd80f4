package jobs

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/internal/job/jobfile"
	"github.com/urfave/cli/v2"
)

type checkOptions struct{ fix, json, sarif bool }

// Check returns the command check.
func Check(a *app.App) *cli.Command {
	o := &checkOptions{}
	return a.NewCommand(app.Spec{
		Name: "check", Args: "FILE...", Least: 1, Most: -1,
		Summary: "find mistakes in job files",
		Text: `Finds mistakes in job files before they reach a cluster: in PaddleJobs, Volcano jobs, jobs of
OpenPAI, and job files of paddlectl. Give files that belong together, such as a job and its
volumes, in one command. - is standard input. docs/jobfiles.md lists the rules.

Each finding has a position, a severity, a rule and, where it is known, the corrected text.
The exit code is 2 if there are errors, and 0 if there are only warnings. --fix writes
unambiguous corrections into the files and prints the remaining findings.`,
		Examples: []string{
			"paddlectl check data_demo.yaml pv-pvc.yaml",
			"paddlectl check --fix job.yaml",
			"paddlectl check --sarif *.yaml > findings.sarif",
		},
		Exits: []cliio.Code{cliio.NotFound, cliio.Denied},
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "fix", Usage: "correct the files", Destination: &o.fix},
			&cli.BoolFlag{Name: "sarif", Usage: "print the findings as SARIF, for editors and CI", Destination: &o.sarif},
			app.JSONFlag(&o.json),
		},
		Run: func(_ context.Context, operands []string) error { return check(a, o, operands) },
	})
}

func check(a *app.App, o *checkOptions, names []string) error {
	if o.json && o.sarif {
		return cliargs.Usagef("--json and --sarif exclude each other")
	}
	if o.fix && slices.Contains(names, "-") {
		return cliargs.Usagef("--fix is for files, not for standard input")
	}
	files, findings, err := checkFiles(a, names)
	if err != nil {
		return err
	}
	if o.fix {
		if findings, err = fixFiles(a, files, names, findings); err != nil {
			return err
		}
	}
	if o.sarif {
		err = a.JSON(jobfile.SARIF(findings, a.Main.Version))
	} else {
		err = printFindings(a, findings, o.json)
	}
	if err != nil {
		return err
	}
	for _, f := range findings {
		if f.Severity == jobfile.Error {
			return cliio.Reported(cliio.Usage)
		}
	}
	return nil
}

// checkFiles reads and checks all files together.
func checkFiles(a *app.App, names []string) ([]*jobfile.File, []jobfile.Finding, error) {
	var files []*jobfile.File
	for _, name := range names {
		f, err := readJobFile(a, name)
		if err != nil {
			return nil, nil, err
		}
		files = append(files, f)
	}
	return files, jobfile.Check(files...), nil
}

// fixFiles corrects files and returns what remains.
func fixFiles(a *app.App, files []*jobfile.File, names []string, findings []jobfile.Finding) ([]jobfile.Finding, error) {
	for _, f := range files {
		text, n := f.Fix(findings)
		if n == 0 {
			continue
		}
		info, err := os.Stat(f.Name)
		if err != nil {
			return nil, err
		}
		if err := job.WriteFile(f.Name, text, info.Mode().Perm()); err != nil {
			return nil, err
		}
		a.Message("%s: %d corrected", f.Name, n)
	}
	_, findings, err := checkFiles(a, names)
	return findings, err
}

func printFindings(a *app.App, findings []jobfile.Finding, json bool) error {
	for _, f := range findings {
		if json {
			if err := a.JSON(f); err != nil {
				return err
			}
			continue
		}
		fix := ""
		if f.Fix != "" {
			fix = fmt.Sprintf("\n\twrite: %s", f.Fix)
		}
		a.Printf("%s: %s: %s [%s]%s\n", f.Place(), f.Severity, f.Text, f.Rule, fix)
	}
	return nil
}
