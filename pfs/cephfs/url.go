package cephfs

import (
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// URLForm shows the URL of a store for help texts.
const URLForm = "cephfs://MON[,MON...]/FILESYSTEM[/ROOT][?user=U&keyring=FILE&conf=FILE&session=NAME&timeout=30s]"

// ParseURL returns the options that the URL of a store names (see URLForm). A monitor is host or
// host:port; there may be none if conf names a ceph.conf that has them. What it does not know is
// Invalid.
func ParseURL(storeURL string) (Options, error) {
	rest, ok := strings.CutPrefix(storeURL, "cephfs://")
	if !ok {
		return Options{}, badURL("it does not begin with cephfs://")
	}
	authority, rest, _ := strings.Cut(rest, "/")
	u, err := url.Parse("/" + rest)
	if err != nil || u.Fragment != "" || strings.ContainsAny(authority, "?#@ ") {
		return Options{}, badURL("it is not well-formed")
	}
	var o Options
	if authority != "" {
		o.Monitors = strings.Split(authority, ",")
	}
	for _, m := range o.Monitors {
		if m == "" {
			return Options{}, badURL("a monitor has no name")
		}
	}
	fileSystem, root, _ := strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
	o.FileSystem, o.Root = fileSystem, path.Clean("/"+root)
	if err := o.parseQuery(u.RawQuery); err != nil {
		return Options{}, err
	}
	if len(o.Monitors) == 0 && o.Config == "" {
		return Options{}, badURL("it names neither monitors nor a conf that has them")
	}
	return o, nil
}

// parseQuery takes the options behind the question mark.
func (o *Options) parseQuery(raw string) error {
	query, err := url.ParseQuery(raw)
	if err != nil {
		return badURL("its options are not well-formed")
	}
	for key, values := range query {
		value := values[len(values)-1]
		switch key {
		case "user":
			o.User = strings.TrimPrefix(value, "client.")
		case "keyring":
			o.Keyring = value
		case "conf":
			o.Config = value
		case "session":
			o.Session = value
		case "timeout":
			if o.Timeout, err = time.ParseDuration(value); err != nil || o.Timeout <= 0 {
				return badURL("timeout is not a time such as 30s")
			}
		default:
			return badURL("it has the unknown option " + key)
		}
	}
	return nil
}

func badURL(why string) error {
	return pfs.Errorf("cephfs.ParseURL", "", pfs.Invalid, "a CephFS is %s: %s", URLForm, why)
}
