package kubernetes

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/pfs"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

const registryOp = "kubernetes.Registry"

// Of the Secret of a registry.
const (
	labelRegistry = prefix + "registry"
	noteServer    = prefix + "server"
	noteAccount   = prefix + "account"
)

// registryName returns the name of the Secret of a registry.
func registryName(name string) string { return "registry-" + job.ObjectName(name) }

func (e *Engine) registry(ctx context.Context, user, name string) (*corev1.Secret, error) {
	s, err := retried(ctx, func(ctx context.Context) (*corev1.Secret, error) {
		return e.c.secrets(job.Namespace(user)).Get(ctx, registryName(name), metav1.GetOptions{})
	})
	if errors.Is(err, pfs.NotExist) {
		return nil, pfs.Errorf(registryOp, "", pfs.NotExist, "there is no registry %q: \"paddlectl registry\" makes one", name)
	}
	return s, err
}

// Registries returns the registries of a user.
func (e *Engine) Registries(ctx context.Context, user string) ([]job.Registry, error) {
	selector := labels.Set{managedBy: manager, labelRegistry: "true"}.String()
	found, err := all(ctx, metav1.ListOptions{LabelSelector: selector}, e.c.secrets(job.Namespace(user)).List, func(l *corev1.SecretList) []corev1.Secret { return l.Items })
	if err != nil {
		return nil, err
	}
	var list []job.Registry
	for _, s := range found {
		list = append(list, job.Registry{Name: s.Annotations[noteName], Server: s.Annotations[noteServer], Username: s.Annotations[noteAccount], Created: s.CreationTimestamp.Time})
	}
	return list, nil
}

// SetRegistry makes the Secret of a registry, or replaces its credentials.
func (e *Engine) SetRegistry(ctx context.Context, user string, r job.Registry, password string) error {
	if err := e.makeNamespace(ctx, user); err != nil {
		return err
	}
	auths, err := json.Marshal(map[string]any{"auths": map[string]any{r.Server: map[string]string{"username": r.Username, "password": password}}})
	if err != nil {
		return err
	}
	ns := job.Namespace(user)
	secret := &corev1.Secret{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{
			Name: registryName(r.Name), Namespace: ns, Labels: map[string]string{managedBy: manager, labelRegistry: "true"},
			Annotations: map[string]string{noteName: r.Name, noteUser: user, noteServer: r.Server, noteAccount: r.Username},
		},
		Type: corev1.SecretTypeDockerConfigJson,
		Data: map[string][]byte{corev1.DockerConfigJsonKey: auths},
	}
	_, err = e.create(ctx, ns, secret, false)
	if !errors.Is(err, pfs.Exist) {
		return err
	}
	_, err = retried(ctx, func(ctx context.Context) (*corev1.Secret, error) {
		return e.c.secrets(ns).Update(ctx, secret, metav1.UpdateOptions{})
	})
	return err
}

// DeleteRegistry removes the Secret of a registry.
func (e *Engine) DeleteRegistry(ctx context.Context, user, name string) error {
	if _, err := e.registry(ctx, user, name); err != nil {
		return err
	}
	return e.drop(ctx, func(ctx context.Context) error {
		return e.c.secrets(job.Namespace(user)).Delete(ctx, registryName(name), metav1.DeleteOptions{})
	})
}
