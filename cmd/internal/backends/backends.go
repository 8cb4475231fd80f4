// Package backends is the list of stores that the programs can use: a scheme of a
// URL, and how such a store is opened.
package backends

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/localfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
)

// backend is one kind of store.
type backend struct {
	options []string // names of the options that it takes
	check   func(u *url.URL, options map[string]string) error
	open    func(ctx context.Context, u *url.URL, options map[string]string) (Store, error)
}

// backends is all of them.
var backends = map[string]backend{
	"file": {nil, checkFile, openFile},
	"mem":  {nil, checkMem, openMem},
}

// Spec says which store is meant and how it is used.
type Spec struct {
	URL     string
	Options map[string]string // by name; which there are depends on the URL's scheme
}

// Forms shows the URLs for help texts.
const Forms = "file:///DIR (a directory that is there), mem: (in memory, gone with the program)"

// Store is an open store. Close releases it.
type Store struct {
	pfs.FileSystem
	Close func() error
}

// Check answers Invalid unless such a store could be opened.
func Check(s Spec) error {
	_, _, err := parse(s)
	return err
}

// Open opens a store.
func Open(ctx context.Context, s Spec) (Store, error) {
	u, b, err := parse(s)
	if err != nil {
		return Store{}, err
	}
	return b.open(ctx, u, s.Options)
}

func parse(s Spec) (*url.URL, backend, error) {
	const op = "backends.parse"
	u, err := url.Parse(s.URL)
	if err != nil || u.Scheme == "" {
		return nil, backend{}, pfs.Errorf(op, "", pfs.Invalid, "store is not a URL: %s is needed", Forms)
	}
	b, ok := backends[u.Scheme]
	if !ok {
		known := strings.Join(slices.Sorted(maps.Keys(backends)), ", ")
		return nil, backend{}, pfs.Errorf(op, "", pfs.Invalid, "no store has the scheme %q; there are: %s", u.Scheme, known)
	}
	if err := b.checkOptions(u.Scheme, s.Options); err != nil {
		return nil, backend{}, err
	}
	if err := b.check(u, s.Options); err != nil {
		return nil, backend{}, pfs.E(op, "", pfs.Invalid, err)
	}
	return u, b, nil
}

// checkOptions refuses options that the store does not have.
func (b backend) checkOptions(scheme string, options map[string]string) error {
	const op = "backends.checkOptions"
	for _, name := range slices.Sorted(maps.Keys(options)) {
		switch near := cliargs.Nearest(name, b.options); {
		case slices.Contains(b.options, name):
		case len(b.options) == 0:
			return pfs.Errorf(op, "", pfs.Invalid, "option %q: a store %s: has no options", name, scheme)
		case near != "":
			return pfs.Errorf(op, "", pfs.Invalid, "unknown option %q: did you mean %q?", name, near)
		default:
			return pfs.Errorf(op, "", pfs.Invalid, "unknown option %q: a store %s: has %s", name, scheme, strings.Join(b.options, ", "))
		}
	}
	return nil
}

// FileURL returns the URL of the store in a directory.
func FileURL(dir string) string {
	path := filepath.ToSlash(dir)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // of a Windows drive
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

func checkFile(u *url.URL, _ map[string]string) error {
	if u.Host != "" && u.Host != "localhost" || !strings.HasPrefix(u.Path, "/") || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return fmt.Errorf("%q: a directory of this machine reads file:///DIR (with %%20 for a space, %%23 for #, %%3F for ?)", u.Redacted())
	}
	return nil
}

func openFile(_ context.Context, u *url.URL, _ map[string]string) (Store, error) {
	fsys, err := localfs.New(localPath(u.Path), localfs.Options{})
	if err != nil {
		return Store{}, err
	}
	return Store{FileSystem: fsys, Close: fsys.Close}, nil
}

// localPath returns the directory that the path of a file URL names; a Windows
// drive stands behind the first slash.
func localPath(path string) string {
	if dir := filepath.FromSlash(path[1:]); filepath.VolumeName(dir) != "" {
		return dir
	}
	return filepath.FromSlash(path)
}

func checkMem(u *url.URL, _ map[string]string) error {
	if u.Opaque != "" || u.Host != "" || u.Path != "" || u.RawQuery != "" || u.Fragment != "" {
		return fmt.Errorf("%q: a store in memory reads mem: and nothing more", u.Redacted())
	}
	return nil
}

func openMem(context.Context, *url.URL, map[string]string) (Store, error) {
	return Store{FileSystem: memfs.New(memfs.Options{}), Close: func() error { return nil }}, nil
}
