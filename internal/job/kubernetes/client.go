package kubernetes

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/internal/fair"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/retry"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/gentype"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
)

// client has the few resources that the engine uses. The clientset of client-go would link all of
// Kubernetes' API groups.
type client struct {
	core, batch, apps rest.Interface
	params            runtime.ParameterCodec
	dynamic           dynamic.Interface // for the resources of operators
}

// The load that one pfsd may put on the API server, in requests a second. The default of client-go is 5.
const (
	requestRate  = 50
	requestBurst = 100
)

// newClient returns a client for the API server of config.
func newClient(config *rest.Config) (*client, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, batchv1.AddToScheme, appsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	shared := rest.CopyConfig(config)
	shared.QPS, shared.UserAgent = -1, "pfsd" // the limit is that of inTurn
	limit := &inTurn{queue: fair.New(1), limiter: flowcontrol.NewTokenBucketRateLimiter(requestRate, requestBurst)}
	shared.Wrap(func(rt http.RoundTripper) http.RoundTripper {
		limit.RoundTripper = rt
		return limit
	})
	shared.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	web, err := rest.HTTPClientFor(shared)
	if err != nil {
		return nil, err
	}
	c := &client{params: runtime.NewParameterCodec(scheme)}
	if c.dynamic, err = dynamic.NewForConfigAndClient(shared, web); err != nil {
		return nil, err
	}
	for gv, to := range map[schema.GroupVersion]*rest.Interface{
		corev1.SchemeGroupVersion: &c.core, batchv1.SchemeGroupVersion: &c.batch, appsv1.SchemeGroupVersion: &c.apps,
	} {
		own := rest.CopyConfig(shared)
		own.GroupVersion, own.APIPath = &gv, "/apis"
		if gv.Group == "" {
			own.APIPath = "/api"
		}
		if *to, err = rest.RESTClientForConfigAndClient(own, web); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// inTurn limits the rate of requests. Those that wait are sent in turn, one of each namespace, so that a user with
// many does not slow the others.
type inTurn struct {
	http.RoundTripper
	queue   *fair.Queue
	limiter interface{ Wait(context.Context) error }
}

// RoundTrip sends a request when it is its turn.
func (t *inTurn) RoundTrip(r *http.Request) (*http.Response, error) {
	_, rest, _ := strings.Cut(r.URL.Path, "/namespaces/")
	ns, _, _ := strings.Cut(rest, "/")
	end, err := t.queue.Take(r.Context(), fair.Claim{Key: ns})
	if err == nil {
		err = t.limiter.Wait(r.Context())
		end()
	}
	if err != nil { // the context ends before its turn
		if r.Body != nil {
			r.Body.Close()
		}
		return nil, cmp.Or(r.Context().Err(), context.DeadlineExceeded)
	}
	return t.RoundTripper.RoundTrip(r)
}

// object is an object of Kubernetes.
type object interface {
	runtime.Object
	metav1.Object
}

type (
	namespaces   = gentype.ClientWithList[*corev1.Namespace, *corev1.NamespaceList]
	configMaps   = gentype.ClientWithList[*corev1.ConfigMap, *corev1.ConfigMapList]
	secrets      = gentype.ClientWithList[*corev1.Secret, *corev1.SecretList]
	claims       = gentype.ClientWithList[*corev1.PersistentVolumeClaim, *corev1.PersistentVolumeClaimList]
	services     = gentype.ClientWithList[*corev1.Service, *corev1.ServiceList]
	pods         = gentype.ClientWithList[*corev1.Pod, *corev1.PodList]
	events       = gentype.ClientWithList[*corev1.Event, *corev1.EventList]
	quotas       = gentype.ClientWithList[*corev1.ResourceQuota, *corev1.ResourceQuotaList]
	jobs         = gentype.ClientWithList[*batchv1.Job, *batchv1.JobList]
	statefulSets = gentype.ClientWithList[*appsv1.StatefulSet, *appsv1.StatefulSetList]
)

// clientOf returns the client of one kind of object, O, with the lists L.
func clientOf[O, L any, T interface {
	*O
	object
}, TL interface {
	*L
	runtime.Object
}](c *client, name string, rest rest.Interface, ns string) *gentype.ClientWithList[T, TL] {
	return gentype.NewClientWithList(name, rest, c.params, ns, func() T { return new(O) }, func() TL { return new(L) })
}

func (c *client) namespaces() *namespaces {
	return clientOf[corev1.Namespace, corev1.NamespaceList](c, "namespaces", c.core, "")
}

func (c *client) configMaps(ns string) *configMaps {
	return clientOf[corev1.ConfigMap, corev1.ConfigMapList](c, "configmaps", c.core, ns)
}

func (c *client) secrets(ns string) *secrets {
	return clientOf[corev1.Secret, corev1.SecretList](c, "secrets", c.core, ns)
}

func (c *client) claims(ns string) *claims {
	return clientOf[corev1.PersistentVolumeClaim, corev1.PersistentVolumeClaimList](c, "persistentvolumeclaims", c.core, ns)
}

func (c *client) services(ns string) *services {
	return clientOf[corev1.Service, corev1.ServiceList](c, "services", c.core, ns)
}

func (c *client) pods(ns string) *pods {
	return clientOf[corev1.Pod, corev1.PodList](c, "pods", c.core, ns)
}

func (c *client) events(ns string) *events {
	return clientOf[corev1.Event, corev1.EventList](c, "events", c.core, ns)
}

func (c *client) quotas(ns string) *quotas {
	return clientOf[corev1.ResourceQuota, corev1.ResourceQuotaList](c, "resourcequotas", c.core, ns)
}

func (c *client) jobs(ns string) *jobs {
	return clientOf[batchv1.Job, batchv1.JobList](c, "jobs", c.batch, ns)
}

func (c *client) statefulSets(ns string) *statefulSets {
	return clientOf[appsv1.StatefulSet, appsv1.StatefulSetList](c, "statefulsets", c.apps, ns)
}

// create creates o in namespace ns and returns the object as the API server stored it. It refuses fields that
// the server does not know.
func (c *client) create(ctx context.Context, ns string, o object, dry bool) (object, error) {
	opts := metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict}
	if dry {
		opts.DryRun = []string{metav1.DryRunAll}
	}
	switch o := o.(type) {
	case *corev1.Namespace:
		return c.namespaces().Create(ctx, o, opts)
	case *corev1.ConfigMap:
		return c.configMaps(ns).Create(ctx, o, opts)
	case *corev1.Secret:
		return c.secrets(ns).Create(ctx, o, opts)
	case *corev1.Service:
		return c.services(ns).Create(ctx, o, opts)
	case *corev1.ResourceQuota:
		return c.quotas(ns).Create(ctx, o, opts)
	case *corev1.Pod:
		return c.pods(ns).Create(ctx, o, opts)
	case *batchv1.Job:
		return c.jobs(ns).Create(ctx, o, opts)
	case *appsv1.StatefulSet:
		return c.statefulSets(ns).Create(ctx, o, opts)
	case *corev1.LimitRange:
		return clientOf[corev1.LimitRange, corev1.LimitRangeList](c, "limitranges", c.core, ns).Create(ctx, o, opts)
	case *unstructured.Unstructured:
		return c.dynamic.Resource(resourceOf(o)).Namespace(ns).Create(ctx, o, opts)
	}
	panic("an object of no known type")
}

// get reads the object with the name and namespace of o.
func (c *client) get(ctx context.Context, o object) (object, error) {
	ns, name, opts := o.GetNamespace(), o.GetName(), metav1.GetOptions{}
	switch o := o.(type) {
	case *corev1.ConfigMap:
		return c.configMaps(ns).Get(ctx, name, opts)
	case *corev1.Secret:
		return c.secrets(ns).Get(ctx, name, opts)
	case *corev1.Service:
		return c.services(ns).Get(ctx, name, opts)
	case *batchv1.Job:
		return c.jobs(ns).Get(ctx, name, opts)
	case *appsv1.StatefulSet:
		return c.statefulSets(ns).Get(ctx, name, opts)
	case *unstructured.Unstructured:
		return c.dynamic.Resource(resourceOf(o)).Namespace(ns).Get(ctx, name, opts)
	}
	panic("an object of no known type")
}

// delete removes a Job, or an object of an operator.
func (c *client) delete(ctx context.Context, b *controller, opts metav1.DeleteOptions) error {
	if b.resource.Empty() {
		return c.jobs(b.Namespace).Delete(ctx, b.Name, opts)
	}
	if b.resource == paddleJobs {
		opts.PropagationPolicy = ptr(metav1.DeletePropagationBackground) // as long as it exists, its operator makes its pods again
	}
	return c.dynamic.Resource(b.resource).Namespace(b.Namespace).Delete(ctx, b.Name, opts)
}

// page is how many objects one request lists.
const page = 500

// all returns the objects of all pages of a list.
func all[L metav1.ListInterface, T any](ctx context.Context, opts metav1.ListOptions, list func(context.Context, metav1.ListOptions) (L, error), items func(L) []T) ([]T, error) {
	var found []T
	opts.Limit = page
	for {
		l, err := retried(ctx, func(ctx context.Context) (L, error) { return list(ctx, opts) })
		if apierrors.IsResourceExpired(err) && opts.Continue != "" {
			found, opts.Continue = nil, "" // the list took too long: begin again
			continue
		}
		if err != nil {
			return nil, err
		}
		found = append(found, items(l)...)
		if opts.Continue = l.GetContinue(); opts.Continue == "" {
			return found, nil
		}
	}
}

// patience is how long the engine waits for an API server that does not answer.
const patience = 90 * time.Second

// retried repeats a request while the API server is away. Its error is a *pfs.Error.
func retried[T any](ctx context.Context, do func(context.Context) (T, error)) (T, error) {
	var result T
	budget := retry.From(ctx)
	if budget == nil {
		budget = retry.New(retry.Policy{Total: patience}, nil)
	}
	err := budget.Do(ctx, retry.Op{}, func(ctx context.Context) (err error) {
		result, err = do(ctx)
		return known(err)
	})
	return result, err
}

// known gives an error of the API server its Kind.
func known(err error) error {
	const op = "kubernetes.request"
	if err == nil {
		return nil
	}
	if e := new(pfs.Error); errors.As(err, &e) {
		return err
	}
	kind := pfs.Unavailable // the server did not answer
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		kind = kindOf(err, int(status.Status().Code))
	}
	var network *net.OpError // a connection that could not be made in time is a context.DeadlineExceeded, too
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) && !errors.As(err, &network) {
		kind = pfs.Canceled
	}
	return pfs.Errorf(op, "", kind, "Kubernetes: %w", err)
}

// kindOf returns the Kind for an answer of the API server.
func kindOf(err error, code int) pfs.Kind {
	switch {
	case apierrors.IsNotFound(err):
		return pfs.NotExist
	case apierrors.IsAlreadyExists(err):
		return pfs.Exist
	case apierrors.IsConflict(err), apierrors.IsGone(err):
		return pfs.Conflict
	case isQuota(err):
		return pfs.Quota
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "error looking up service account"):
		return pfs.Unavailable // a new namespace gets its service account in a moment
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return pfs.Permission
	case apierrors.IsTooManyRequests(err):
		return pfs.Limit
	case slices.Contains([]int{http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusRequestEntityTooLarge}, code):
		return pfs.Invalid
	case code >= 500:
		return pfs.Unavailable
	}
	return pfs.Other
}

// gone returns err, or nil if err says that an object does not exist.
func gone(err error) error {
	if errors.Is(err, pfs.NotExist) {
		return nil
	}
	return err
}
