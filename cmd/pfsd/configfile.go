package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/paddlecloud/pfs/cmd/internal/backends"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/internal/strictyaml"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/namespace"
	"github.com/paddlecloud/pfs/pfs/sftpd"
	"github.com/urfave/cli/v2"
	"go.yaml.in/yaml/v3"
)

var configFlag = &cli.StringFlag{Name: "config", Usage: "read options and datacenters from `FILE` (YAML); the command line takes precedence"}

// maxConfig bounds a configuration file, in bytes.
const maxConfig = 1 << 20

// The keys of a configuration file other than the options of serve, which have their own names.
const (
	keyDatacenters = "datacenters"
	keyStore       = "store"
	keyOptions     = "options"
	keyDir         = "dir"
	keyMounts      = "mounts"
	keyOwners      = "owners"
	keyHomeQuota   = "home-quota"

	keyEngine        = "engine"
	keyEngineOptions = "engine-options"
)

// ownPaths are the options that name files. In a configuration file they are relative to its
// directory.
var ownPaths = []string{"data", "tls-cert", "tls-key", "audit-log"}

// configFile is the content of a configuration file.
type configFile struct {
	file        strictyaml.File
	settings    []setting
	datacenters []datacenter
	aliases     []sftpd.Alias
	webhdfs     webhdfsOptions
}

// setting is an option of serve.
type setting struct {
	name, value string
	line        int
}

// readConfigFile reads the file that --config names; without it the result is empty.
func readConfigFile(c *cli.Context) (configFile, error) {
	name := c.String(configFlag.Name)
	if name == "" {
		return configFile{}, nil
	}
	name, err := filepath.Abs(name)
	if err != nil {
		return configFile{}, pfs.E("pfsd.readConfigFile", "", pfs.KindOf(err), err)
	}
	return loadConfigFile(name)
}

// loadConfigFile reads the configuration file called name.
func loadConfigFile(name string) (configFile, error) {
	const op = "pfsd.loadConfigFile"
	f := configFile{file: strictyaml.File(name)}
	data, err := os.ReadFile(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f, pfs.Errorf(op, "", pfs.NotExist, "--config: there is no file %s", name)
	case err != nil:
		return f, pfs.Errorf(op, "", pfs.KindOf(err), "--config: %w", err)
	case len(data) > maxConfig:
		return f, f.file.Errorf(0, "larger than %d bytes: this is not a configuration", maxConfig)
	}
	return f, f.parse(data)
}

func (f *configFile) parse(data []byte) error {
	known := slices.Sorted(maps.Keys(serveSettings()))
	root, err := f.file.Parse(data, "options of serve (\"listen: ...\") and \"datacenters:\"")
	if root == nil || err != nil {
		return err
	}
	return f.file.EachPair(root.Content[0], append(known, keyDatacenters), func(key string, v *yaml.Node) error {
		switch key {
		case keyDatacenters:
			return f.parseDatacenters(v)
		case keyWebHDFS:
			return f.parseWebHDFS(v)
		case keySFTP:
			return f.parseSFTP(v)
		}
		value, err := f.file.Text(key, v)
		if err != nil {
			return err
		}
		if slices.Contains(ownPaths, key) && value != "" && value != standardOutput && !filepath.IsAbs(value) {
			value = filepath.Join(filepath.Dir(string(f.file)), value)
		}
		f.settings = append(f.settings, setting{key, value, v.Line})
		return nil
	})
}

// serveSettings are the options of serve that a file may set, by name.
func serveSettings() map[string]cli.Flag {
	m := map[string]cli.Flag{}
	for _, flag := range serveFlags(&serveOptions{}) {
		name := flag.Names()[0]
		if name != configFlag.Name && name != "datacenter" {
			m[name] = flag
		}
	}
	return m
}

// parseDatacenters parses the mapping of names to stores. It reports the mistakes in all of them.
func (f *configFile) parseDatacenters(m *yaml.Node) error {
	var wrong []error
	err := f.file.EachPairOf(keyDatacenters, m, `names of datacenters belong, each with its "store:"`, nil, func(name string, v *yaml.Node) error {
		dc := datacenter{name: name, store: backends.Spec{Dir: filepath.Dir(string(f.file))}}
		err := f.parseDatacenter(v, &dc)
		if err == nil {
			if err = dc.check(); err != nil {
				err = f.file.Errorf(v.Line, "datacenter %q: %v", name, cause(err))
			}
		}
		wrong = append(wrong, err)
		f.datacenters = append(f.datacenters, dc)
		return nil
	})
	return errors.Join(append(wrong, err)...)
}

func (f *configFile) parseDatacenter(m *yaml.Node, dc *datacenter) error {
	known := []string{keyStore, keyOptions, keyDir, keyOwners, keyMounts, keyHomeQuota, keyEngine, keyEngineOptions}
	return f.file.EachPairOf(fmt.Sprintf("datacenter %q", dc.name), m, `"store: URL" belongs`, known, func(key string, v *yaml.Node) (err error) {
		switch key {
		case keyStore:
			dc.store.URL, err = f.file.Text(key, v)
		case keyDir:
			dc.dir, err = f.parsePath(key, v)
		case keyOwners:
			dc.serviceOwns, err = f.parseOwners(v)
		case keyHomeQuota:
			dc.homeQuota, err = f.parseQuota(v)
		case keyMounts:
			dc.mounts, err = f.parseMounts(v)
		case keyEngine:
			dc.engine, err = f.parseEngine(v)
		case keyEngineOptions:
			dc.engineOptions, err = f.parseOptions(key, v, "options of the engine belong")
		default:
			dc.store.Options, err = f.parseOptions(key, v, "options of the store belong")
		}
		return err
	})
}

// parseOwners parses who owns files on the store.
func (f *configFile) parseOwners(v *yaml.Node) (service bool, err error) {
	text, err := f.file.Text(keyOwners, v)
	if err != nil {
		return false, err
	}
	if text != "users" && text != "service" {
		return false, f.file.Errorf(v.Line, "%s: %q is neither \"users\" nor \"service\"", keyOwners, text)
	}
	return text == "service", nil
}

// parseQuota parses the default quota of homes.
func (f *configFile) parseQuota(m *yaml.Node) (q namespace.Quota, err error) {
	err = f.file.EachPairOf(keyHomeQuota, m, `"bytes: SIZE" or "files: N" belongs`, []string{"bytes", "files"}, func(key string, v *yaml.Node) error {
		text, err := f.file.Text(key, v)
		if err != nil {
			return err
		}
		to, parse := &q.Bytes, cliio.ParseSize
		if key == "files" {
			to, parse = &q.Files, func(s string) (int64, error) { return strconv.ParseInt(s, 10, 64) }
		}
		if *to, err = parse(text); err != nil || *to < 1 {
			return f.file.Errorf(v.Line, "%s: %s: %q is not a limit such as 500G bytes or 1000000 files", keyHomeQuota, key, text)
		}
		return nil
	})
	if err == nil && q == (namespace.Quota{}) {
		err = f.file.Errorf(m.Line, "%s: \"bytes: SIZE\" or \"files: N\" is missing", keyHomeQuota)
	}
	return q, err
}

// parseOptions parses the options of a store or of an engine, which checks their names.
func (f *configFile) parseOptions(what string, m *yaml.Node, belongs string) (map[string]string, error) {
	options := map[string]string{}
	err := f.file.EachPairOf(what, m, belongs, nil, func(key string, v *yaml.Node) (err error) {
		options[key], err = f.file.Text(key, v)
		return err
	})
	return options, err
}

// apply sets the options that the command line does not.
func (f configFile) apply(c *cli.Context) error {
	for _, s := range f.settings {
		if c.IsSet(s.name) {
			continue
		}
		if err := c.Set(s.name, s.value); err != nil {
			return f.file.Errorf(s.line, "%s: %q is not %s", s.name, s.value, wanted(serveSettings()[s.name]))
		}
	}
	return nil
}

// wanted describes the valid values of an option.
func wanted(option cli.Flag) string {
	switch option.(type) {
	case *cli.IntFlag:
		return "a number such as 64"
	case *cli.GenericFlag:
		return "a time such as 30s, 15m, 1h or 1d"
	case *cli.BoolFlag:
		return "true or false"
	}
	return "a value that it can have"
}

// get returns the value of an option in the file, or "".
func (f configFile) get(name string) string {
	for _, s := range f.settings {
		if s.name == name {
			return s.value
		}
	}
	return ""
}
