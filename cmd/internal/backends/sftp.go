package backends

import (
	"cmp"
	"context"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/sftpfs"
)

const sftpForm = "sftp://HOST[:PORT]/DIR"

// sftpOptions are the options of an SFTP host, named as in sftpfs.Options.
var sftpOptions = []string{
	"user",          // the login name
	"key",           // file of the private key
	"password-file", // file whose first line is the password
	"known-hosts",   // file of the host key
	"timeout",
}

func prepareSFTP(r *request) (opener, error) {
	o, err := sftpfs.ParseURL(r.url)
	if err != nil {
		return nil, err
	}
	o.User, o.Key, o.PasswordFile = r.options["user"], r.file("key"), r.file("password-file")
	o.KnownHosts, o.Timeout = r.file("known-hosts"), r.duration("timeout")
	for name, given := range map[string]bool{"user": o.User != "", "known-hosts": o.KnownHosts != "", "key": o.Key+o.PasswordFile != ""} {
		if !given {
			return nil, pfs.Errorf("backends.Check", "", pfs.Invalid, "option %q is missing: an SFTP host needs user, known-hosts, and key or password-file", name)
		}
	}
	return func(ctx context.Context, by Caller) (Store, error) {
		o.Logger, o.Timeout = by.Logger, cmp.Or(o.Timeout, by.Timeout)
		store, err := sftpfs.Open(ctx, o)
		if err != nil {
			return Store{}, err
		}
		return Store{FileSystem: store, Close: store.Close}, nil
	}, nil
}
