package kubernetes

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/paddlecloud/pfs/pfs"
)

// compare refuses an object of which the cluster dropped or changed something. Additions are normal: defaults, and what
// webhooks inject. A webhook may also replace images, by those of a mirror.
func compare(wanted, got object) error {
	want, err := treeOf(wanted)
	if err != nil {
		return err
	}
	have, err := treeOf(got)
	if err != nil {
		return err
	}
	delete(want, "status")
	for _, of := range []string{"apiVersion", "kind"} {
		delete(want, of)
	}
	delete(want["metadata"].(map[string]any), "generateName")
	path, text := difference(want, have, "")
	if text == "" {
		return nil
	}
	return pfs.Errorf("kubernetes.compare", "", pfs.Conflict, "the cluster changed the job: it %s the field %s of the %s %s; an administrator must correct or update the webhook that does it",
		text, path[1:], wanted.GetObjectKind().GroupVersionKind().Kind, wanted.GetName())
}

// free are the fields that a cluster may change.
var free = []string{"image", "imagePullPolicy", "creationTimestamp"}

// difference returns the path of the first field of want that is missing or different in have, and the difference.
func difference(want, have any, path string) (where, text string) {
	switch w := want.(type) {
	case map[string]any:
		h, ok := have.(map[string]any)
		if !ok {
			return path, "removed"
		}
		keys := make([]string, 0, len(w))
		for k := range w {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		for _, k := range keys {
			if slices.Contains(free, k) {
				continue
			}
			if where, text := difference(w[k], h[k], path+"."+k); text != "" {
				return where, text
			}
		}
	case []any:
		h, _ := have.([]any)
		for i, e := range w {
			at, other := fmt.Sprintf("%s[%d]", path, i), any(nil)
			if name := identity(e); name != "" {
				at = path + "[" + name + "]"
				if n := slices.IndexFunc(h, func(o any) bool { return identity(o) == name }); n >= 0 {
					other = h[n]
				}
			} else if i < len(h) {
				other = h[i]
			}
			if where, text := difference(e, other, at); text != "" {
				return where, text
			}
		}
	default:
		switch {
		case reflect.DeepEqual(want, have):
		case have == nil:
			return path, "removed"
		default:
			return path, fmt.Sprintf("replaced %v by %v in", want, have)
		}
	}
	return "", ""
}

// identity returns what tells an element of a list apart from others: its name, or where it is mounted.
func identity(e any) string {
	m, _ := e.(map[string]any)
	for _, k := range []string{"mountPath", "name"} {
		if s, ok := m[k].(string); ok {
			return s
		}
	}
	return ""
}
