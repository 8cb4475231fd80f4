package jobs

import (
	"context"
	"io"
	"maps"
	"os"
	"slices"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/internal/job/jobfile"
	"github.com/urfave/cli/v2"
)

// field is a flag of submit for a key of a job file.
type field struct {
	flag    string
	aliases []string
	usage   string
	preset  string // as --help shows it
}

// fields are all flags of submit that describe the job, by the key of a file. Trainers and parameter
// servers are mappings in a file: "trainers.cpu" is the key cpu in the mapping trainers.
var fields = map[string]field{
	"name":     {"jobname", []string{"name"}, "`NAME` of the job: letters, digits, '-' and '.'", "paddle-cluster-job"},
	"package":  {"", nil, "", ""},
	"entry":    {"entry", nil, "run `COMMAND` in the package, by sh -c", ""},
	"topology": {"topology", nil, "configuration `FILE` of PaddlePaddle v1, in the package", ""},
	"passes":   {"passes", nil, "`N` passes over the data, for the program", "1"},
	"image":    {"image", nil, "run in the container `IMAGE`", "that of the engine"},
	"registry": {"registry", nil, "pull the image with the credentials of the registry `NAME`", ""},

	"trainers.replicas": {"parallelism", nil, "`N` trainers", "1"},
	"trainers.cpu":      {"cpu", nil, "`N` processors for each trainer, such as 4, 0.5 or 500m", "1"},
	"trainers.gpu":      {"gpu", nil, "`N` GPUs for each trainer", "0"},
	"trainers.memory":   {"memory", nil, "memory of `SIZE` for each trainer, such as 1Gi or 512Mi", "1Gi"},
	"pservers.replicas": {"pservers", nil, "`N` parameter servers", "none; as many as trainers with -pscpu, -psmemory or -topology"},
	"pservers.cpu":      {"pscpu", nil, "`N` processors for each parameter server", "1"},
	"pservers.memory":   {"psmemory", nil, "memory of `SIZE` for each parameter server", "1Gi"},

	"env":           {"env", nil, "set the variable `NAME=VALUE` for the program; may be repeated", ""},
	"inputs":        {"input", nil, "copy `PATH` of the service to the machine before the start; may be repeated", ""},
	"outputs":       {"output", nil, "upload the local directory `DIR` besides $PFS_OUTPUT; may be repeated", ""},
	"claims":        {"claim", nil, "mount the claim NAME of Kubernetes at DIR: `NAME:DIR`, or NAME:DIR:ro for reading only; may be repeated", ""},
	"node-selector": {"node-selector", nil, "run on machines of Kubernetes with the label `KEY=VALUE`; may be repeated", ""},
	"max-attempts":  {"max-attempts", nil, "start the job at most `N` times", "1"},
	"restart":       {"restart", nil, "start again after a failure: job (all processes, as the next attempt) or rank (only the one that failed)", "job"},
	"time-limit":    {"time-limit", nil, "end an attempt after `DURATION`, such as 12h", "none"},
	"upload-wait":   {"upload-wait", nil, "wait at most `DURATION` for outputs after the program has ended", "10m"},
	"engine":        {"engine", nil, "run with the engine `NAME`: local, kubernetes, paddlejob, volcano or openpai", "that of the datacenter"},
	"scheduler":     {"scheduler", nil, "schedule all processes at once, by `NAME`: volcano", ""},
	"queue":         {"queue", nil, "wait in the queue `NAME` of the scheduler", "that of the scheduler"},
	"priority":      {"priority", nil, "have the priority class `NAME` of the scheduler", ""},
	"datacenter":    {"datacenter", nil, "run in the datacenter `DC`", "that of PACKAGE, else the current one"},
}

// setting is a flag as it was given.
type setting struct{ key, text string }

// settingFlag is the value of a flag that is applied after the file.
type settingFlag struct {
	key  string
	to   *[]setting
	last string // the library sets a flag with an alias again to what String returns
}

func (f *settingFlag) Set(s string) error {
	f.last = s
	*f.to = append(*f.to, setting{f.key, s})
	return nil
}

func (f *settingFlag) String() string { return f.last }

// fieldFlags returns the flags of all fields, which append to to.
func fieldFlags(to *[]setting) (flags []cli.Flag) {
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		f := fields[key]
		if f.flag == "" {
			continue
		}
		flags = append(flags, &cli.GenericFlag{Name: f.flag, Aliases: f.aliases, Usage: f.usage, DefaultText: f.preset, Value: &settingFlag{key: key, to: to}})
	}
	return flags
}

// load applies the job file name in any format, "-" for standard input. It tells what the format has and jobs have
// not, as far as it does not matter.
func load(a *app.App, d *jobfile.Draft, name string) error {
	f, err := readJobFile(a, name)
	if err != nil {
		return err
	}
	left, err := d.Load(f)
	for _, l := range left {
		if !l.Matters() {
			a.Message("%s", l)
		}
	}
	return err
}

// readJobFile reads a local file, "-" for standard input.
func readJobFile(a *app.App, name string) (*jobfile.File, error) {
	in := a.Main.Stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	text, err := cliio.Await(context.Background(), func() ([]byte, error) { return io.ReadAll(io.LimitReader(in, jobfile.MaxFile+1)) })
	if err != nil {
		return nil, err
	}
	return jobfile.Read(name, text), nil
}

// apply applies flags.
func apply(d *jobfile.Draft, settings []setting) error {
	for _, s := range settings {
		if err := d.Set(s.key, s.text); err != nil {
			return cliargs.Usagef("-%s: %v", fields[s.key].flag, err)
		}
	}
	return nil
}

// specFlags are the flags of fields of a Spec, by the names in a job.SpecError.
var specFlags = map[string]string{
	"name": "jobname", "entry": "entry", "topology": "topology", "passes": "passes", "image": "image", "registry": "registry",
	"trainer.replicas": "parallelism", "trainer.cpu": "cpu", "trainer.gpu": "gpu", "trainer.memory": "memory",
	"pserver.replicas": "pservers", "pserver.cpu": "pscpu", "pserver.memory": "psmemory",
	"env": "env", "inputs": "input", "outputs": "output", "claims": "claim", "node_selector": "node-selector", "max_attempts": "max-attempts", "restart": "restart", "time_limit": "time-limit", "upload_wait": "upload-wait",
}
