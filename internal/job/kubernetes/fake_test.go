package kubernetes

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
)

type tree = map[string]any

// fake is an API server that keeps objects, in the process, so that tests can use a fake clock. Controllers are left to
// the tests.
type fake struct {
	mu      sync.Mutex
	objects map[string]tree // by path
	version int
	log     []string // changes: METHOD PATH, or DRY PATH

	groups []string // of operators that are installed

	refuse func(r *http.Request, dry bool) int // returns a status, or 0
	change func(path string, o tree)           // what a webhook does to a new object
}

// client returns a client whose requests this fake answers.
func (f *fake) client(t *testing.T) *client {
	t.Helper()
	c, err := newClient(&rest.Config{Host: "http://kubernetes", Transport: f})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// RoundTrip answers a request.
func (f *fake) RoundTrip(r *http.Request) (*http.Response, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w := httptest.NewRecorder()
	dry := r.URL.Query().Get("dryRun") == "All"
	if f.refuse != nil {
		switch code := f.refuse(r, dry); {
		case code < 0:
			return nil, fmt.Errorf("dial tcp: connection refused")
		case code > 0:
			return f.status(w, code, map[int]string{403: "Forbidden"}[code], "refused by the test")
		}
	}
	at := r.URL.Path
	if group := strings.Split(at+"//", "/"); group[1] == "apis" && strings.Contains(group[2], ".") && !slices.Contains(f.groups, group[2]) {
		return f.status(w, 404, "NotFound", "the server could not find the requested resource")
	}
	switch r.Method {
	case http.MethodGet:
		if o := f.objects[at]; o != nil {
			return answer(w, 200, o)
		}
		if isList(at) {
			return answer(w, 200, f.list(at, r.URL.Query().Get("labelSelector")))
		}
	case http.MethodPost:
		return f.post(w, r, dry)
	case http.MethodPut:
		o := read(r)
		old := f.objects[at]
		if old == nil {
			break
		}
		if v := get(o, "metadata", "resourceVersion"); v != nil && v != get(old, "metadata", "resourceVersion") {
			return f.status(w, 409, "Conflict", "changed meanwhile")
		}
		f.put(at, o)
		return answer(w, 200, o)
	case http.MethodDelete:
		if f.objects[at] == nil {
			break
		}
		f.log = append(f.log, "DELETE "+at)
		delete(f.objects, at)
		f.collect(path.Base(at), path.Dir(path.Dir(at)))
		return answer(w, 200, tree{"kind": "Status", "apiVersion": "v1", "status": "Success"})
	}
	return f.status(w, 404, "NotFound", at+" not found")
}

// collect removes the pods of a Job or StatefulSet.
func (f *fake) collect(owner, ns string) {
	for at := range f.objects {
		if strings.Contains(at, "/pods/"+owner+"-") {
			delete(f.objects, at)
		}
	}
}

func (f *fake) post(w *httptest.ResponseRecorder, r *http.Request, dry bool) (*http.Response, error) {
	o := read(r)
	meta := o["metadata"].(tree)
	name, _ := meta["name"].(string)
	if name == "" {
		name = fmt.Sprint(meta["generateName"], "x")
		meta["name"] = name
	}
	at := r.URL.Path + "/" + name
	rest, inside := strings.CutPrefix(r.URL.Path, "/api/v1/namespaces/")
	ns, _, _ := strings.Cut(rest, "/")
	switch {
	case r.URL.Query().Get("fieldValidation") != "Strict":
		return f.status(w, 400, "BadRequest", "not strict")
	case inside && f.objects["/api/v1/namespaces/"+ns] == nil:
		return f.status(w, 404, "NotFound", "no namespace "+ns)
	case f.objects[at] != nil:
		return f.status(w, 409, "AlreadyExists", at+" exists")
	}
	if f.change != nil {
		f.change(at, o)
	}
	if dry {
		f.log = append(f.log, "DRY "+at)
		return answer(w, 201, o)
	}
	f.log = append(f.log, "POST "+at)
	meta["creationTimestamp"] = time.Now().UTC().Format(time.RFC3339)
	meta["uid"] = fmt.Sprint("uid-", f.version)
	f.put(at, o)
	return answer(w, 201, o)
}

// put keeps an object. It is called with mu held.
func (f *fake) put(at string, o tree) {
	if f.objects == nil {
		f.objects = map[string]tree{}
	}
	f.version++
	o["metadata"].(tree)["resourceVersion"] = strconv.Itoa(f.version)
	f.objects[at] = o
}

func isList(at string) bool {
	return slices.Contains([]string{"configmaps", "secrets", "services", "pods", "events", "resourcequotas", "jobs", "statefulsets", "paddlejobs", "podgroups"}, path.Base(at))
}

// list returns the objects of a kind, of one namespace or of all.
func (f *fake) list(at, selector string) tree {
	wanted, err := labels.Parse(selector)
	if err != nil {
		panic(err)
	}
	items := []any{}
	for _, name := range slices.Sorted(maps.Keys(f.objects)) {
		if path.Dir(name) != at && (strings.Contains(at, "/namespaces/") || path.Base(path.Dir(name)) != path.Base(at) || !strings.HasPrefix(name, path.Dir(at)+"/")) {
			continue
		}
		set := labels.Set{}
		if own, ok := get(f.objects[name], "metadata", "labels").(tree); ok {
			for k, v := range own {
				set[k] = v.(string)
			}
		}
		if wanted.Matches(set) {
			items = append(items, f.objects[name])
		}
	}
	list := tree{"items": items, "metadata": tree{}}
	if strings.Contains(strings.Split(at, "/")[2], ".") { // the dynamic client asks for its kind
		list["kind"], list["apiVersion"] = "List", "v1"
	}
	return list
}

func (f *fake) status(w *httptest.ResponseRecorder, code int, reason, message string) (*http.Response, error) {
	return answer(w, code, tree{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "message": message, "code": code})
}

func answer(w *httptest.ResponseRecorder, code int, o any) (*http.Response, error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(o)
	return w.Result(), nil
}

func read(r *http.Request) tree {
	var o tree
	data, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.NewDecoder(bytes.NewReader(data)).Decode(&o)
	}
	if err != nil {
		panic(err)
	}
	return o
}

// get returns a field of an object, or nil.
func get(o any, keys ...string) any {
	for _, k := range keys {
		m, ok := o.(tree)
		if !ok {
			return nil
		}
		o = m[k]
	}
	return o
}

// names returns the last parts of the paths of all objects of a kind.
func (f *fake) names(kind string) (list []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for at := range f.objects {
		if path.Base(path.Dir(at)) == kind {
			list = append(list, path.Base(at))
		}
	}
	slices.Sort(list)
	return list
}

// edit changes the object of a kind with a name.
func (f *fake) edit(t *testing.T, kind, name string, change func(tree)) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	for at, o := range f.objects {
		if path.Base(at) == name && path.Base(path.Dir(at)) == kind {
			change(o)
			f.put(at, o)
			return
		}
	}
	t.Fatalf("there is no %s %s", kind, name)
}

// condition adds a condition to the status of an object.
func condition(kind, reason string) func(tree) {
	return func(o tree) {
		o["status"] = tree{"conditions": []any{tree{"type": kind, "status": string(metav1.ConditionTrue), "reason": reason, "message": "of the test"}}}
	}
}
