package backends

import (
	"cmp"
	"context"
	"errors"
	"os"
	"strings"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/cephfs"
)

const cephForm = "cephfs://MON[,MON]/FILESYSTEM/DIR (cephfs:///... takes the monitors of ceph.conf)"

// cephOptions are the options of CephFS, named as in cephfs.Options.
var cephOptions = []string{
	"user",    // without "client."
	"keyring", // file with the user's key
	"conf",    // a ceph.conf
	"timeout",
}

// cephConf is where Ceph's programs look for their configuration.
const cephConf = "/etc/ceph/ceph.conf"

func prepareCeph(r *request) (opener, error) {
	o, err := r.ceph()
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, by Caller) (Store, error) {
		if err := checkConf(o.Config); err != nil {
			return Store{}, err
		}
		o.Logger, o.Session, o.Timeout = by.Logger, by.Session, cmp.Or(o.Timeout, by.Timeout)
		store, err := cephfs.Open(ctx, o)
		if err != nil {
			return Store{}, err
		}
		return Store{FileSystem: store, Close: store.Close, Account: o.User}, nil
	}, nil
}

// ceph returns the settings of the URL and the options.
func (r *request) ceph() (cephfs.Options, error) {
	o, err := cephfs.ParseURL(r.url)
	if err != nil {
		return o, err
	}
	o.User = strings.TrimPrefix(r.options["user"], "client.")
	o.Keyring, o.Config = r.file("keyring"), r.conf()
	o.Timeout = r.duration("timeout")
	if len(o.Monitors) == 0 && o.Config == "" {
		return o, pfs.Errorf("backends.Check", "", pfs.Invalid, "the URL names no monitors, and no option \"conf\" a ceph.conf that has them: a CephFS is %s", cephForm)
	}
	return o, nil
}

// checkConf returns Invalid if the ceph.conf cannot be read, because libcephfs does not report that
// the file is missing.
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

// conf returns the ceph.conf to use: the named one, or the system's if there are no monitors
// either.
func (r *request) conf() string {
	if conf := r.file("conf"); conf != "" || !strings.HasPrefix(r.url, "cephfs:///") {
		return conf
	}
	return cmp.Or(os.Getenv("CEPH_CONF"), cephConf)
}
