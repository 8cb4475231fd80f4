package jobs

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/internal/job/jobfile"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/urfave/cli/v2"
)

// draft is a Spec in the making, from its defaults, a file and flags.
type draft struct {
	spec             job.Spec
	trainer, pserver job.Role
	pservers         int  // -1: not given
	ps               bool // something of parameter servers is given
	pkg              string
	datacenter       string
}

// defaultWait is how long a job waits for its outputs.
const defaultWait = 10 * time.Minute

func newDraft() *draft {
	return &draft{
		spec: job.Spec{
			ID: pfs.NewID(), Name: "paddle-cluster-job", Passes: 1, Env: map[string]string{}, MaxAttempts: 1,
			Restart: job.RestartJob, UploadWait: defaultWait,
		},
		trainer:  job.Role{Name: job.Trainer, Replicas: 1, CPU: 1000, Memory: 1 << 30},
		pserver:  job.Role{Name: job.Pserver, CPU: 1000, Memory: 1 << 30},
		pservers: -1,
	}
}

// field is a part of a draft that a flag or a key of a file sets.
type field struct {
	flag    string
	aliases []string
	usage   string
	preset  string // as --help shows it
	set     func(d *draft, text string) error
}

// number returns the setter of a whole number.
func number[N int | int64](to func(d *draft) *N) func(*draft, string) error {
	return func(d *draft, text string) error {
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil {
			return fmt.Errorf("%q is not a whole number", text)
		}
		*to(d) = N(n)
		return nil
	}
}

// text returns the setter of a text.
func text(to func(d *draft) *string) func(*draft, string) error {
	return func(d *draft, text string) error {
		*to(d) = text
		return nil
	}
}

// parsed returns a setter that parses the value.
func parsed[V any](to func(d *draft) *V, parse func(string) (V, error)) func(*draft, string) error {
	return func(d *draft, text string) (err error) {
		*to(d), err = parse(text)
		return err
	}
}

func duration(s string) (time.Duration, error) {
	d, err := cliio.ParseDuration(s)
	if err != nil {
		return 0, fmt.Errorf("%q is %w", s, err)
	}
	return d, nil
}

// fields are all flags of submit that describe the job, by the key of a file. Trainers and parameter
// servers are mappings in a file: "trainers.cpu" is the key cpu in the mapping trainers.
var fields = map[string]field{
	"name":     {"jobname", []string{"name"}, "`NAME` of the job: letters, digits, '-' and '.'", "paddle-cluster-job", text(func(d *draft) *string { return &d.spec.Name })},
	"package":  {"", nil, "", "", text(func(d *draft) *string { return &d.pkg })},
	"entry":    {"entry", nil, "run `COMMAND` in the package, by sh -c", "", text(func(d *draft) *string { return &d.spec.Entry })},
	"topology": {"topology", nil, "configuration `FILE` of PaddlePaddle v1, in the package", "", text(func(d *draft) *string { return &d.spec.Topology })},
	"passes":   {"passes", nil, "`N` passes over the data, for the program", "1", number(func(d *draft) *int { return &d.spec.Passes })},
	"image":    {"image", nil, "run in the container `IMAGE`", "that of the engine", text(func(d *draft) *string { return &d.spec.Image })},
	"registry": {"registry", nil, "pull the image with the credentials of the registry `NAME`", "", text(func(d *draft) *string { return &d.spec.Registry })},

	"trainers.replicas": {"parallelism", nil, "`N` trainers", "1", number(func(d *draft) *int { return &d.trainer.Replicas })},
	"trainers.cpu":      {"cpu", nil, "`N` processors for each trainer, such as 4, 0.5 or 500m", "1", parsed(func(d *draft) *int64 { return &d.trainer.CPU }, job.ParseCPU)},
	"trainers.gpu":      {"gpu", nil, "`N` GPUs for each trainer", "0", number(func(d *draft) *int64 { return &d.trainer.GPU })},
	"trainers.memory":   {"memory", nil, "memory of `SIZE` for each trainer, such as 1Gi or 512Mi", "1Gi", parsed(func(d *draft) *int64 { return &d.trainer.Memory }, job.ParseMemory)},
	"pservers.replicas": {"pservers", nil, "`N` parameter servers", "none; as many as trainers with -pscpu, -psmemory or -topology", number(func(d *draft) *int { return &d.pservers })},
	"pservers.cpu":      {"pscpu", nil, "`N` processors for each parameter server", "1", ofServers(parsed(func(d *draft) *int64 { return &d.pserver.CPU }, job.ParseCPU))},
	"pservers.memory":   {"psmemory", nil, "memory of `SIZE` for each parameter server", "1Gi", ofServers(parsed(func(d *draft) *int64 { return &d.pserver.Memory }, job.ParseMemory))},

	"env":          {"env", nil, "set the variable `NAME=VALUE` for the program; may be repeated", "", setEnv},
	"inputs":       {"input", nil, "copy `PATH` of the service to the machine before the start; may be repeated", "", addInput},
	"outputs":      {"output", nil, "upload the local directory `DIR` besides $PFS_OUTPUT; may be repeated", "", addOutput},
	"max-attempts": {"max-attempts", nil, "start the job at most `N` times", "1", number(func(d *draft) *int { return &d.spec.MaxAttempts })},
	"restart":      {"restart", nil, "start again after a failure: job (all processes, as the next attempt) or rank (only the one that failed)", "job", text(func(d *draft) *string { return (*string)(&d.spec.Restart) })},
	"time-limit":   {"time-limit", nil, "end an attempt after `DURATION`, such as 12h", "none", parsed(func(d *draft) *time.Duration { return &d.spec.TimeLimit }, duration)},
	"upload-wait":  {"upload-wait", nil, "wait at most `DURATION` for outputs after the program has ended", "10m", parsed(func(d *draft) *time.Duration { return &d.spec.UploadWait }, duration)},
	"engine":       {"engine", nil, "run with the engine `NAME`: local, kubernetes, paddlejob or volcano", "that of the datacenter", text(func(d *draft) *string { return &d.spec.Engine })},
	"scheduler":    {"scheduler", nil, "schedule all processes at once, by `NAME`: volcano", "", text(func(d *draft) *string { return &d.spec.Scheduler })},
	"queue":        {"queue", nil, "wait in the queue `NAME` of the scheduler", "that of the scheduler", text(func(d *draft) *string { return &d.spec.Queue })},
	"priority":     {"priority", nil, "have the priority class `NAME` of the scheduler", "", text(func(d *draft) *string { return &d.spec.Priority })},
	"datacenter":   {"datacenter", nil, "run in the datacenter `DC`", "that of PACKAGE, else the current one", text(func(d *draft) *string { return &d.datacenter })},
}

// ofServers notes that parameter servers are described.
func ofServers(set func(*draft, string) error) func(*draft, string) error {
	return func(d *draft, text string) error {
		d.ps = true
		return set(d, text)
	}
}

func setEnv(d *draft, text string) error {
	name, value, ok := strings.Cut(text, "=")
	if !ok {
		return fmt.Errorf("%q is not NAME=VALUE", text)
	}
	d.spec.Env[name] = value
	return nil
}

func addInput(d *draft, text string) error {
	p, err := pfs.CleanPath(text)
	if err != nil {
		return fmt.Errorf("%q is not a path on the service, such as /pfs/DC/home/USER/data", text)
	}
	d.spec.Inputs = append(d.spec.Inputs, p)
	return nil
}

func addOutput(d *draft, text string) error {
	d.spec.Outputs = append(d.spec.Outputs, text)
	return nil
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

// load applies the job file name in any format, "-" for standard input. It tells what the format has and jobs have not.
func (d *draft) load(a *app.App, name string) error {
	f, err := readJobFile(a, name)
	if err != nil {
		return err
	}
	values, left, err := f.Settings()
	if err != nil {
		return mistakes(f)
	}
	for _, l := range left {
		a.Message("%s", l)
	}
	var wrong []error
	for _, v := range values {
		if err := fields[v.Key].set(d, v.Text); err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %s: %w", v.Place, v.Key, err))
		}
	}
	return joined(wrong)
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

// mistakes returns why a file cannot be used, with all that is wrong.
func mistakes(f *jobfile.File) error {
	var list []error
	for i := range f.Findings {
		if f.Findings[i].Severity == jobfile.Error {
			list = append(list, &f.Findings[i])
		}
	}
	if len(list) == 0 {
		_, _, err := f.Job()
		return err
	}
	return joined(list)
}

// joined returns one error of Kind Invalid, in one line; nil if there is none.
func joined(list []error) error {
	if len(list) == 0 {
		return nil
	}
	texts := make([]string, len(list))
	for i, err := range list {
		texts[i] = err.Error()
	}
	return pfs.Errorf("paddlectl.submit", "", pfs.Invalid, "%s", strings.Join(texts, "; "))
}

// apply applies flags.
func (d *draft) apply(settings []setting) error {
	for _, s := range settings {
		if err := fields[s.key].set(d, s.text); err != nil {
			return cliargs.Usagef("-%s: %v", fields[s.key].flag, err)
		}
	}
	return nil
}

// v1Entry is the entry of a job that names only a topology: PaddlePaddle v1.
const v1Entry = `if [ "$TRAINING_ROLE" = PSERVER ]; then
  exec paddle pserver --port="$PADDLE_INIT_PORT" --ports_num="$PADDLE_INIT_PORTS_NUM" --ports_num_for_sparse="$PADDLE_INIT_PORTS_NUM_FOR_SPARSE" --num_gradient_servers="$PADDLE_INIT_NUM_GRADIENT_SERVERS" --use_gpu=0
fi
exec paddle train --config="$TOPOLOGY" --local=0 --trainer_id="$PADDLE_INIT_TRAINER_ID" --num_gradient_servers="$PADDLE_INIT_NUM_GRADIENT_SERVERS" --pservers="$PADDLE_INIT_PSERVERS" --port="$PADDLE_INIT_PORT" --ports_num="$PADDLE_INIT_PORTS_NUM" --ports_num_for_sparse="$PADDLE_INIT_PORTS_NUM_FOR_SPARSE" --num_passes="$PADDLE_INIT_NUM_PASSES" --trainer_count="$PADDLE_INIT_TRAINER_COUNT" --use_gpu="$PADDLE_INIT_USE_GPU" --save_dir="$PFS_OUTPUT"`

// finish completes the Spec but for the user, the datacenter and the package.
func (d *draft) finish() *job.Spec {
	s := &d.spec
	servers := d.pservers
	if servers < 0 {
		servers = 0
		if d.ps || s.Topology != "" {
			servers = d.trainer.Replicas
		}
	}
	if s.Topology != "" && s.Entry == "" {
		s.Entry = v1Entry
	}
	s.Roles = []job.Role{d.trainer}
	if servers > 0 {
		d.pserver.Replicas = servers
		s.Roles = append(s.Roles, d.pserver)
	}
	return s
}

// specFlags are the flags of fields of a Spec, by the names in a job.SpecError.
var specFlags = map[string]string{
	"name": "jobname", "entry": "entry", "topology": "topology", "passes": "passes", "image": "image", "registry": "registry",
	"trainer.replicas": "parallelism", "trainer.cpu": "cpu", "trainer.gpu": "gpu", "trainer.memory": "memory",
	"pserver.replicas": "pservers", "pserver.cpu": "pscpu", "pserver.memory": "psmemory",
	"env": "env", "inputs": "input", "outputs": "output", "max_attempts": "max-attempts", "restart": "restart", "time_limit": "time-limit", "upload_wait": "upload-wait",
}
