package openpai

import (
	"fmt"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/paddlecloud/pfs/pfs"
)

// Config configures how jobs run on a cluster of OpenPAI.
type Config struct {
	Address string // URL of the REST server, without /api
	API     string // V1, V2, or empty: the server tells

	User         string // the account of OpenPAI that jobs run as
	PasswordFile string // with its password, or
	TokenFile    string // with a token

	VirtualCluster string
	Image          string   // optional: for jobs that name none
	Storages       []string // of OpenPAI, for containers; version 2

	Service     string // URL of pfsd, as containers reach it
	Fingerprint string // optional: of its certificate
	Agent       string // the program pfs-agent in containers

	// CodeURI is the URI by which OpenPAI reaches the directory of the datacenter; version 1. The directory with the files of a job
	// for OpenPAI is below it.
	CodeURI string
	// AgentFile is the program pfs-agent on this machine, which is put into that directory; optional.
	AgentFile string
}

// The versions of the API.
const (
	V1 = "v1"
	V2 = "v2"
)

// setters has the options of Config by name.
var setters = map[string]func(*Config) *string{
	"address":         func(c *Config) *string { return &c.Address },
	"api":             func(c *Config) *string { return &c.API },
	"user":            func(c *Config) *string { return &c.User },
	"password-file":   func(c *Config) *string { return &c.PasswordFile },
	"token-file":      func(c *Config) *string { return &c.TokenFile },
	"virtual-cluster": func(c *Config) *string { return &c.VirtualCluster },
	"image":           func(c *Config) *string { return &c.Image },
	"service":         func(c *Config) *string { return &c.Service },
	"fingerprint":     func(c *Config) *string { return &c.Fingerprint },
	"agent":           func(c *Config) *string { return &c.Agent },
	"agent-file":      func(c *Config) *string { return &c.AgentFile },
	"code-uri":        func(c *Config) *string { return &c.CodeURI },
}

// Parse makes a Config of options, as an administrator writes them.
func Parse(options map[string]string) (Config, error) {
	const op = "openpai.Parse"
	c := Config{VirtualCluster: "default", Agent: "pfs-agent"}
	for _, name := range slices.Sorted(maps.Keys(options)) {
		if name == "storages" {
			c.Storages = strings.Fields(strings.ReplaceAll(options[name], ",", " "))
			continue
		}
		to, ok := setters[name]
		if !ok {
			known := slices.Sorted(maps.Keys(setters))
			return c, pfs.Errorf(op, "", pfs.Invalid, "the engine openpai has no option %q; there are %s, storages", name, strings.Join(known, ", "))
		}
		*to(&c) = options[name]
	}
	c.Address = strings.TrimSuffix(strings.TrimSuffix(c.Address, "/"), "/api")
	c.CodeURI = strings.TrimSuffix(c.CodeURI, "/")
	wrong := ""
	switch {
	case !isURL(c.Address):
		wrong = fmt.Sprintf("address: %q is not the URL of OpenPAI's REST server, such as http://master.example.org/rest-server", c.Address)
	case !isURL(c.Service):
		wrong = fmt.Sprintf("service: %q is not the URL of pfsd as containers reach it, such as https://pfsd.example.org:8730", c.Service)
	case c.API != "" && c.API != V1 && c.API != V2:
		wrong = fmt.Sprintf("api: %q is neither %q nor %q", c.API, V1, V2)
	case c.User == "":
		wrong = "user is missing: the account of OpenPAI that jobs run as"
	case (c.PasswordFile == "") == (c.TokenFile == ""):
		wrong = "either password-file or token-file is needed: a file with the password of user, or with an application token of it"
	case c.API == V1 && c.CodeURI == "":
		wrong = needsCode
	case c.Agent == "" || strings.ContainsAny(c.Agent+c.Service+c.Fingerprint, "'\"\\$` \t\n"):
		wrong = "agent, service and fingerprint are words of a command: they have no spaces, quotes, backslashes and '$'"
	case c.AgentFile != "" && path.IsAbs(c.Agent):
		wrong = "agent is where the image has pfs-agent, and agent-file is uploaded: give one of them"
	}
	if wrong != "" {
		return c, pfs.Errorf(op, "", pfs.Invalid, "%s", wrong)
	}
	return c, nil
}

// needsCode says what version 1 needs.
const needsCode = "code-uri is missing: version 1 of OpenPAI needs the URI by which it reaches the directory of the datacenter, such as $PAI_DEFAULT_FS_URI/pfs"

func isURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https")
}
