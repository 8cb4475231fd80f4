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

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/localfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
)

// backend is one kind of store.
type backend struct {
	check func(u *url.URL) error
	open  func(ctx context.Context, u *url.URL) (Store, error)
}

// backends is all of them.
var backends = map[string]backend{
	"file": {checkFile, openFile},
	"mem":  {checkMem, openMem},
}

// Forms shows the URLs for help texts.
const Forms = "file:///DIR (a directory that is there), mem: (in memory, gone with the program)"

// Store is an open store. Close releases it.
type Store struct {
	pfs.FileSystem
	Close func() error
}

// Check answers Invalid unless a store of this URL could be opened.
func Check(storeURL string) error {
	_, _, err := parse(storeURL)
	return err
}

// Open opens the store at a URL.
func Open(ctx context.Context, storeURL string) (Store, error) {
	u, b, err := parse(storeURL)
	if err != nil {
		return Store{}, err
	}
	return b.open(ctx, u)
}

func parse(storeURL string) (*url.URL, backend, error) {
	const op = "backends.parse"
	u, err := url.Parse(storeURL)
	if err != nil || u.Scheme == "" {
		return nil, backend{}, pfs.Errorf(op, "", pfs.Invalid, "store is not a URL: %s is needed", Forms)
	}
	b, ok := backends[u.Scheme]
	if !ok {
		known := strings.Join(slices.Sorted(maps.Keys(backends)), ", ")
		return nil, backend{}, pfs.Errorf(op, "", pfs.Invalid, "no store has the scheme %q; there are: %s", u.Scheme, known)
	}
	if err := b.check(u); err != nil {
		return nil, backend{}, pfs.E(op, "", pfs.Invalid, err)
	}
	return u, b, nil
}

// FileURL returns the URL of the store in a directory.
func FileURL(dir string) string {
	path := filepath.ToSlash(dir)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // of a Windows drive
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

func checkFile(u *url.URL) error {
	if u.Host != "" && u.Host != "localhost" || !strings.HasPrefix(u.Path, "/") || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return fmt.Errorf("%q: a directory of this machine reads file:///DIR (with %%20 for a space, %%23 for #, %%3F for ?)", u.Redacted())
	}
	return nil
}

func openFile(_ context.Context, u *url.URL) (Store, error) {
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

func checkMem(u *url.URL) error {
	if u.Opaque != "" || u.Host != "" || u.Path != "" || u.RawQuery != "" || u.Fragment != "" {
		return fmt.Errorf("%q: a store in memory reads mem: and nothing more", u.Redacted())
	}
	return nil
}

func openMem(context.Context, *url.URL) (Store, error) {
	return Store{FileSystem: memfs.New(memfs.Options{}), Close: func() error { return nil }}, nil
}
