package jobs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/cmd/paddlectl/localjobs"
	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/internal/job/jobfile"
	"github.com/paddlecloud/pfs/internal/job/local"
	"github.com/paddlecloud/pfs/internal/job/submit"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/retry"
	"github.com/paddlecloud/pfs/pfs/transfer"
	"github.com/urfave/cli/v2"
)

type submitOptions struct {
	settings     []setting
	file         string
	dryRun       bool
	format       string
	wait, follow bool
	quiet, json  bool
}

// Submit returns the command submit.
func Submit(a *app.App) *cli.Command {
	o := &submitOptions{}
	return a.NewCommand(app.Spec{
		Name: "submit", Args: "[FILE] [PACKAGE]", Most: 2,
		Summary: "submit a job",
		Text: `Starts a training job. PACKAGE is a local directory, which is uploaded, or a directory
/pfs/DC/... on the service, which is used as it is. Files that an earlier upload under the
same name has sent are not sent again. The history of git, and files that .gitignore and
.paddleignore list, are left out; .paddleignore decides last.

The command runs in the package, once for each trainer and parameter server. Files in the
directory $PFS_OUTPUT are uploaded while it runs, and committed when it has ended, with
success or not: paddlectl get outputs shows and verifies them.

A submit that fails removes everything that it has created. --dry-run makes all checks and
prints what would be created.

FILE describes a job: in YAML as in docs/jobs.md, or as PaddleJob, Volcano job, or job of
OpenPAI, recognized by its content. The command names the fields that it leaves out, and
submits nothing if the job would run differently without them; paddlectl check FILE lists
the mistakes in a file. Flags take precedence. A job of OpenPAI needs no PACKAGE if its
codeDir is on the service.`,
		Examples: []string{
			`paddlectl submit -jobname fit -parallelism 2 -memory 2Gi -entry "python train.py" ./package`,
			`paddlectl submit -jobname ctr -parallelism 10 -pservers 3 -entry "python train.py" /pfs/dc1/home/alice/ctr_demo_package`,
			`paddlectl submit job.yaml --follow`,
			`paddlectl submit new_job.pai.json ./src`,
		},
		Exits: exits(cliio.Integrity, cliio.Partly),
		Flags: append(fieldFlags(&o.settings),
			&cli.StringFlag{Name: "file", Usage: "read the job from `FILE`, as the first operand may be; - is standard input", Destination: &o.file},
			&cli.BoolFlag{Name: "dry-run", Aliases: []string{"n"}, Usage: "check everything, print what would be created, and change nothing", Destination: &o.dryRun},
			&cli.GenericFlag{Name: "format", Aliases: []string{"o"}, Usage: "print a dry run as `FORMAT`: yaml or json", Value: cliargs.OneOf(&o.format, "yaml", "json")},
			&cli.BoolFlag{Name: "wait", Usage: "wait for the end of the job, as paddlectl wait does", Destination: &o.wait},
			&cli.BoolFlag{Name: "follow", Usage: "print the logs until the job has ended, then do as --wait", Destination: &o.follow},
			app.QuietFlag(&o.quiet),
			app.JSONFlag(&o.json)),
		Run: func(ctx context.Context, operands []string) error { return runSubmit(ctx, a, o, operands) },
	})
}

func runSubmit(ctx context.Context, a *app.App, o *submitOptions, operands []string) error {
	if o.format != "" && !o.dryRun {
		return cliargs.Usagef("--format is for --dry-run")
	}
	s, sub, err := o.prepare(ctx, a, jobfile.NewDraft(), operands)
	if err != nil {
		return err
	}
	spec := sub.Spec
	if s.kind == local.Name && (spec.Image != "" || spec.Registry != "") {
		a.Message("jobs on this machine run its own programs: the image and the registry are not used")
	}
	if o.dryRun {
		if o.json {
			o.format = "json"
		}
		plan, err := sub.Plan(ctx)
		if err != nil {
			return s.explain(err, o.file)
		}
		return printPlan(a, plan, o.format)
	}
	if err := sub.Submit(ctx); err != nil {
		return s.explain(err, o.file)
	}
	if o.json || !o.quiet {
		a.Show(o.json, submitted{spec.Name, spec.Datacenter, cmp.Or(spec.Engine, s.kind), spec.Package}, "%s submitted\n", spec.Name)
	}
	switch {
	case o.follow:
		if err := s.followLogs(ctx, spec.Name, o.json); err != nil {
			return err
		}
		fallthrough
	case o.wait:
		return s.wait(ctx, []string{spec.Name}, 0, o.json)
	}
	return nil
}

// followLogs prints the logs until the job has ended: of each attempt in turn, because the first ones may have ended before
// their logs are asked for.
func (s *session) followLogs(ctx context.Context, name string, json bool) error {
	l := &logs{session: s, o: logsOptions{follow: true, lines: -1, json: json, attempt: 1}}
	for {
		if err := l.run(ctx, name); err != nil {
			return err
		}
		rec, _, err := s.job(ctx, name)
		switch {
		case err != nil:
			return err
		case rec.Attempt > l.o.attempt:
			l.o.attempt++
		case rec.State.Ended():
			return nil
		default:
			if err := retry.Sleep(ctx, every); err != nil {
				return err
			}
		}
	}
}

// prepare completes d by file, flags and operand.
func (o *submitOptions) prepare(ctx context.Context, a *app.App, d *jobfile.Draft, operands []string) (*session, *submit.Submission, error) {
	if len(operands) > 0 && o.file == "" && (operands[0] == "-" || isFile(operands[0])) {
		o.file, operands = operands[0], operands[1:]
	}
	if len(operands) > 1 {
		return nil, nil, cliargs.Usagef("%s is not a job file: of two operands the first is", operands[0])
	}
	if o.file != "" {
		if err := load(a, d, o.file); err != nil {
			return nil, nil, err
		}
	}
	if err := apply(d, o.settings); err != nil {
		return nil, nil, err
	}
	if len(operands) == 1 {
		d.Package = operands[0]
	} else if d.Package != "" && !filepath.IsAbs(d.Package) && o.file != "-" {
		d.Package = filepath.Join(filepath.Dir(o.file), d.Package)
	}
	if err := d.Undecided(func(key string) string { return "with -" + fields[key].flag }); err != nil {
		return nil, nil, err
	}
	var pkg app.Operand
	var err error
	switch {
	case d.Package != "":
		pkg, err = a.ParseOperand(d.Package)
	case d.Spec.PAI == nil:
		err = cliargs.Usagef("a PACKAGE is needed: a local directory, or a directory /pfs/DC/... on the service")
	}
	if err != nil {
		return nil, nil, err
	}
	if pkg.Side == app.Stdio {
		return nil, nil, cliargs.Usagef("a PACKAGE is a directory, not standard input")
	}
	s, err := openPackage(ctx, a, d.Datacenter, pkg, o.json)
	if err != nil {
		return nil, nil, err
	}
	spec := d.Finish()
	spec.User, spec.Datacenter = s.user, s.dc
	if err := s.choose(ctx, spec); err != nil {
		return nil, nil, err
	}
	for i, p := range spec.Inputs {
		spec.Inputs[i] = s.ownName(p)
	}
	sub := &submit.Submission{FS: s.fs, Engine: s.engine, Kind: s.kind, Spec: spec, Note: a.Message, Copy: transfer.Options{Origin: origin()}}
	switch {
	case d.Package == "": // codeDir of OpenPAI, or none
	case pkg.Side == app.Local:
		if slices.Contains(strings.Split(filepath.ToSlash(pkg.Local), "/"), "..") {
			return nil, nil, cliargs.Usagef("the package %q contains \"..\": go to the directory above the package, or give an absolute path", pkg.Local)
		}
		if sub.Package, err = a.Local.End(pkg.Local); err == nil && spec.PAI != nil && !slices.ContainsFunc(o.settings, func(s setting) bool { return s.key == "name" }) {
			err = rename(ctx, a, d, sub.Package)
		}
		if err != nil {
			return nil, nil, err
		}
	default:
		spec.Package = s.ownName(pkg.Path)
	}
	if err := d.Place(s.user, s.dc); err != nil {
		return nil, nil, err
	}
	if !o.quiet && !o.dryRun && a.Terminal(a.Main.Stderr) {
		sub.Watch = func(j *transfer.Job) func() { return a.StartBar(func() cliio.Progress { return progress(j) }) }
		sub.Copy.Totals = true
	}
	return s, sub, nil
}

// rename gives a job of OpenPAI another name each time if the settings in its package ask for it.
func rename(ctx context.Context, a *app.App, d *jobfile.Draft, root transfer.End) error {
	asked, err := submit.NewName(ctx, root)
	if asked {
		a.Message("the job is called %s, since .vscode/settings.json asks for a new name each time (pai.job.generateJobName); -jobname NAME chooses one", d.Rename())
	}
	return err
}

// isFile reports whether an operand names a local file.
func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// choose makes the engine of spec that of the session, if spec names one.
func (s *session) choose(ctx context.Context, spec *job.Spec) (err error) {
	switch {
	case spec.Engine == local.Name && s.kind != local.Name:
		s.kind = local.Name
		if s.engine, err = localjobs.Engine(ctx, s.App, s.alias, s.dc); err != nil {
			return err
		}
	case s.kind == local.Name && spec.Engine != "" && spec.Engine != local.Name:
		return cliargs.Usagef("--engine %q: jobs of the datacenter %q run on the machine that submits them; the administrator of the service configures other engines", spec.Engine, s.dc)
	}
	if s.kind == local.Name {
		spec.Engine = ""
		if spec.Scheduler+spec.Queue+spec.Priority != "" {
			s.Message("jobs on this machine start at once: the scheduler, the queue and the priority are not used")
			spec.Scheduler, spec.Queue, spec.Priority = "", "", ""
		}
		for _, c := range spec.Claims {
			s.Message("jobs on this machine use its own directories: the claim %s is not mounted at %s", c.Name, c.Dir)
		}
		spec.Claims, spec.NodeSelector = nil, nil
	}
	return nil
}

// submitted is the result of submit with --json.
type submitted struct {
	Name       string   `json:"name"`
	Datacenter string   `json:"datacenter"`
	Engine     string   `json:"engine"`
	Package    pfs.Path `json:"package"`
}

// openPackage opens the datacenter of a job, which a package on the service decides if name is empty.
func openPackage(ctx context.Context, a *app.App, name string, pkg app.Operand, json bool) (*session, error) {
	if pkg.Side == app.Remote && name == "" {
		parts := strings.Split(string(pkg.Path), "/") // "", pfs, DC
		if len(parts) > 3 && pkg.Path != app.CurrentPublic && !pkg.Path.Within(app.CurrentPublic) {
			name = parts[2]
		}
	}
	return open(ctx, a, name, json)
}

// origin names this machine in the IDs of uploads.
func origin() string { return host() + "/" + fmt.Sprint(os.Getuid()) }

func progress(j *transfer.Job) cliio.Progress {
	s := j.Stats()
	return cliio.Progress{
		Done: s.BytesDone, Total: s.Bytes, Moved: s.BytesDone - s.BytesSkipped - s.BytesResumed,
		Files: s.FilesDone + s.Skipped, FilesTotal: s.Files, Complete: s.Complete, Name: "package",
	}
}

// explain names the flag of a wrong value, and adds hints.
func (s *session) explain(err error, file string) error {
	var spec *job.SpecError
	var name *submit.NameError
	var left *submit.LeftError
	switch {
	case errors.As(err, &spec) && file == "" && specFlags[spec.Field] != "":
		return cliargs.Usagef("-%s%s", specFlags[spec.Field], strings.TrimPrefix(spec.Error(), spec.Field))
	case errors.As(err, &name):
		way := name.WayOut
		for _, command := range []string{"kill -rm ", "delete ", "rm -r "} {
			way = strings.ReplaceAll(way, ": "+command, ": "+s.Paddlectl+" "+command)
		}
		return app.WithHint(err, way)
	case errors.As(err, &left) && left.Left == "":
		return app.WithHint(err, s.Paddlectl+" describe "+left.Name)
	case errors.As(err, &left):
		return app.WithHint(err, s.Paddlectl+" delete "+left.Name+" removes it")
	case errors.Is(err, pfs.Quota):
		return app.WithHint(err, s.Paddlectl+" get quota shows the limits of jobs, "+s.Paddlectl+" quota those of files")
	}
	return err
}

// printPlan prints the objects of a dry run.
func printPlan(a *app.App, plan []json.RawMessage, format string) error {
	for _, object := range plan {
		if format == "json" {
			if err := a.JSON(object); err != nil {
				return err
			}
			continue
		}
		text, err := jobfile.YAML(object)
		if err != nil {
			return err
		}
		a.Printf("---\n%s", text)
	}
	return nil
}
