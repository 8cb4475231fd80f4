package kubernetes

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Config configures how jobs run on a cluster.
type Config struct {
	Kubeconfig  string // the file with the credentials; empty: those of the pod that this program runs in
	Image       string // of this project, for the containers beside the user's
	Service     string // URL of pfsd, as pods reach it
	Fingerprint string // optional: of its certificate

	Mount       Mount             // who mounts /pfs
	UID, GID    int64             // that programs run as
	Storage     resource.Quantity // the local disk of a pod: outputs, logs, and what programs write elsewhere
	Quota       corev1.ResourceList
	MaxGrace    time.Duration       // the longest time that the cluster gives a pod to end; 0: any
	PullTime    time.Duration       // how long an image may be impossible to pull
	Retention   time.Duration       // after which the objects of a job that has ended are removed
	GPUResource corev1.ResourceName // that GPUs are in the cluster
	Operators   []string            // that users may choose as the engine, besides Kubernetes itself: PaddleJob, Volcano
}

// Mount tells how /pfs is mounted in a pod.
type Mount string

// The mounts.
const (
	Plugin  Mount = "plugin"  // the node plugin
	Sidecar Mount = "sidecar" // a privileged container of the pod
)

// nodePlugin is the name of the node plugin as a driver: deploy/csi.yaml.
const nodePlugin = "csi.pfs.paddlecloud.io"

// setters has the options of Config by name.
var setters = map[string]func(*Config, string) error{
	"kubeconfig":   text(func(c *Config) *string { return &c.Kubeconfig }),
	"image":        text(func(c *Config) *string { return &c.Image }),
	"service":      text(func(c *Config) *string { return &c.Service }),
	"fingerprint":  text(func(c *Config) *string { return &c.Fingerprint }),
	"mount":        text(func(c *Config) *Mount { return &c.Mount }),
	"gpu-resource": text(func(c *Config) *corev1.ResourceName { return &c.GPUResource }),
	"uid":          number(func(c *Config) *int64 { return &c.UID }),
	"gid":          number(func(c *Config) *int64 { return &c.GID }),
	"max-grace":    period(func(c *Config) *time.Duration { return &c.MaxGrace }),
	"pull-time":    period(func(c *Config) *time.Duration { return &c.PullTime }),
	"retention":    period(func(c *Config) *time.Duration { return &c.Retention }),
	"storage": func(c *Config, s string) (err error) {
		c.Storage, err = resource.ParseQuantity(s)
		return err
	},
	"operators": func(c *Config, s string) error {
		c.Operators = words(s)
		for _, name := range c.Operators {
			if name != PaddleJob && name != Volcano {
				return fmt.Errorf("%q is neither %q nor %q", name, PaddleJob, Volcano)
			}
		}
		return nil
	},
	"quota": func(c *Config, s string) error {
		c.Quota = corev1.ResourceList{}
		for _, pair := range words(s) {
			name, amount, _ := strings.Cut(pair, "=")
			q, err := resource.ParseQuantity(amount)
			if err != nil {
				return fmt.Errorf("%q is not RESOURCE=AMOUNT: %w", pair, err)
			}
			c.Quota[corev1.ResourceName(name)] = q
		}
		return nil
	},
}

// words splits a list at commas and spaces.
func words(s string) []string { return strings.Fields(strings.ReplaceAll(s, ",", " ")) }

func text[T ~string](to func(*Config) *T) func(*Config, string) error {
	return func(c *Config, s string) error { *to(c) = T(s); return nil }
}

func number(to func(*Config) *int64) func(*Config, string) error {
	return func(c *Config, s string) (err error) { *to(c), err = strconv.ParseInt(s, 10, 64); return err }
}

func period(to func(*Config) *time.Duration) func(*Config, string) error {
	return func(c *Config, s string) (err error) { *to(c), err = time.ParseDuration(s); return err }
}

// Parse makes a Config of options, as an administrator writes them.
func Parse(options map[string]string) (Config, error) {
	const op = "kubernetes.Parse"
	c := Config{Mount: Plugin, UID: 1000, GID: 1000, Storage: resource.MustParse("20Gi"), PullTime: 10 * time.Minute, Retention: 24 * time.Hour, GPUResource: "nvidia.com/gpu"}
	for _, name := range slices.Sorted(maps.Keys(options)) {
		set, ok := setters[name]
		if !ok {
			return c, pfs.Errorf(op, "", pfs.Invalid, "the engine kubernetes has no option %q; there are %s", name, strings.Join(slices.Sorted(maps.Keys(setters)), ", "))
		}
		if err := set(&c, options[name]); err != nil {
			return c, pfs.Errorf(op, "", pfs.Invalid, "the option %s: %q: %w", name, options[name], err)
		}
	}
	u, err := url.Parse(c.Service)
	wrong := ""
	switch {
	case c.Image == "":
		wrong = "image is missing: the image of this project, with pfs-agent"
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		wrong = fmt.Sprintf("service: %q is not the URL of pfsd as pods reach it, such as https://pfsd.example.org:8730", c.Service)
	case c.Mount != Plugin && c.Mount != Sidecar:
		wrong = fmt.Sprintf("mount: %q is neither %q nor %q", c.Mount, Plugin, Sidecar)
	case c.UID < 1 || c.GID < 1:
		wrong = "uid and gid: the programs of users cannot run as root"
	case c.Storage.Sign() <= 0:
		wrong = fmt.Sprintf("storage: %s is not an amount such as 20Gi", c.Storage.String())
	case c.MaxGrace < 0 || c.PullTime < 0 || c.Retention < 0:
		wrong = "max-grace, pull-time and retention cannot be negative"
	}
	if wrong != "" {
		return c, pfs.Errorf(op, "", pfs.Invalid, "%s", wrong)
	}
	return c, nil
}
