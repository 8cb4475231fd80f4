package main

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/internal/job/jobhttp"
	"github.com/paddlecloud/pfs/internal/job/kubernetes"
	"github.com/paddlecloud/pfs/internal/job/openpai"
	"github.com/paddlecloud/pfs/internal/job/output"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/namespace"
	"github.com/paddlecloud/pfs/pfs/server"
	"go.yaml.in/yaml/v3"
)

// localEngine is the engine of datacenters that name no other: jobs run on the machine that submits
// them, and pfsd has no part in them.
const localEngine = "local"

// engineKind is an engine that a datacenter can name.
type engineKind struct {
	// check refuses wrong options.
	check func(options map[string]string) error
	// open returns the engine of dc, and what it does in the background until ctx is done; nil for
	// nothing. view returns what a user sees.
	open func(s *service, dc datacenter, view func(user string) (pfs.FileSystem, error)) (job.Engine, func(ctx context.Context), error)
}

// engineKinds lists the engines other than localEngine.
var engineKinds = map[string]engineKind{
	"kubernetes": {
		check: func(options map[string]string) error {
			_, err := kubernetes.Parse(options)
			return err
		},
		open: openKubernetes,
	},
	openpai.Name: {
		check: func(options map[string]string) error {
			_, err := openpai.Parse(options)
			return err
		},
		open: openOpenPAI,
	},
}

// openKubernetes opens the engine for a cluster.
func openKubernetes(s *service, dc datacenter, view func(string) (pfs.FileSystem, error)) (job.Engine, func(context.Context), error) {
	config, err := kubernetes.Parse(dc.engineOptions)
	if err != nil {
		return nil, nil, err
	}
	dc.locate(&config.Kubeconfig)
	e, err := kubernetes.New(kubernetes.Options{
		Config: config, Datacenter: dc.name, Token: s.auth.Issue, Store: view, Log: s.log,
		Commit: commitAttempt, Abandon: output.Abandon,
	})
	if err != nil {
		return nil, nil, err
	}
	return e, e.Run, nil
}

// openOpenPAI opens the engine for a cluster of OpenPAI.
func openOpenPAI(s *service, dc datacenter, view func(string) (pfs.FileSystem, error)) (job.Engine, func(context.Context), error) {
	config, err := openpai.Parse(dc.engineOptions)
	if err != nil {
		return nil, nil, err
	}
	dc.locate(&config.PasswordFile, &config.TokenFile, &config.AgentFile)
	e, err := openpai.New(openpai.Options{
		Config: config, Datacenter: dc.name, Store: view, Log: s.log, Commit: commitAttempt, Abandon: output.Abandon, Exit: exitOf,
		Login: func(user string) (string, error) {
			t, err := s.auth.Begin(user)
			return t.Refresh, err
		},
		Logout: func(ctx context.Context, session string) error {
			_, err := s.auth.Logout(ctx, session)
			return err
		},
	})
	if err != nil {
		return nil, nil, err
	}
	return e, e.Run, nil
}

// locate makes names of files absolute. Relative ones are in the directory of the configuration.
func (d datacenter) locate(names ...*string) {
	for _, name := range names {
		if *name != "" && !filepath.IsAbs(*name) {
			*name = filepath.Join(d.store.Dir, *name)
		}
	}
}

// commitAttempt writes the marker of an attempt whose workers have all succeeded.
func commitAttempt(ctx context.Context, fsys pfs.FileSystem, spec *job.Spec, attempt int, workers []string) error {
	return output.CommitAttempt(ctx, fsys, job.OutputDir(spec, attempt, "any").Parent(), workers)
}

// exitOf returns how the first run of a worker ended, nil if its marker does not tell or there was another run.
func exitOf(ctx context.Context, fsys pfs.FileSystem, spec *job.Spec, w *job.Worker) (*job.Exit, error) {
	m, err := output.ReadMarker(ctx, fsys, job.OutputDir(spec, w.Attempt, w.Name))
	if err != nil || m == nil || m.Name != w.Outputs {
		return nil, err
	}
	return m.Exit, nil
}

// parseEngine parses the name of an engine.
func (f *configFile) parseEngine(v *yaml.Node) (string, error) {
	name, err := f.file.Text(keyEngine, v)
	if err != nil {
		return "", err
	}
	known := slices.Sorted(maps.Keys(engineKinds))
	if name != localEngine && !slices.Contains(known, name) {
		return "", f.file.Errorf(v.Line, "%s: %q is not an engine: they are %v", keyEngine, name, append([]string{localEngine}, known...))
	}
	return name, nil
}

// checkEngine refuses options that the engine of dc does not have.
func (d datacenter) checkEngine() error {
	kind, ok := engineKinds[d.engine]
	if ok {
		return kind.check(d.engineOptions)
	}
	for name := range d.engineOptions {
		return pfs.Errorf("pfsd.checkEngine", "", pfs.Invalid, "%s: the engine %q has no option %q", keyEngineOptions, localEngine, name)
	}
	return nil
}

// extensions opens the engines, and returns the methods for jobs and for public keys.
func (s *service) extensions(tree *namespace.Namespace) (map[string]server.Extension, error) {
	engines := jobhttp.Engines{}
	for _, dc := range s.opts.datacenters {
		kind, ok := engineKinds[dc.engine]
		if !ok {
			continue
		}
		view := func(user string) (pfs.FileSystem, error) {
			id, ok := s.auth.Accounts().Identity(user)
			if !ok {
				return nil, pfs.Errorf("pfsd.view", "", pfs.NotExist, "there is no account %q", user)
			}
			return tree.View(id, ""), nil
		}
		engine, background, err := kind.open(s, dc, view)
		if err != nil {
			return nil, fmt.Errorf("datacenter %q: %w", dc.name, err)
		}
		if background != nil {
			s.background = append(s.background, background)
		}
		engines[dc.name] = jobhttp.NamedEngine{Name: dc.engine, Engine: engine}
	}
	all := s.keyMethods()
	for name, m := range jobhttp.Methods(engines) {
		e := server.Extension{Serve: m}
		if jobhttp.Changes(name) {
			e.Fields = jobhttp.Fields
		}
		all[name] = e
	}
	return all, nil
}
