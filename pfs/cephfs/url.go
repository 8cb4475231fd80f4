package cephfs

import (
	"net/url"
	"path"
	"strings"

	"github.com/paddlecloud/pfs/pfs"
)

// urlForm shows the URL of a store in errors.
const urlForm = "cephfs://MON[,MON...]/FILESYSTEM[/ROOT]"

// ParseURL returns the monitors, the file system and the root in the URL of a store. A monitor is
// host or host:port; if the URL names none, the caller must supply a Config that does. Anything
// else in the URL is Invalid.
func ParseURL(storeURL string) (Options, error) {
	rest, ok := strings.CutPrefix(storeURL, "cephfs://")
	if !ok {
		return Options{}, badURL("it does not begin with cephfs://")
	}
	authority, rest, _ := strings.Cut(rest, "/")
	u, err := url.Parse("/" + rest)
	if err != nil || u.Fragment != "" || u.RawQuery != "" || strings.ContainsAny(authority, "?#@ ") {
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
	return o, nil
}

func badURL(why string) error {
	return pfs.Errorf("cephfs.ParseURL", "", pfs.Invalid, "a CephFS is %s: %s", urlForm, why)
}
