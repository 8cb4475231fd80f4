package backends

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"os"
	"strings"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/cephfs"
)

const cephForm = "cephfs://MON[,MON]/FILESYSTEM/DIR (cephfs:///... takes the monitors of ceph.conf)"

// cephOptions are those of a CephFS, in the words of cephfs.ParseURL.
var cephOptions = []string{
	"user",    // without "client."
	"keyring", // file with the user's key
	"conf",    // a ceph.conf
	"timeout",
}

// cephConf is where Ceph's programs look for their configuration.
const cephConf = "/etc/ceph/ceph.conf"

func prepareCeph(r *request) (opener, error) {
	timeout := r.duration("timeout", 0)
	query := url.Values{}
	for name, value := range map[string]string{"user": r.options["user"], "keyring": r.file("keyring"), "conf": r.conf()} {
		if value != "" {
			query.Set(name, value)
		}
	}
	o, err := cephfs.ParseURL(r.url + "?" + query.Encode())
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, by Caller) (Store, error) {
		if err := checkConf(o.Config); err != nil {
			return Store{}, err
		}
		o.Logger, o.Session, o.Timeout = by.Logger, by.Session, cmp.Or(timeout, by.Timeout)
		store, err := cephfs.Open(ctx, o)
		if err != nil {
			return Store{}, err
		}
		return Store{FileSystem: store, Close: store.Close}, nil
	}, nil
}

// checkConf answers Invalid if the ceph.conf to begin with cannot be read: libcephfs does not
// say that it is the file that is missing.
func checkConf(conf string) error {
	if conf == "" {
		return nil
	}
	f, err := os.Open(conf)
	switch {
	case err == nil:
		return f.Close()
	case errors.Is(err, os.ErrNotExist):
		return pfs.Errorf("backends.Open", "", pfs.Invalid, "option \"conf\": there is no file %s: make it, or name another one", conf)
	}
	return pfs.Errorf("backends.Open", "", pfs.Invalid, "option \"conf\": %w", err)
}

// conf is the ceph.conf to begin with: the one that is named, and where no monitors are
// given either the one of the system.
func (r *request) conf() string {
	if conf := r.file("conf"); conf != "" || !strings.HasPrefix(r.url, "cephfs:///") {
		return conf
	}
	return cmp.Or(os.Getenv("CEPH_CONF"), cephConf)
}
