package openpai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/pfs"
)

// summary is a job in a list.
type summary struct {
	Name  string `json:"name"`
	User  string `json:"username"`
	State string `json:"state"`
}

// detail is what OpenPAI knows of a job.
type detail struct {
	Status    status              `json:"jobStatus"`
	TaskRoles map[string]taskRole `json:"taskRoles"`
}

// tasks returns the tasks of a role, whose name OpenPAI may have changed.
func (d *detail) tasks(role string) []task {
	for name, r := range d.TaskRoles {
		if job.PAIName(name) == job.PAIName(role) {
			return r.Tasks
		}
	}
	return nil
}

type status struct {
	State       string `json:"state"`
	SubState    string `json:"subState"`
	Attempt     int    `json:"attemptId"`
	Retries     int    `json:"retries"`
	Launched    millis `json:"appLaunchedTime"`
	Completed   millis `json:"completedTime"`
	ExitCode    any    `json:"appExitCode"`
	Diagnostics any    `json:"appExitDiagnostics"`
	ExitType    any    `json:"appExitType"`
	ExitSpec    struct {
		Phrase string `json:"phrase"`
	} `json:"appExitSpec"`
	TriggerRole  string `json:"appExitTriggerTaskRoleName"`
	TriggerIndex *int   `json:"appExitTriggerTaskIndex"`
	TriggerText  any    `json:"appExitTriggerMessage"`
}

type taskRole struct {
	Tasks []task `json:"taskStatuses"`
}

type task struct {
	Index    int    `json:"taskIndex"`
	State    string `json:"taskState"`
	Attempt  int    `json:"attemptId"`
	Launched millis `json:"launchedTime"`
	Ended    millis `json:"completedTime"`
	ExitCode *int   `json:"containerExitCode"`
	IP       string `json:"containerIp"`
	Log      string `json:"containerLog"`
}

// version returns the version of the API. Servers since 1.0 tell theirs; earlier ones know nothing of that.
func (c *client) version(ctx context.Context) (string, error) {
	c.mu.Lock()
	api := c.api
	c.mu.Unlock()
	if api != "" {
		return api, nil
	}
	var info struct {
		Version string `json:"version"`
	}
	q := call{method: http.MethodGet, path: "/v2/info", anonymous: true}
	err := c.ask(ctx, q, &info)
	switch {
	case err == nil:
		api = V2
	case errors.Is(err, errNoAPI):
		api = V1
	default:
		return "", err
	}
	if api == V1 && c.config.CodeURI == "" {
		return "", pfs.Errorf("openpai.version", "", pfs.Invalid, "OpenPAI at %s has version 1 of the API: %s", c.config.Address, needsCode)
	}
	c.mu.Lock()
	c.api = api
	c.mu.Unlock()
	return api, nil
}

// at returns the path of a job.
func (c *client) at(api, name, rest string) string {
	if api == V1 {
		return "/v1/user/" + url.PathEscape(c.config.User) + "/jobs/" + url.PathEscape(name) + rest
	}
	return "/v2/jobs/" + url.PathEscape(c.config.User+"~"+name) + rest
}

// list returns the jobs of the account.
func (c *client) list(ctx context.Context) ([]summary, error) {
	api, err := c.version(ctx)
	if err != nil {
		return nil, err
	}
	path := "/v2/jobs?username=" + url.QueryEscape(c.config.User)
	if api == V1 {
		path = "/v1/user/" + url.PathEscape(c.config.User) + "/jobs"
	}
	var all []summary
	if err := c.ask(ctx, call{method: http.MethodGet, path: path}, &all); err != nil {
		return nil, err
	}
	for i := range all { // version 2 puts the account before the name
		all[i].Name = all[i].Name[strings.IndexByte(all[i].Name, '~')+1:]
	}
	return all, nil
}

// get returns a job.
func (c *client) get(ctx context.Context, name string) (*detail, error) {
	api, err := c.version(ctx)
	if err != nil {
		return nil, err
	}
	d := new(detail)
	if err := c.ask(ctx, call{method: http.MethodGet, path: c.at(api, name, "")}, d); err != nil {
		return nil, err
	}
	if d.Status.State == "" {
		return nil, pfs.Errorf("openpai.get", "", pfs.Unsupported, "OpenPAI at %s tells no state of the job %s: it is of another version; see to the option api", c.config.Address, name)
	}
	return d, nil
}

// submit creates a job. A job of the name that has the text mark in its configuration is this one: an earlier answer was lost.
func (c *client) submit(ctx context.Context, name string, config any, mark string) error {
	api, err := c.version(ctx)
	if err != nil {
		return err
	}
	body, err := json.Marshal(config)
	if err != nil {
		return err
	}
	q := call{method: http.MethodPost, path: "/v2/jobs", contentType: "text/yaml", body: body} // JSON is YAML
	if api == V1 {
		q.path, q.contentType = "/v1/user/"+url.PathEscape(c.config.User)+"/jobs", "application/json"
	}
	err = c.ask(ctx, q, nil)
	if !errors.Is(err, pfs.Exist) {
		return err
	}
	var text string
	if asked := c.ask(ctx, call{method: http.MethodGet, path: c.at(api, name, "/config")}, &text); asked != nil {
		return errors.Join(err, asked)
	}
	if strings.Contains(text, mark) {
		return nil
	}
	return err
}

// stop asks for the end of a job.
func (c *client) stop(ctx context.Context, name string) error {
	api, err := c.version(ctx)
	if err != nil {
		return err
	}
	return c.ask(ctx, call{method: http.MethodPut, path: c.at(api, name, "/executionType"), contentType: "application/json", body: []byte(`{"value":"STOP"}`)}, nil)
}

// checkCluster refuses a virtual cluster that OpenPAI does not have.
func (c *client) checkCluster(ctx context.Context, name string) error {
	api, err := c.version(ctx)
	if err != nil {
		return err
	}
	var all map[string]json.RawMessage
	if err := c.ask(ctx, call{method: http.MethodGet, path: "/" + api + "/virtual-clusters"}, &all); err != nil {
		return err
	}
	if _, ok := all[name]; !ok {
		return pfs.Errorf("openpai.Submit", "", pfs.Invalid, "OpenPAI has no virtual cluster %q; it has %s", name, strings.Join(slices.Sorted(maps.Keys(all)), ", "))
	}
	return nil
}

// logOf returns the log of a task as OpenPAI has it, and where it is. Version 1 only has a page.
func (c *client) logOf(ctx context.Context, name string, d *detail, role string, t *task) (text, from string, err error) {
	api, err := c.version(ctx)
	if err != nil || api == V1 {
		return "", t.Log, err
	}
	var found struct {
		Locations []struct {
			Name string `json:"name"`
			URI  string `json:"uri"`
		} `json:"locations"`
	}
	path := c.at(api, name, fmt.Sprintf("/attempts/%d/taskRoles/%s/taskIndex/%d/attempts/%d/logs", d.Status.Attempt, url.PathEscape(role), t.Index, t.Attempt))
	if err := c.ask(ctx, call{method: http.MethodGet, path: path}, &found); err != nil {
		return "", t.Log, err
	}
	for _, want := range []string{"all", "user.pai.all", "stdout", "user.pai.stdout"} {
		for _, l := range found.Locations {
			if l.Name != want {
				continue
			}
			base, err := url.Parse(c.config.Address)
			if err == nil {
				base, err = base.Parse(l.URI)
			}
			if err != nil {
				return "", "", pfs.Errorf("openpai.logs", "", pfs.Unsupported, "the address of a log, %q: %w", l.URI, err)
			}
			err = c.ask(ctx, call{method: http.MethodGet, path: base.String(), anonymous: base.Host != hostOf(c.config.Address)}, &text)
			return text, base.String(), err
		}
	}
	return "", t.Log, nil
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}
