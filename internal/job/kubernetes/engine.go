package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"time"

	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/pfs"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Options connect an Engine to its service.
type Options struct {
	Config Config
	// Datacenter is the one whose jobs these are. Datacenters may share a cluster.
	Datacenter string
	// Token returns a token of the user for pods, and when it expires.
	Token func(user string) (token string, expires time.Time, err error)
	// Store returns the namespace as the user sees it.
	Store func(user string) (pfs.FileSystem, error)
	// Commit writes the marker of an attempt whose trainers have all succeeded. Its error names the workers whose
	// outputs are missing or incomplete.
	Commit func(ctx context.Context, fsys pfs.FileSystem, spec *job.Spec, attempt int, workers []string) error
	// Abandon writes the marker for incomplete outputs if w has no marker, and sets it in w. It is called when no uploader of
	// w is left.
	Abandon func(ctx context.Context, fsys pfs.FileSystem, spec *job.Spec, w *job.Worker, reason string) error
	Log     *slog.Logger
}

// Engine runs jobs on one cluster.
type Engine struct {
	Options
	c *client
}

var (
	_ job.Engine    = (*Engine)(nil)
	_ job.Registrar = (*Engine)(nil)
)

// New returns an engine for a cluster. It does not need the cluster yet.
func New(opts Options) (*Engine, error) {
	const op = "kubernetes.New"
	var config *rest.Config
	var err error
	if opts.Config.Kubeconfig == "" {
		config, err = rest.InClusterConfig()
	} else {
		config, err = clientcmd.BuildConfigFromFlags("", opts.Config.Kubeconfig)
	}
	if err != nil {
		return nil, pfs.Errorf(op, "", pfs.Invalid, "the credentials for Kubernetes: %w", err)
	}
	c, err := newClient(config)
	if err != nil {
		return nil, pfs.E(op, "", pfs.Invalid, err)
	}
	return &Engine{opts, c}, nil
}

// The values of labelState.
const (
	active = "active"
	ended  = "ended"
)

// recordKey is the key of the ConfigMap with the state of a job.
const recordKey = "state.json"

// stored is the state of a job in its ConfigMap.
type stored struct {
	job.Record
	Created int    `json:"created"`          // the last attempt whose objects have all been created; 0: Submit has not ended
	Kill    bool   `json:"kill,omitempty"`   // somebody asked for the end of the job
	Failed  string `json:"failed,omitempty"` // why an attempt failed
	FailedN int    `json:"failed_attempt,omitempty"`
	Final   bool   `json:"final,omitempty"` // another attempt would fail in the same way
	Taken   string `json:"taken,omitempty"` // the worker whose pod the cluster took away first in the attempt TakenN, and why
	TakenN  int    `json:"taken_attempt,omitempty"`
	// Servers are the pods of parameter servers in the current attempt: a replacement pod has lost their state.
	Servers map[string]types.UID `json:"servers,omitempty"`
	// SucceededN is the attempt that has succeeded, while the processes that are left are being ended.
	SucceededN int `json:"succeeded_attempt,omitempty"`
}

// entry is a job of the cluster.
type entry struct {
	stored
	config *corev1.ConfigMap
}

func (e *entry) ns() string   { return e.config.Namespace }
func (e *entry) name() string { return e.config.Name }

// selector selects the objects of the job.
func (e *entry) selector() string { return selectorOf(e.name()) }

func selectorOf(name string) string { return labels.Set{labelJob: name}.String() }

// parse reads the ConfigMap of a job.
func parse(config *corev1.ConfigMap) (*entry, error) {
	e := &entry{config: config}
	err := json.Unmarshal([]byte(config.Data[specKey]), &e.Spec)
	if text := config.Data[recordKey]; err == nil && text != "" {
		spec := e.Spec
		err = json.Unmarshal([]byte(text), &e.stored)
		e.Spec = spec
	}
	if err != nil {
		return nil, pfs.Errorf("kubernetes.parse", "", pfs.Integrity, "the ConfigMap %s/%s of a job is damaged: %w", config.Namespace, config.Name, err)
	}
	e.Submitted = config.CreationTimestamp.Time
	return e, nil
}

// maxState bounds the state in a ConfigMap, which may have 1 MiB. The workers of larger jobs are only in the store.
const maxState = 512 << 10

// save writes the state of a job. The error is Conflict if the state has changed since it was read.
func (e *Engine) save(ctx context.Context, j *entry) error {
	state := j.stored
	state.Spec = job.Spec{}
	text, err := json.Marshal(&state)
	if err == nil && len(text) > maxState {
		state.Workers = nil
		text, err = json.Marshal(&state)
	}
	if err != nil {
		return err
	}
	config := j.config.DeepCopy()
	config.Data[recordKey] = string(text)
	if j.State.Ended() {
		config.Labels[labelState] = ended
	}
	config, err = retried(ctx, func(ctx context.Context) (*corev1.ConfigMap, error) {
		return e.c.configMaps(j.ns()).Update(ctx, config, metav1.UpdateOptions{})
	})
	if err == nil {
		j.config = config
	}
	return err
}

// change changes the state of a job. It tries again after a conflict.
func (e *Engine) change(ctx context.Context, j *entry, do func(*entry)) (*entry, error) {
	for {
		do(j)
		err := e.save(ctx, j)
		if !errors.Is(err, pfs.Conflict) {
			return j, err
		}
		if j, err = e.read(ctx, j.ns(), j.name()); err != nil {
			return nil, err
		}
	}
}

// find returns the job of a user.
func (e *Engine) find(ctx context.Context, user, name string) (*entry, error) {
	j, err := e.read(ctx, job.Namespace(user), job.ObjectName(name))
	if errors.Is(err, pfs.NotExist) || err == nil && (j.Spec.User != user || j.Spec.Name != name || j.Spec.Datacenter != e.Datacenter) {
		return nil, pfs.Errorf("kubernetes.find", "", pfs.NotExist, "there is no job %q", name)
	}
	return j, err
}

func (e *Engine) read(ctx context.Context, ns, name string) (*entry, error) {
	config, err := retried(ctx, func(ctx context.Context) (*corev1.ConfigMap, error) {
		return e.c.configMaps(ns).Get(ctx, name, metav1.GetOptions{})
	})
	if err != nil {
		return nil, err
	}
	return parse(config)
}

// Jobs returns the user's jobs.
func (e *Engine) Jobs(ctx context.Context, user string) ([]job.Record, error) {
	found, err := e.entries(ctx, job.Namespace(user), labels.Set{managedBy: manager})
	if err != nil {
		return nil, err
	}
	seen, err := e.look(ctx, job.Namespace(user), labels.Set{managedBy: manager}.String())
	if err != nil {
		return nil, err
	}
	var list []job.Record
	for _, j := range found {
		r, err := e.record(ctx, j, seen[key{j.ns(), j.name()}])
		if err != nil {
			return nil, err
		}
		list = append(list, *r)
	}
	return list, nil
}

// Job returns one job.
func (e *Engine) Job(ctx context.Context, user, name string) (*job.Record, error) {
	j, err := e.find(ctx, user, name)
	if err != nil {
		return nil, err
	}
	seen, err := e.look(ctx, j.ns(), j.selector())
	if err != nil {
		return nil, err
	}
	return e.record(ctx, j, seen[key{j.ns(), j.name()}])
}

// entries returns the jobs of the datacenter in a namespace, or in all if ns is empty. It leaves out a damaged one, with a line in the log.
func (e *Engine) entries(ctx context.Context, ns string, with labels.Set) ([]*entry, error) {
	wanted := labels.SelectorFromSet(maps.Clone(with))
	configs, err := all(ctx, metav1.ListOptions{LabelSelector: wanted.String() + "," + labelState}, e.c.configMaps(ns).List,
		func(l *corev1.ConfigMapList) []corev1.ConfigMap { return l.Items })
	if err != nil {
		return nil, err
	}
	var list []*entry
	for i := range configs {
		j, err := parse(&configs[i])
		if err != nil {
			e.Log.Error("a job cannot be read", "err", err)
			continue
		}
		if j.Spec.Datacenter == e.Datacenter {
			list = append(list, j)
		}
	}
	return list, nil
}
