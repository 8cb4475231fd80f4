package kubernetes

import (
	"fmt"
	"net/url"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Config says how jobs run on a cluster.
type Config struct {
	Image       string // of this project, for the containers beside the user's
	Service     string // URL of pfsd, as pods reach it
	Fingerprint string // optional: of its certificate

	Mount       Mount             // who mounts /pfs
	UID, GID    int64             // that programs run as
	Storage     resource.Quantity // the local disk of a pod: outputs, logs, and what programs write elsewhere
	Quota       corev1.ResourceList
	MaxGrace    time.Duration // the longest time that a pod has to end; 0: any
	PullPolicy  corev1.PullPolicy
	NodePlugin  string        // name of the CSI driver
	Retention   time.Duration // after which the objects of a job that has ended are removed
	GPUResource corev1.ResourceName
}

// Mount says who mounts /pfs in a pod.
type Mount string

// The mounts.
const (
	Plugin  Mount = "plugin"  // the node plugin
	Sidecar Mount = "sidecar" // a privileged container of the pod
)

// Default returns a Config that lacks only Image and Service.
func Default() Config {
	return Config{
		Mount: Plugin, UID: 1000, GID: 1000, Storage: resource.MustParse("20Gi"), NodePlugin: "csi.pfs.paddlecloud.io",
		Retention: 24 * time.Hour, GPUResource: "nvidia.com/gpu",
	}
}

// Check refuses a Config that cannot work.
func (c *Config) Check() error {
	u, err := url.Parse(c.Service)
	switch {
	case c.Image == "":
		return fmt.Errorf("image: the image with pfs-agent is needed")
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return fmt.Errorf("service: %q is not the URL of pfsd, such as https://pfsd.example.org:8730", c.Service)
	case c.Mount != Plugin && c.Mount != Sidecar:
		return fmt.Errorf("mount: %q is neither %q nor %q", c.Mount, Plugin, Sidecar)
	case c.UID < 1 || c.GID < 1:
		return fmt.Errorf("uid and gid: programs cannot run as root")
	case c.Storage.Sign() <= 0:
		return fmt.Errorf("storage: %s is not an amount such as 20Gi", c.Storage.String())
	}
	return nil
}
