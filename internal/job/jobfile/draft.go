package jobfile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/pfs"
)

// Draft is an unfinished job.Spec: default values, overridden by a file and by single settings.
type Draft struct {
	Spec             job.Spec // without its roles
	Trainer, Pserver job.Role
	Package          string // as it was given
	Datacenter       string

	pservers int    // -1: not given
	servers  bool   // something of parameter servers is given
	tasks    *tasks // of a job of OpenPAI
	lost     []Left // what a file says, jobs have not, and no setting decides yet
}

// defaultWait is how long a job waits for its outputs.
const defaultWait = 10 * time.Minute

// NewDraft returns a draft with the default values.
func NewDraft() *Draft {
	return &Draft{
		Spec: job.Spec{
			ID: pfs.NewID(), Name: "paddle-cluster-job", Passes: 1, Env: map[string]string{}, MaxAttempts: 1,
			Restart: job.RestartJob, UploadWait: defaultWait,
		},
		Trainer:  job.Role{Name: job.Trainer, Replicas: 1, CPU: 1000, Memory: 1 << 30},
		Pserver:  job.Role{Name: job.Pserver, CPU: 1000, Memory: 1 << 30},
		pservers: -1,
	}
}

// number returns the setter of a whole number.
func number[N int | int64](to func(d *Draft) *N) func(*Draft, string) error {
	return func(d *Draft, text string) error {
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil {
			return fmt.Errorf("%q is not a whole number", text)
		}
		*to(d) = N(n)
		return nil
	}
}

// text returns the setter of a text.
func text(to func(d *Draft) *string) func(*Draft, string) error {
	return func(d *Draft, text string) error {
		*to(d) = text
		return nil
	}
}

// parsed returns a setter that parses the value.
func parsed[V any](to func(d *Draft) *V, parse func(string) (V, error)) func(*Draft, string) error {
	return func(d *Draft, text string) (err error) {
		*to(d), err = parse(text)
		return err
	}
}

// setters set parts of a draft, by the key of this project's YAML. Trainers and parameter servers are mappings in a
// file: "trainers.cpu" is the key cpu in the mapping trainers.
var setters = map[string]func(d *Draft, text string) error{
	"name":     text(func(d *Draft) *string { return &d.Spec.Name }),
	"package":  text(func(d *Draft) *string { return &d.Package }),
	"entry":    text(func(d *Draft) *string { return &d.Spec.Entry }),
	"topology": text(func(d *Draft) *string { return &d.Spec.Topology }),
	"passes":   number(func(d *Draft) *int { return &d.Spec.Passes }),
	"image":    text(func(d *Draft) *string { return &d.Spec.Image }),
	"registry": text(func(d *Draft) *string { return &d.Spec.Registry }),

	"trainers.replicas": number(func(d *Draft) *int { return &d.Trainer.Replicas }),
	"trainers.cpu":      parsed(func(d *Draft) *int64 { return &d.Trainer.CPU }, job.ParseCPU),
	"trainers.gpu":      number(func(d *Draft) *int64 { return &d.Trainer.GPU }),
	"trainers.memory":   parsed(func(d *Draft) *int64 { return &d.Trainer.Memory }, job.ParseMemory),
	"pservers.replicas": setServers,
	"pservers.cpu":      ofServers(parsed(func(d *Draft) *int64 { return &d.Pserver.CPU }, job.ParseCPU)),
	"pservers.gpu":      ofServers(number(func(d *Draft) *int64 { return &d.Pserver.GPU })),
	"pservers.memory":   ofServers(parsed(func(d *Draft) *int64 { return &d.Pserver.Memory }, job.ParseMemory)),

	"env":           setEnv,
	"inputs":        addInput,
	"outputs":       addOutput,
	"claims":        addClaim,
	"node-selector": addLabel,
	"max-attempts":  number(func(d *Draft) *int { return &d.Spec.MaxAttempts }),
	"restart":       text(func(d *Draft) *string { return (*string)(&d.Spec.Restart) }),
	"time-limit":    parsed(func(d *Draft) *time.Duration { return &d.Spec.TimeLimit }, duration),
	"upload-wait":   parsed(func(d *Draft) *time.Duration { return &d.Spec.UploadWait }, duration),
	"engine":        text(func(d *Draft) *string { return &d.Spec.Engine }),
	"scheduler":     text(func(d *Draft) *string { return &d.Spec.Scheduler }),
	"queue":         text(func(d *Draft) *string { return &d.Spec.Queue }),
	"priority":      text(func(d *Draft) *string { return &d.Spec.Priority }),
	"datacenter":    text(func(d *Draft) *string { return &d.Datacenter }),
}

func duration(s string) (time.Duration, error) {
	d, err := job.ParseDuration(s)
	if err != nil {
		return 0, fmt.Errorf("%q is %w", s, err)
	}
	return d, nil
}

// ofServers notes that parameter servers are described.
func ofServers(set func(*Draft, string) error) func(*Draft, string) error {
	return func(d *Draft, text string) error {
		d.servers = true
		return set(d, text)
	}
}

func setServers(d *Draft, text string) error {
	n := 0
	if err := number(func(*Draft) *int { return &n })(d, text); err != nil {
		return err
	}
	if n < 0 {
		return fmt.Errorf("%q: it cannot be negative", text)
	}
	d.pservers = n
	return nil
}

func setEnv(d *Draft, text string) error {
	name, value, ok := strings.Cut(text, "=")
	if !ok {
		return fmt.Errorf("%q is not NAME=VALUE", text)
	}
	d.Spec.Env[name] = value
	return nil
}

func addInput(d *Draft, text string) error {
	p, err := pfs.CleanPath(text)
	if err != nil {
		return fmt.Errorf("%q is not a path on the service, such as /pfs/DC/home/USER/data", text)
	}
	d.Spec.Inputs = append(d.Spec.Inputs, p)
	return nil
}

func addClaim(d *Draft, text string) error {
	c, err := job.ParseClaim(text)
	d.Spec.Claims = append(d.Spec.Claims, c)
	return err
}

func addLabel(d *Draft, text string) error {
	name, value, ok := strings.Cut(text, "=")
	if !ok {
		return fmt.Errorf("%q is not KEY=VALUE", text)
	}
	if d.Spec.NodeSelector == nil {
		d.Spec.NodeSelector = map[string]string{}
	}
	d.Spec.NodeSelector[name] = value
	return nil
}

func addOutput(d *Draft, text string) error {
	d.Spec.Outputs = append(d.Spec.Outputs, text)
	return nil
}

// Set sets the key of this project's YAML; "env" and "node-selector" take NAME=VALUE. Keys of lists and maps add to them.
func (d *Draft) Set(key, text string) error {
	d.lost = slices.DeleteFunc(d.lost, func(l Left) bool { return l.Option() == key })
	if err := setters[key](d, text); err != nil || d.tasks == nil {
		return err
	}
	return d.setTasks(key)
}

// Load sets the values of a file, and returns the fields that jobs lack. The error names all mistakes in the file.
func (d *Draft) Load(f *File) ([]Left, error) {
	tasks, left, err := f.tasks()
	var values []Setting
	if err == nil && tasks == nil {
		values, left, err = f.Settings()
	}
	if err != nil {
		return nil, f.Mistakes(err)
	}
	for _, l := range left {
		if l.Matters() {
			d.lost = append(d.lost, l)
		}
	}
	if tasks != nil {
		d.tasks = tasks
		d.Spec.Name, d.Spec.Image, d.Spec.Env, d.Spec.PAI, d.Spec.MaxAttempts = tasks.name, tasks.image, tasks.env, tasks.pai, tasks.attempts
	}
	var wrong []string
	for _, v := range values {
		if err := d.Set(v.Key, v.Text); err != nil {
			wrong = append(wrong, fmt.Sprintf("%s: %s: %v", v.Place, v.Key, err))
		}
	}
	return left, joined(wrong)
}

// Undecided returns an error if the file has a field that changes what runs, that jobs lack, and that no setting decides. by
// returns how the user sets a key.
func (d *Draft) Undecided(by func(key string) string) error {
	var texts []string
	for _, l := range d.lost {
		way := "remove it from the file if the job can do without"
		if key := l.Option(); key != "" {
			way = "decide it " + by(key) + ", or in the file"
		}
		texts = append(texts, l.String()+": "+way)
	}
	return joined(texts)
}

// Mistakes returns the error of a file that cannot be used, with all that is wrong: err if there are no findings.
func (f *File) Mistakes(err error) error {
	var list []string
	for i := range f.Findings {
		if f.Findings[i].Severity == Error {
			list = append(list, f.Findings[i].Error())
		}
	}
	if len(list) == 0 {
		return err
	}
	return joined(list)
}

// joined returns one error of Kind Invalid, in one line; nil if there is none.
func joined(texts []string) error {
	if len(texts) == 0 {
		return nil
	}
	return pfs.Errorf("jobfile.Load", "", pfs.Invalid, "%s", strings.Join(texts, "; "))
}

// v1Entry is the entry of a job that names only a topology: PaddlePaddle v1.
const v1Entry = `if [ "$TRAINING_ROLE" = PSERVER ]; then
  exec paddle pserver --port="$PADDLE_INIT_PORT" --ports_num="$PADDLE_INIT_PORTS_NUM" --ports_num_for_sparse="$PADDLE_INIT_PORTS_NUM_FOR_SPARSE" --num_gradient_servers="$PADDLE_INIT_NUM_GRADIENT_SERVERS" --use_gpu=0
fi
exec paddle train --config="$TOPOLOGY" --local=0 --trainer_id="$PADDLE_INIT_TRAINER_ID" --num_gradient_servers="$PADDLE_INIT_NUM_GRADIENT_SERVERS" --pservers="$PADDLE_INIT_PSERVERS" --port="$PADDLE_INIT_PORT" --ports_num="$PADDLE_INIT_PORTS_NUM" --ports_num_for_sparse="$PADDLE_INIT_PORTS_NUM_FOR_SPARSE" --num_passes="$PADDLE_INIT_NUM_PASSES" --trainer_count="$PADDLE_INIT_TRAINER_COUNT" --use_gpu="$PADDLE_INIT_USE_GPU" --save_dir="$PFS_OUTPUT"`

// Finish completes the Spec, except for the user, the datacenter and the package.
func (d *Draft) Finish() *job.Spec {
	s := &d.Spec
	if d.tasks != nil {
		s.Roles, s.Entry = d.tasks.roles, ""
		return s
	}
	servers := d.pservers
	if servers < 0 {
		servers = 0
		if d.servers || s.Topology != "" {
			servers = d.Trainer.Replicas
		}
	}
	if s.Topology != "" && s.Entry == "" {
		s.Entry = v1Entry
	}
	s.Roles = []job.Role{d.Trainer}
	if servers > 0 {
		d.Pserver.Replicas = servers
		s.Roles = append(s.Roles, d.Pserver)
	}
	return s
}
