package backends

import (
	"context"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/localfs"
)

const fileForm = "file:///DIR (a directory that is there)"

func prepareFile(r *request) (opener, error) {
	u, err := url.Parse(r.url)
	if err != nil || u.Host != "" && u.Host != "localhost" || !strings.HasPrefix(u.Path, "/") || u.RawQuery != "" || u.Fragment != "" {
		return nil, pfs.Errorf("backends.Check", "", pfs.Invalid,
			"%q: a directory of this machine reads file:///DIR (with %%20 for a space, %%23 for #, %%3F for ?)", r.url)
	}
	return func(context.Context, Caller) (Store, error) {
		fsys, err := localfs.New(localPath(u.Path), localfs.Options{})
		if err != nil {
			return Store{}, err
		}
		return Store{FileSystem: fsys, Close: fsys.Close}, nil
	}, nil
}

// localPath returns the directory of a file URL's path; a Windows drive follows the first slash.
func localPath(path string) string {
	if dir := filepath.FromSlash(path[1:]); filepath.VolumeName(dir) != "" {
		return dir
	}
	return filepath.FromSlash(path)
}

// FileURL returns the URL of the store in a directory.
func FileURL(dir string) string {
	path := filepath.ToSlash(dir)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // of a Windows drive
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}
